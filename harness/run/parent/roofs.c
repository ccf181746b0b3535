/* The ceilings of a machine: measured once, in a process of their own, stored by GPU in the database; and the roof of each row that
 * follows from them. */
#include "base/spec.h"
#include "base/text.h"
#include "run/message/wire.h"
#include "device/chip/floor.h"
#include "store/family.h"
#include "run/parent/parent.h"
#include <stdio.h>
#include <stdlib.h>

#define ROOFS_LIMIT_S 120.0

static json_t *question(const char *spec, const char *compiler, const char *bundle, bool waits)
{
    return command_new(COMMAND_ROOFS, &(struct message){.device = spec, .compiler = compiler, .bundle = bundle, .waits = waits});
}

static bool measure(json_t *command, struct child *child, volatile sig_atomic_t *interrupted, struct ceiling_list *out, char *note,
                    size_t note_bytes, struct error *err)
{
    json_auto_t *event = child_ask("the process that measures the ceilings", command, EVENT_ROOFS, ROOFS_LIMIT_S, child, interrupted, err);
    json_decref(command);
    if (!event)
        return false;
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    wire_roofs_read(m.roofs, out);
    snprintf(note, note_bytes, "%s", m.note ? m.note : "");
    return true;
}

bool session_roofs_measure(const char *spec, const char *compiler, const char *bundle, volatile sig_atomic_t *interrupted,
                           struct ceiling_list *out, char *note, size_t note_bytes, struct error *err)
{
    return measure(question(spec, compiler, bundle, false), NULL, interrupted, out, note, note_bytes, err);
}

static void tell_unknown(struct session *s, const struct error *why)
{
    session_note(s, "the ceilings of this machine are unknown, so no row has a measured speed of light: %s", why->text);
}

static bool has_ceilings(const struct session *s)
{
    bool timed = !s->options->no_time && spec_is_timed(s->device.spec);
    return timed && s->device.uuid[0] && !s->options->inside && !s->options->gate &&
           !s->asked.choose; /* a gate judges rows by each other, not by a roof */
}

void session_roofs(struct session *s)
{
    struct error err = {0};
    if (s->store && has_ceilings(s) && !store_ceilings(s->store, s->device.uuid, &s->roofs, &err) && err.kind != ERROR_NONE)
        tell_unknown(s, &err);
}

bool session_roofs_lacks(const struct session *s)
{
    return has_ceilings(s) && !s->roofs.count && !s->ceilings.ahead;
}

void session_roofs_launch(struct session *s)
{
    struct error told_later = {0};
    if (!session_roofs_lacks(s) || (s->ceilings.pid <= 0 && !child_start(&s->ceilings, &told_later)))
        return;
    session_progress(s, "measuring the ceilings of this machine, once");
    s->ceilings.ahead = child_send(&s->ceilings, question(s->device.spec, s->options->plan.compiler, s->options->plan.bundle, true));
}

/* Adds ceilings to the rows, which were planned without them; rows that need not run are stored already. */
static bool give_rows(struct session *s, struct error *err)
{
    for (int i = 0; i < s->plan.row_count; i++) {
        if (s->kept[i] || !s->rows[i] || s->plan.rows[i].kind == PLAN_SEQUENCE)
            continue;
        session_row_roof(s, i);
        if (s->rows[i]->status != ROW_PLANNED && !session_store(s, i, i + 1, err))
            return false;
    }
    return true;
}

bool session_roofs_settle(struct session *s, struct error *err)
{
    struct error why = {0};
    char note[512] = "";
    bool ok = true;
    if (!s->ceilings.ahead)
        return true;
    if (!s->options->feed && s->worker.launched && !session_ready(s, err)) /* what it does ahead uses the GPU */
        return s->interrupted;
    child_send(&s->ceilings, command_new(COMMAND_ENOUGH, NULL));
    enum phase former = phase_turn(&s->clock, PHASE_MEASURING);
    json_t *command = question(s->device.spec, s->options->plan.compiler, s->options->plan.bundle, false);
    if (measure(command, &s->ceilings, s->options->interrupted, &s->roofs, note, sizeof note, &why)) {
        if (s->options->feed)
            session_say(s, json_pack("{s:o,s:s}", "roofs", wire_roofs(&s->roofs), "uuid", s->device.uuid));
        else
            ok = store_ceilings_put(s->store, s->device.uuid, &s->roofs, err) &&
                 session_environment(s, json_pack("{s:o}", "roofs", wire_roofs(&s->roofs)), err);
        ok = ok && give_rows(s, err);
    } else {
        s->interrupted = s->interrupted || why.kind == ERROR_INTERRUPTED;
        tell_unknown(s, &why);
    }
    phase_turn(&s->clock, former);
    if (note[0])
        session_note(s, "ceilings that could not be measured: %s", note);
    child_stop(&s->ceilings, NULL, 0);
    return ok;
}

