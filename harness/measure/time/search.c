/* The worker's part of `bench tune`: selects configurations that are worth a run, and races them against each other. */
#include "measure/time/group.h"
#include "base/clock.h"
#include "base/stats/estimate.h"
#include "base/text.h"
#include "measure/time/race.h"
#include "measure/time/sample.h"
#include <math.h>
#include <stdlib.h>

#define AT_ONCE 12         /* candidates on the device at once */
#define AT_ONCE_BYTES 24e9 /* ... and the memory they may take together */
#define ROUNDS_MAX 400
#define WATCH_S 60.0 /* the parent gets a message from a race at least this often */

/* ---- the races: one for each variant ---- */

struct search {
    struct timing_group b;
    int *pinned, pinned_count;  /* indices into the group */
    int *configs, config_count; /* configurations of the current variant */
    struct race_candidate *candidates;
    double *pinned_ns; /* [pinned][ROUNDS_MAX] of the current group */
    int pinned_rounds;
    double told_s;
};

static double race_now_s(void *context)
{
    return clock_s();
}

static bool config_enter(void *context, int candidate, struct error *err)
{
    struct search *s = context;
    int i = s->configs[candidate];
    if (!timing_enter(&s->b, i, err))
        return false;
    s->b.blame = -1;
    s->told_s = 0;
    return s->b.rows[i]->status == ROW_OK; /* otherwise its row has the reason, and it does not take part */
}

/* Checks the candidates that remained to the end once more, so that a stored configuration was right after its last run. */
static bool config_leave(void *context, int candidate, struct error *err)
{
    struct search *s = context;
    int i = s->configs[candidate];
    s->b.blame = s->b.index[i];
    struct op_data *data;
    if (!s->candidates[candidate].out &&
        (!data_get(s->b.timing->data, s->b.index[i], job_timed_part(s->b.timing->job, s->b.index[i]), 0, &data, err) ||
         !rig_poison_all(s->b.rigs[i], err) || !rig_prepare(s->b.rigs[i], NULL, err) || !rig_run(s->b.rigs[i], err) ||
         !timing_check(&s->b, i, data, "(after the timed loop)", err)))
        return false;
    s->b.blame = -1;
    s->told_s = 0;
    rig_close(s->b.rigs[i]);
    s->b.rigs[i] = NULL;
    return true;
}

static bool race_round(void *context, const int *who, int count, int round, double *pinned_ns, double *ns, struct error *err)
{
    struct search *s = context;
    int all = s->pinned_count + count;
    SCOPED struct rig **rigs = xcalloc((size_t)all, sizeof *rigs);
    SCOPED double *times = xcalloc((size_t)all, sizeof *times);
    if (race_now_s(NULL) - s->told_s > WATCH_S / 4) {
        job_stage(s->b.timing->job, -1, "race", WATCH_S + s->b.timing->job->time_limit_s * all);
        s->told_s = race_now_s(NULL);
    }
    for (int i = 0; i < all; i++)
        rigs[i] = s->b.rigs[i < s->pinned_count ? s->pinned[i] : s->configs[who[i - s->pinned_count]]];
    bool ok = sample_round(s->b.timing->job->dev, rigs, all, round, times, err);
    for (int i = 0; ok && i < all; i++)
        if (i < s->pinned_count)
            s->pinned_ns[(size_t)i * ROUNDS_MAX + (size_t)round] = pinned_ns[i] = times[i];
        else
            ns[i - s->pinned_count] = times[i];
    s->pinned_rounds = round + 1;
    return ok;
}

