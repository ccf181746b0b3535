/* The parent's side: rows handed to a worker one by one, stored as they come, compared with row 0 of their sequence. */
#include "session/sequence.h"
#include "base/text.h"
#include "session/parent.h"
#include "plan/sequence.h"
#include "message/wire.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Other frames' times, not pairs: the far ends of both intervals. */
static void compare(const struct row *zero, struct row *row)
{
    const struct row_time *of = row_time(zero, "warm", "isolated");
    for (int i = 0; of && zero != row && zero->status == ROW_OK && i < row->time_count; i++) {
        struct row_time *t = &row->times[i];
        t->ratio = of->median_ns / t->median_ns;
        t->ratio_low = of->low_ns / t->high_ns;
        t->ratio_high = of->high_ns / t->low_ns;
    }
}

static void take_event(struct session *s, const json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    int row = json_is_integer(json_object_get(event, "row")) ? (int)json_integer_value(json_object_get(event, "row")) : -1;
    if (!name || row < 0 || row >= s->total)
        return;
    if (!strcmp(name, "stage")) {
        session_stage(s, event, row, s->rows[row]->id);
    } else if (!strcmp(name, "row")) {
        wire_row_merge(json_object_get(event, "fields"), s->rows[row]);
        s->rows[row]->density_in = json_number_value(json_object_get(event, "density"));
    }
}

static bool run_row(struct session *s, int row, struct error *err)
{
    struct error why = {0};
    if (!session_worker_ready(s, err))
        return s->interrupted;
    json_t *message = json_pack("{s:s,s:i}", "do", "sequence", "row", row);
    enum outcome outcome = session_command(s, &s->worker, message, SEQUENCE_HOST_LIMIT_S, take_event, &why);
    if (!session_row_end(s, row, outcome, &why, err))
        return false;
    if (s->interrupted)
        return true;
    s->done++;
    compare(s->rows[row - s->rows[row]->row_index], s->rows[row]);
    return store_put(s->store, s->run.id, s->rows[row], err);
}

static bool run_rows(struct session *s, struct error *err)
{
    for (int i = 0; i < s->total && !s->interrupted; i++) {
        int first = i - s->rows[i]->row_index;
        bool last = i + 1 == s->total || s->rows[i + 1]->row_index == 0;
        if (!run_row(s, i, err))
            return false;
        if (last && !s->interrupted && s->sink->case_done)
            s->sink->case_done(s->sink->context, &s->run, s->rows + first, i + 1 - first);
    }
    return s->interrupted || store_run_end(s->store, s->run.id, err);
}

static bool make_rows(struct session *s, const struct sequence_jobs *jobs, struct error *err)
{
    const char *only = s->options->plan.filter.only;
    if (!jobs->count)
        return only ? error_set(err, ERROR_USAGE, "--only %s selects no variant of op conv2d of this scenario", only)
                    : error_set(err, ERROR_USAGE, "%s: none of its variants is of op conv2d", s->plan.scenario->path);
    s->rows = xcalloc((size_t)jobs->count, sizeof *s->rows);
    for (; s->total < jobs->count; s->total++)
        if (!(s->rows[s->total] = sequence_row_new(&s->plan, &jobs->items[s->total], s->device.spec, err)))
            return false;
    session_provenance(s);
    return store_run_begin(s->store, &s->run, err);
}

static bool has_sequence(const struct session_options *o, struct error *err)
{
    struct scenario *sc = scenario_load(o->plan.scenario_path, err);
    bool has = sc && sc->sequence_count;
    if (sc && !has) {
        error_set(err, ERROR_USAGE, "%s has no sequence", o->plan.scenario_path);
        error_hint(err, "sequences: {street: {of: [body], frames: 8, changes: {pattern: box, density: 0.05}, bound: 0.05}}");
    }
    if (sc)
        scenario_free(sc);
    return has;
}

bool session_sequences(const struct session_options *o, const struct session_sink *sink, struct session_result *result, struct error *err)
{
    struct session s = {.options = o,
                        .asked = o->plan,
                        .sink = sink,
                        .worker = {.fd = -1, .errors = -1},
                        .counter = {.fd = -1, .errors = -1},
                        .start_s = child_clock_s()};
    struct sequence_jobs jobs = {0};
    bool ok = has_sequence(o, err) && session_open(&s, err) && sequence_jobs_make(&s.plan, o->plan.filter.only, &jobs, err) &&
              make_rows(&s, &jobs, err) && run_rows(&s, err);
    *result =
        (struct session_result){.run_id = s.run.id, .rows = s.done, .seconds = child_clock_s() - s.start_s, .interrupted = s.interrupted};
    sequence_jobs_free(&jobs);
    session_close(&s);
    return ok;
}
