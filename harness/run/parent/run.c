/* The parent of a run: sends rows to workers, enforces time limits, attributes crashes, stores the results. */
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/choose.h"
#include "store/lock.h"
#include "run/parent/parent.h"
#include "run/message/wire.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETUP_LIMIT_S 120.0
#define CHECK_EVERY_S 60.0   /* of a GPU of several */
#define CHAIN_BEHIND 20.0    /* a network is not run as a whole if its layers take this many times the library's sum */
#define NOT_TAKEN_UP "start" /* the stage of a row before its worker's first message about it */

static void condemn(struct session *s, int row, enum row_status status, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void condemn(struct session *s, int row, enum row_status status, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    va_list args;
    va_start(args, format);
    text_vaddf(&t, format, args);
    va_end(args);
    const struct program *p = plan_program(&s->plan, row);
    for (int i = 0; i < p->tensor_count && status == ROW_CRASHED; i++)
        if (tensor_elements(&p->tensors[i]) > INT32_MAX) {
            text_addf(&t, "; %s has %zu elements: does an index of 32 bits overflow?", p->tensors[i].role->name,
                      tensor_elements(&p->tensors[i]));
            break;
        }
    s->rows[row]->status = status;
    row_set(&s->rows[row]->reason, text_get(&t));
}

/* ---- verify: each row alone ---- */

/* If bench cannot make data or a reference, no row is at fault: the case's rows stay unjudged, the other cases run, and the error is
 * reported at the end. */
static void lose_case(struct session *s, int row, const struct error *why)
{
    int lost = s->plan.rows[row].case_index;
    if (s->fault.kind == ERROR_NONE) {
        s->fault = *why;
        s->fault.kind = ERROR_USAGE;
    }
    s->lost_case = lost + 1;
    for (int i = 0; i < s->plan.row_count; i++)
        if (s->plan.rows[i].case_index == lost && s->rows[i]->status == ROW_PLANNED)
            condemn(s, i, ROW_PLANNED, "not judged: %s", why->text);
}

static bool at_data(const struct session *s)
{
    return !strcmp(s->stage, "data");
}

/* Attributes a death, a hang or a failure to the row. False, with *why in *err: no row is at fault. */
static bool end_row(struct session *s, int row, enum outcome outcome, const struct error *why, struct error *err)
{
    char how[512];
    switch (outcome) {
    case OUTCOME_DONE: return true;
    case OUTCOME_LOST: child_stop(&s->worker, NULL, 0); return true;
    case OUTCOME_INTERRUPTED: s->interrupted = true; return true;
    case OUTCOME_FAILED:
        child_stop(&s->worker, NULL, 0);
        if (at_data(s) && (why->kind == ERROR_USAGE || why->kind == ERROR_WRONG)) {
            lose_case(s, row, why);
            return true;
        }
        if (why->kind == ERROR_ENVIRONMENT || why->kind == ERROR_USAGE || why->kind == ERROR_MACHINE) {
            if (err)
                *err = *why;
            return false;
        }
        bool ours = at_data(s); /* the reference failed: the row has not run yet */
        condemn(s, row, ours ? ROW_PLANNED : ROW_CRASHED, "%s%s (while: %s)", ours ? "not judged: " : "", why->text, s->stage);
        return true;
    case OUTCOME_LATE:
        child_stop(&s->worker, NULL, 0);
        if (s->late.kind != ERROR_NONE)
            lose_case(s, row, &s->late);
        else if (at_data(s))
            condemn(s, row, ROW_PLANNED, "not judged: making its inputs and reference exceeded the time limit; the process was killed");
        else
            condemn(s, row, ROW_HUNG, "'%s' exceeded the time limit; its process was killed", s->stage);
        return true;
    case OUTCOME_GREEDY:
        child_stop(&s->worker, NULL, 0);
        condemn(s, row, ROW_BROKEN, "compiling it needs more than %zu MiB of memory (BENCH_COMPILE_MEMORY=MiB); the compiler was stopped",
                child_compile_memory() >> 20);
        return true;
    case OUTCOME_DIED:
        if (child_stop(&s->worker, how, sizeof how)) /* the kernel may be correct, so --resume tries it again */
            condemn(s, row, ROW_PLANNED, "not judged, since the system ended its process during '%s': %s", s->stage, how);
        else
            condemn(s, row, ROW_CRASHED, "its process died during '%s': %s", s->stage, how);
        return true;
    }
    return true;
}

static json_t *choice_json(const struct session *s, int row)
{
    json_t *a = json_array();
    const struct chain_row *chain = s->plan.rows[row].chain;
    for (int i = 0; s->choices[row] && i < chain->work->chain->count; i++)
        json_array_append_new(a, json_integer(s->choices[row][i]));
    return a;
}

/* Chooses a chain's rows among the verified rows of its layers, which precede it. False: there are none; the row's reason says so. */
static bool choose(struct session *s, int row)
{
    char why[512];
    struct text what = {0};
    if (s->plan.rows[row].kind != PLAN_CHAIN)
        return true;
    s->choices[row] = choose_links(&s->plan, row, s->rows, why, sizeof why);
    if (!s->choices[row]) {
        condemn(s, row, ROW_SKIPPED, "%s", why);
        return false;
    }
    double behind = choose_behind(&s->plan, row, s->choices[row], s->rows);
    if (behind > CHAIN_BEHIND && !s->asked.filter.only && !s->kept[row]) {
        condemn(s, row, ROW_SKIPPED, "its layers take %.0fx the time of the library's: not run as a whole network (--only runs it)",
                behind);
        return false;
    }
    choose_describe(&s->plan, row, s->choices[row], &what);
    row_set(&s->rows[row]->what, text_get(&what));
    text_free(&what);
    struct error err = {0}; /* an error in binding a head is reported when the row is verified */
    if (s->plan.rows[row].chain->work->mask.pattern != MASK_NONE && plan_chain_bind(&s->plan, row, s->choices[row], &err))
        plan_row_scheduled(&s->plan, row, s->rows[row], &err);
    return true;
}

/* If a worker dies before its first message about the row, the row is not the cause: a new worker gets the command. */
static bool ask_verify(struct session *s, int row, enum outcome *outcome, struct error *why, struct error *err)
{
    char number[24];
    for (int tries = 1;; tries++) {
        if (!session_ready(s, err))
            return false;
        snprintf(s->stage, sizeof s->stage, NOT_TAKEN_UP);
        const struct row *r = s->rows[row];
        json_t *tiles = r->tiles_active < 0 ? NULL : json_pack("[I,I]", (json_int_t)r->tiles, (json_int_t)r->tiles_active);
        json_t *message = command_new(COMMAND_VERIFY, "{s:i,s:o,s:b,s:b,s:o*}", "row", row, "choice", choice_json(s, row), "timed",
                                      (int)session_times(s), "ahead", s->compilers != NULL, "tiles", tiles);
        snprintf(number, sizeof number, "%d", row);
        json_object_set(message, "interpreted", json_object_get(s->interpreted, number)); /* if there is one */
        *outcome = session_command(s, &s->worker, message, SETUP_LIMIT_S, session_event, why);
        if (*outcome != OUTCOME_DIED || strcmp(s->stage, NOT_TAKEN_UP) || tries == CHILD_TRIES)
            return true;
        child_stop(&s->worker, NULL, 0);
    }
}

bool session_verify(struct session *s, int row, struct error *err)
{
    struct error why = {0};
    if (!choose(s, row)) {
        s->done++;
        return session_put(s, row, row + 1, err);
    }
    enum outcome outcome;
    if (!ask_verify(s, row, &outcome, &why, err))
        return s->interrupted;
    if (!end_row(s, row, outcome, &why, err))
        return false;
    if (s->interrupted)
        return true;
    s->done++;
    return session_put(s, row, row + 1, err);
}

/* ---- measure: the survivors of a case together ---- */

static json_t *survivors(const struct session *s, int first, int last)
{
    json_t *rows = json_array();
    for (int i = first; i < last; i++)
        if (s->rows[i]->status == ROW_OK || s->rows[i]->status == ROW_FOIL)
            json_array_append_new(rows, json_integer(i));
    return rows;
}

/* For each row that has a choice: [row, links]. */
static json_t *choices_of(const struct session *s, int first, int last)
{
    json_t *all = json_array();
    for (int i = first; i < last; i++)
        if (s->choices[i])
            json_array_append_new(all, json_pack("[i,o]", i, choice_json(s, i)));
    return all;
}

static bool measure_case(struct session *s, int first, int last, struct error *err)
{
    if (!session_count_check(s, err))
        return false;
    if (s->interrupted)
        return true;
    int unexplained = 0;               /* deaths before any message about a row */
    for (int i = first; i < last; i++) /* chooses again in a resumed run */
        if (s->kept[i] && (s->rows[i]->status == ROW_OK) && !choose(s, i))
            return session_put(s, i, i + 1, err);
    for (;;) {
        struct error why = {0};
        json_t *gate = NULL, *rows = s->options->gate ? session_gate_rows(s, first, last, &gate) : survivors(s, first, last);
        if (!json_array_size(rows)) {
            json_decref(rows);
            json_decref(gate);
            return true;
        }
        if (!session_ready(s, err)) {
            json_decref(rows);
            json_decref(gate);
            return s->interrupted;
        }
        s->stage_row = -1;
        int due = 0;
        json_t *next = session_next(s, last, &due);
        json_t *message = command_new(s->asked.tune ? COMMAND_RACE : COMMAND_MEASURE, "{s:o,s:o,s:o*,s:o*,s:i}", "rows", rows, "choices",
                                      choices_of(s, first, last), "gate", gate, "next", next, "due", due);
        enum outcome outcome = session_command(s, &s->worker, message, SETUP_LIMIT_S, session_event, &why);
        if (outcome == OUTCOME_DONE)
            break;
        if (outcome == OUTCOME_LATE && s->late.kind != ERROR_NONE)
            why = s->late;
        if ((outcome == OUTCOME_LATE || outcome == OUTCOME_FAILED) && at_data(s) && why.kind == ERROR_USAGE) {
            child_stop(&s->worker, NULL, 0);
            lose_case(s, first, &why); /* verified rows stay verified, without a time */
            return session_put(s, first, last, err);
        }
        int blamed = s->stage_row;
        if (outcome == OUTCOME_INTERRUPTED || blamed < first || blamed >= last) {
            s->interrupted = outcome == OUTCOME_INTERRUPTED;
            child_stop(&s->worker, NULL, 0);
            if (s->interrupted)
                return true;
            if (outcome == OUTCOME_DIED && ++unexplained < CHILD_TRIES)
                continue;
            error_set(err, ERROR_INTERNAL, "timing of %s failed: %s", s->plan.cases[s->plan.rows[first].case_index].id,
                      why.text[0] ? why.text : "the worker died, and no row is the cause");
            return false;
        }
        if (!end_row(s, blamed, outcome, &why, err)) /* the round is repeated without it */
            return false;
        if (s->rows[blamed]->status == ROW_OK || s->rows[blamed]->status == ROW_FOIL)
            condemn(s, blamed, ROW_CRASHED, "%s (during the timing)", why.text);
    }
    for (int i = first; i < last; i++) {
        if (s->choices[i])
            choose_sums(&s->plan, i, s->choices[i], s->rows, s->rows[i]);
        if (!session_row_judge(s, i, err))
            return false;
    }
    return session_put(s, first, last, err);
}

/* Counts the waiting rows of the cases up to that row; their tables can be shown then. */
static bool count_cases(struct session *s, int last, struct error *err)
{
    if (s->uncounted_count)
        session_ahead(s, last, true);
    bool ok = session_count(s, err);
    for (int i = 0; i < last && ok; i++) /* networks' rows, whose layers are counted now */
        if (s->choices[i] && isnan(row_value(s->rows[i], -1, "chain.library_layout_ns")) &&
            choose_library_layout(&s->plan, i, s->choices[i], s->rows, s->rows[i]))
            ok = session_put(s, i, i + 1, err);
    s->show_last = last;
    return ok;
}

static bool run_case(struct session *s, int first, int last, bool timed, struct error *err)
{
    bool all_kept = true;
    plan_tidy(&s->plan, -1);
    if (!session_owns(s, first))
        return true;
    for (int i = first; i < last; i++)
        all_kept = all_kept && s->kept[i];
    for (int i = first; i < last && !all_kept; i++) {
        bool lost = s->plan.rows[i].case_index == s->lost_case - 1 || s->rows[i]->reason; /* or tried while compilers worked */
        if (s->rows[i]->status == ROW_PLANNED && !(lost ? session_put(s, i, i + 1, err) : session_verify(s, i, err)))
            return false;
        s->done += lost;
        if (s->interrupted)
            return true;
    }
    if (timed && !all_kept && !measure_case(s, first, last, err))
        return false;
    if (timed && !s->interrupted)
        session_count_later(s, first, last); /* in an interrupted run, also rows that were only timed */
    if (s->options->ablate && !s->interrupted && !session_ablate(s, first, last, err))
        return false;
    if (session_compares(s) && !all_kept && s->asked.tune && !s->interrupted && !session_learn(s, first, last, err))
        return false;
    if (s->interrupted)
        return true;
    s->timed_last = last;
    return (s->uncounted_count && !session_count_due(s)) || count_cases(s, last, err);
}

static bool run_cases(struct session *s, struct error *err)
{
    bool timed = !s->options->no_time && spec_is_timed(s->device.spec);
    int last = 0;
    for (int first = 0; first < s->plan.row_count && !s->interrupted; first = last) {
        while (last < s->plan.row_count && s->plan.rows[last].case_index == s->plan.rows[first].case_index)
            last++;
        if (!run_case(s, first, last, timed, err))
            return false;
    }
    if (!s->interrupted && !count_cases(s, last, err))
        return false;
    if (s->fault.kind != ERROR_NONE && err)
        *err = s->fault;
    return s->interrupted || s->fault.kind == ERROR_NONE;
}

/* In a GPU's process: the cases that the parent gives. A case is finished when its rows are counted. */
static bool run_fed(struct session *s, struct error *err)
{
    bool timed = !s->options->no_time && spec_is_timed(s->device.spec), ok = true, begun = false;
    json_auto_t *finished = json_array();
    int first = 0, last = 0, given = 0;
    double checked_s = s->follows ? clock_s() : -INFINITY; /* the clock counts from the machine's boot */
    const struct session_device *d = &s->device;
    s->changed = s->options->feed->changed;
    session_say(s, json_pack("{s:{s:s,s:s,s:s,s:s,s:s}}", "facts", "about", d->about, "uuid", d->uuid, "driver", d->driver, "cudnn",
                             d->library, "compiler", d->compiler));
    while (ok && !s->interrupted && given != FEED_END) {
        if (clock_s() - checked_s > CHECK_EVERY_S) {
            session_check(s);
            session_say(s, json_pack("{s:b}", "ready", 1));
            checked_s = clock_s();
        }
        if (!begun) {
            session_prepare_first(s);
            session_count_launch(s);
        }
        given = session_take_case(s, &first, &last, err);
        if (!begun) /* its start-up is time of the parent, which compiled meanwhile */
            phase_begin(&s->clock, PHASE_WAITING);
        begun = true;
        if (given >= 0) {
            ok = run_case(s, first, last, timed, err);
            json_array_append_new(finished, json_integer(given));
            if (s->plan.rows[first].kind == PLAN_CHAIN)
                session_say(s, json_pack("{s:o}", "choices", choices_of(s, first, last)));
        } else {
            ok = err->kind == ERROR_NONE && (s->interrupted || count_cases(s, last, err));
        }
        session_settle(s);
        if (ok && !s->interrupted && !s->uncounted_count) {
            session_say(s, json_pack("{s:O}", "finished", finished));
            json_decref(finished);
            finished = json_array();
        }
    }
    if (ok && !s->interrupted)
        session_check(s);
    if (ok && s->fault.kind != ERROR_NONE)
        *err = s->fault;
    return ok && (s->interrupted || s->fault.kind == ERROR_NONE);
}

void session_close(struct session *s)
{
    child_stop(&s->worker, NULL, 0);
    child_stop(&s->counter, NULL, 0);
    child_stop(&s->ceilings, NULL, 0);
    lock_release(&s->gpu_lock);
    if (s->inside)
        s->options->inside->close(s->inside);
    json_decref(s->inside_events);
    for (int i = 0; s->rows && i < s->plan.row_count; i++)
        row_free(s->rows[i]);
    pointers_free(s->choices, s->plan.row_count);
    json_decref(s->interpreted);
    free(s->uncounted_rows);
    rows_free(s->former, s->former_count);
    free(s->rows);
    free(s->kept);
    free(s->elsewhere);
    run_clear(&s->run);
    if (s->store)
        store_close(s->store);
    session_remembered_free(s->remembered);
    if (s->plan.private_data)
        plan_free(&s->plan);
}

bool session_run(const struct session_options *options, const struct session_sink *sink, struct session_result *result, struct error *err)
{
    if (options->gpus)
        return session_fleet(options, sink, result, err);
    struct session s = SESSION_OF(options, sink);
    const struct session_result nothing = {.started_s = s.start_s, .ended_s = s.start_s},
                                *before = options->before ? options->before : &nothing;
    bool ok = false;
    *result = (struct session_result){.started_s = before->started_s};
    phase_begin(&s.clock, PHASE_START_UP);
    s.clock.since_s = before->ended_s; /* counts the time between the two runs, in which the caller decided what to do */
    s.first_round_s = before->first_round_s;
    if (!session_seed(&s, err) || !session_open(&s, err) || !session_counts(&s, &s.counts, err))
        goto done;
    session_roofs(&s);
    if (!session_rows(&s, &result->kept, err))
        goto done;
    result->run_id = s.run.id;
    if (sink->begin)
        sink->begin(sink->context, &s.run, &s.plan, result->kept);
    int parts = session_parts(&s);
    if (parts > 1)
        ok = session_split(&s, parts, err);
    else
        ok = session_prepare(&s, err) && (!session_count_asked(&s) || session_count_check(&s, err)) &&
             (!options->gate || options->feed || session_gate_identify(&s, err)) && (options->feed ? run_fed(&s, err) : run_cases(&s, err));
    ok = session_spent(&s, ok ? err : NULL) && ok && (s.interrupted || options->feed || store_run_end(s.store, s.run.id, NULL, err));
done:
    session_sum(&s, before, result);
    result->first_round_s = s.first_round_s;
    if (ok)
        session_keep(&s);
    session_close(&s);
    return ok;
}