static void report_race(struct search *s, const struct race_result *result)
{
    for (int i = 0; i < s->config_count; i++) {
        const struct race_candidate *r = &s->candidates[i];
        struct row *row = s->b.rows[s->configs[i]];
        if (!r->rounds || row->status != ROW_OK)
            continue;
        estimates_add(row, -1, MODE_COLD, &(struct estimate_rounds){r->samples_ns, r->base_ns, NULL, r->rounds, s->config_count, 0});
        row_add_metric(row, -1, 0,
                       r->out              ? "tune.dropped_after"
                       : i == result->best ? "tune.best_of"
                                           : "tune.tied_with_best",
                       r->out || i != result->best ? "rounds" : "points", "model",
                       r->out || i != result->best ? r->rounds : s->config_count);
    }
    const double *base = NULL; /* samples of the fastest of the library's rows, as for the configurations */
    for (int i = 0; i < s->pinned_count; i++) {
        const double *ns = s->pinned_ns + (size_t)i * ROUNDS_MAX;
        if (!base || estimate_median(ns, s->pinned_rounds).median < estimate_median(base, s->pinned_rounds).median)
            base = ns;
    }
    for (int i = 0; i < s->pinned_count; i++) {
        struct row *row = s->b.rows[s->pinned[i]];
        if (row->time_count == 0 && s->pinned_rounds > 0) /* the rounds of the first variant's last group */
            estimates_add(
                row, -1, MODE_COLD,
                &(struct estimate_rounds){s->pinned_ns + (size_t)i * ROUNDS_MAX, base, NULL, s->pinned_rounds, s->pinned_count - 1, 0});
    }
}

static int at_once(const struct search *s)
{
    const struct program *p = plan_program(&s->b.timing->job->plan, s->b.index[s->configs[0]]);
    double bytes = (double)program_footprint_bytes(p);
    double fit = bytes > 0 ? AT_ONCE_BYTES / bytes : AT_ONCE;
    return fit < 2 ? 2 : fit < AT_ONCE ? (int)fit : AT_ONCE;
}

static bool race_variant(struct search *s, double budget_s, struct error *err)
{
    const struct timing_plan *t = &s->b.timing->job->plan.time;
    struct race_plan plan = {.at_once = at_once(s), .rounds_max = ROUNDS_MAX, .half_width = t->half_width, .budget_s = budget_s};
    struct race_ops ops = {s, config_enter, config_leave, race_round, race_now_s};
    struct race_result result;
    s->candidates = xcalloc((size_t)s->config_count, sizeof *s->candidates);
    s->pinned_rounds = 0;
    bool ok = race_run(&plan, &ops, s->candidates, s->config_count, s->pinned_count, &result, err);
    if (ok)
        report_race(s, &result);
    for (int i = 0; i < s->config_count; i++)
        race_candidate_free(&s->candidates[i]);
    free(s->candidates);
    s->candidates = NULL;
    return ok;
}

static bool race_all(struct search *s, struct error *err)
{
    struct timing_group *b = &s->b;
    const struct plan *plan = &b->timing->job->plan;
    int variants = 0;
    for (int i = 0; i < b->count; i++) {
        bool pinned = plan_pinned(plan, b->index[i]);
        if (pinned && !timing_enter(b, i, err))
            return false;
        if (pinned && !row_status_failed(b->rows[i]->status))
            s->pinned[s->pinned_count++] = i;
        variants += !pinned && (i == 0 || plan->rows[b->index[i - 1]].variant != plan->rows[b->index[i]].variant);
    }
    s->pinned_ns = xcalloc((size_t)(s->pinned_count + 1) * ROUNDS_MAX, sizeof *s->pinned_ns);
    for (int first = 0, last; first < b->count; first = last) { /* rows of a variant are adjacent */
        const struct variant *v = plan->rows[b->index[first]].variant;
        s->config_count = 0;
        for (last = first; last < b->count && plan->rows[b->index[last]].variant == v; last++)
            if (!plan_pinned(plan, b->index[last]))
                s->configs[s->config_count++] = last;
        if (s->config_count && !race_variant(s, plan->time.budget_s / variants, err))
            return false;
    }
    board_report(&b->timing->board, b->rows, b->count);
    return true;
}

bool timing_race(struct timing_context *timing, const int *rows, int count, int *blame, struct error *err)
{
    struct search s = {0};
    timing_open(&s.b, timing, rows, count);
    s.pinned = xcalloc((size_t)s.b.count, sizeof *s.pinned);
    s.configs = xcalloc((size_t)s.b.count, sizeof *s.configs);
    bool ok = race_all(&s, err);
    *blame = s.b.blame;
    FREE_ALL(s.pinned, s.configs, s.pinned_ns);
    timing_close(&s.b, ok);
    return ok;
}