/* A row cannot take less time than an empty launch, as measured in a large graph on this machine. */
static void add_launch(struct row *row, double launch_ns)
{
    if (row->floor_ns > 0 && launch_ns > row->floor_ns) {
        row->floor_ns = launch_ns;
        snprintf(row->floor_by, sizeof row->floor_by, "%s", floor_by_name(FLOOR_LAUNCH));
    }
    if (row->least_ns > 0 && launch_ns > row->least_ns)
        row->least_ns = launch_ns;
}

void session_row_roof(const struct session *s, int index)
{
    struct row *row = s->rows[index];
    const struct work *work = &s->plan.cases[s->plan.rows[index].case_index].work;
    struct ceilings c = ceilings_of(&s->roofs);
    add_launch(row, c.graph_node_ns);
    bool masked = row->flop_useful >= 0 && row->bytes_useful >= 0; /* like the lower bound: counts only active work */
    enum math math;
    double times = plan_arithmetic(row, work, &math);
    struct floor f = roof_of(&c, times * (masked ? row->flop_useful : row->flop), masked ? row->bytes_useful : row->bytes, (int)math, 0);
    if (f.by == FLOOR_UNKNOWN)
        return;
    row_add_member(row, FAMILY_MODEL, -1, 0, "roof_ns", "ns", "model", f.ns);
    if (f.compute_ns > 0)
        row_add_member(row, FAMILY_MODEL, -1, 0, "roof_compute_ns", "ns", "model", f.compute_ns);
    row_add_member(row, FAMILY_MODEL, -1, 0, "roof_memory_ns", "ns", "model", f.memory_ns);
    row_add_member(row, FAMILY_MODEL, -1, 0, "roof_launch_ns", "ns", "model", f.launch_ns);
}

/* Judges the row's time in each mode: impossible if even the upper end of its interval is below the need of the fastest known algorithm. */
static const struct row_time *too_fast(const struct row *row, double cold_ns, double warm_ns, double *least)
{
    for (int i = 0; i < row->time_count; i++) {
        const struct row_time *t = &row->times[i];
        *least = row_time_mode(t) == MODE_COLD || row_time_mode(t) == MODE_COLD_SUSTAINED ? cold_ns : warm_ns;
        if (t->step < 0 && t->high_ns > 0 && t->high_ns < *least)
            return t;
    }
    return NULL;
}

bool session_row_judge(struct session *s, int index, struct error *err)
{
    struct row *row = s->rows[index];
    const struct plan_row *p = &s->plan.rows[index];
    struct min_work least;
    double launch_ns = ceilings_of(&s->roofs).graph_node_ns, least_ns;
    if (row->status != ROW_OK || !(row->least_ns > 0) || p->kind == PLAN_SEQUENCE)
        return true;
    if (!plan_min_work(&s->plan, p->case_index, &least, err))
        return false;
    struct floor warm = plan_floor(&s->plan.chip, &s->plan.cases[p->case_index].work, &least, NULL, true);
    const struct row_time *t = too_fast(row, row->least_ns, floor_launched(warm, launch_ns).ns, &least_ns);
    if (!t)
        return true;
    char *reason = text_format("it takes %.4g us (%s, %s), but no known algorithm can do this work on this chip in less than %.4g us: the "
                               "timed launches do not do the work, or the data sheet is wrong",
                               t->median_ns / 1e3, t->load, t->cache, least_ns / 1e3);
    row->status = ROW_IMPOSSIBLE;
    row_set(&row->reason, reason);
    free(reason);
    return true;
}
