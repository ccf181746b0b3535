#include "run/child/progress.h"
#include "base/spec.h"
#include "device/nvtx.h"
#include "run/message/verb.h"
#include "run/message/wire.h"
#include <stdio.h>
#include <string.h>

void progress_init(struct progress *p, struct job *job, void (*emit)(void *context, json_t *event), void *context)
{
    *p = (struct progress){.job = job, .emit = emit, .context = context, .range_case = -1, .range_row = -1};
    phase_begin(&job->clock, PHASE_WAITING);
    job->clock.draw_open = nvtx_open;
    job->clock.draw_close = nvtx_close;
}

static enum phase phase_of(const char *stage)
{
    static const struct {
        const char *stage;
        enum phase phase;
    } phases[] = {{"compile", PHASE_COMPILING}, {"data", PHASE_DATA},
                  {"weights", PHASE_DATA},      {"pixels", PHASE_DATA},
                  {"load", PHASE_LOADING},      {"plans", PHASE_PLANS},
                  {"time", PHASE_MEASURING},    {"race", PHASE_MEASURING},
                  {"ablate", PHASE_MEASURING},  {PHASE_STAGE_COUNTERS, PHASE_COUNTING},
                  {"trace", PHASE_COUNTING},    {"count", PHASE_COUNTING},
                  {"sample", PHASE_COUNTING},   {"count lines", PHASE_COUNTING}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (!strcmp(phases[i].stage, stage))
            return phases[i].phase;
    return PHASE_VERIFYING; /* a row runs, or its outputs are checked */
}

/* Ends the ranges of finished work; the ranges of the current case and row stay open. In phases with several stages, the stage gets a
 * range of its own. */
void progress_enter(struct progress *p, int row, enum phase phase, const char *stage)
{
    if (p->depth && phase_depth(&p->job->clock) > p->depth) { /* a stage inside a timed round, which continues afterwards */
        if (!p->inside || phase_depth(&p->job->clock) < p->inside)
            p->inside = phase_depth(&p->job->clock);
        phase_unwind(&p->job->clock, p->inside);
        if (phase != p->phase)
            phase_push(&p->job->clock, phase);
        if (phase == PHASE_VERIFYING)
            phase_part(&p->job->clock, "timed launches");
        return;
    }
    int in_case = row >= 0 ? p->job->plan.rows[row].case_index : p->range_case;
    bool same_case = in_case == p->range_case, same_row = same_case && row == p->range_row;
    phase_unwind(&p->job->clock, 1 + (same_case && in_case >= 0) + (same_row && row >= 0));
    if (!same_case)
        phase_open(&p->job->clock, p->job->plan.cases[in_case].id);
    if (!same_row && row >= 0)
        phase_open(&p->job->clock, plan_id(&p->job->plan, row));
    phase_push(&p->job->clock, phase);
    if (phase != PHASE_MEASURING)
        phase_part(&p->job->clock, stage);
    p->phase = phase;
    p->depth = phase_depth(&p->job->clock);
    p->inside = 0;
    p->range_case = in_case;
    p->range_row = row;
}

/* emu limits a kernel by the CPU time of its own threads. This later limit catches cases in which that fails, even on a busy machine. */
#define EMU_PATIENCE 5

static void tell_stage(struct progress *p, double limit_s, const struct error *late)
{
    if (p->job->dev && spec_is(p->job->dev->spec, SPEC_COUNTS))
        limit_s *= EMU_PATIENCE;
    p->emit(p->context, event_new(EVENT_STAGE, &(struct message){.row = p->row,
                                                                 .stage = p->stage,
                                                                 .phase = phase_name(phase_of(p->stage)),
                                                                 .limit = limit_s,
                                                                 .late = late ? late->text : NULL,
                                                                 .hint = late ? late->hint : NULL,
                                                                 .spent = wire_spent(&p->job->clock)}));
}

void progress_stage(struct progress *p, int row, const char *stage, double limit_s)
{
    progress_enter(p, row, phase_of(stage), stage);
    p->row = row;
    p->limit_s = limit_s;
    snprintf(p->stage, sizeof p->stage, "%s", stage);
    tell_stage(p, limit_s, NULL);
}

/* Announces that a reference kernel begins, in the middle of a stage, or has ended. */
static void watch_endless(void *context, double limit_s, const struct error *late)
{
    struct progress *p = context;
    if (p->stage[0])
        tell_stage(p, late ? limit_s : p->limit_s, late);
}

void progress_end(struct progress *p)
{
    phase_unwind(&p->job->clock, 1);
    p->depth = p->inside = 0;
    p->range_case = p->range_row = -1;
}

void progress_watch(struct progress *p)
{
    p->job->dev->clock = &p->job->clock;
    p->job->dev->endless = watch_endless;
    p->job->dev->endless_context = p;
}
