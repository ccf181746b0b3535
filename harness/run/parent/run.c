/* The parent of a run: sends rows to workers, enforces time limits, attributes crashes, stores the results. */
#include "base/spec.h"
#include "base/text.h"
#include "plan/rows/choose.h"
#include "store/lock.h"
#include "run/parent/parent.h"
#include <math.h>
#include <stdlib.h>

#define CHECK_EVERY_S 60.0 /* of a GPU of several */

/* ---- measure: the survivors of a case together ---- */

static void survivors(const struct session *s, int first, int last, struct message *m)
{
    for (int i = first; i < last; i++)
        if (s->rows[i]->status == ROW_OK || s->rows[i]->status == ROW_FOIL)
            *APPEND(m->rows.at, m->rows.count) = i;
}

/* For each row that has a choice: [row, links]. */
static json_t *choices_of(const struct session *s, int first, int last)
{
    json_t *all = json_array();
    for (int i = first; i < last; i++) {
        struct member_rows links = session_choice(s, i);
        if (links.at)
            json_array_append_new(all, json_pack("[i,o]", i, member_rows_write(&links)));
    }
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
        if (s->kept[i] && (s->rows[i]->status == ROW_OK) && !session_choose(s, i))
            return session_put(s, i, i + 1, err);
    for (;;) {
        struct error why = {0};
        SCOPED_BY(message_free) struct message m = {.library_row = -1};
        if (s->options->gate)
            session_gate_rows(s, first, last, &m);
        else
            survivors(s, first, last, &m);
        if (!m.rows.count)
            return true;
        if (!session_ready(s, err)) {
            json_decref(m.pairs);
            return s->interrupted;
        }
        s->stage_row = -1;
        m.next = session_next(s, last, &m.due);
        m.choices = choices_of(s, first, last);
        json_t *message = command_new(s->asked.tune ? COMMAND_RACE : COMMAND_MEASURE, &m);
        enum outcome outcome = session_command(s, &s->worker, message, SETUP_LIMIT_S, session_event, &why);
        if (outcome == OUTCOME_DONE)
            break;
        if (outcome == OUTCOME_LATE && s->late.kind != ERROR_NONE)
            why = s->late;
        if ((outcome == OUTCOME_LATE || outcome == OUTCOME_FAILED) && session_at_data(s) && why.kind == ERROR_USAGE) {
            child_stop(&s->worker, NULL, 0);
            session_lose_case(s, first, &why); /* verified rows stay verified, without a time */
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
        if (!session_end_row(s, blamed, outcome, &why, err)) /* the round is repeated without it */
            return false;
        if (s->rows[blamed]->status == ROW_OK || s->rows[blamed]->status == ROW_FOIL)
            session_condemn(s, blamed, ROW_CRASHED, "%s (during the timing)", why.text);
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
    if (s->options->ablate && !s->asked.tune && !s->interrupted && !session_ablate(s, first, last, err))
        return false;
    if (session_compares(s) && !all_kept && s->asked.tune && !s->options->feed && !s->interrupted && !session_learn(s, first, last, err))
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
            session_make_ahead(s);
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
    if (ok && !s->interrupted && !s->asked.tune) /* a race comes before the run */
        session_check(s);
    if (ok && s->fault.kind != ERROR_NONE)
        *err = s->fault;
    return ok && (s->interrupted || s->fault.kind == ERROR_NONE);
}

void session_close(struct session *s)
{
    struct child *const children[] = {&s->worker, &s->counter, &s->ceilings};
    enum { COUNT = sizeof children / sizeof *children };
    for (int i = 0; i < COUNT; i++) /* first kills all: the driver takes 0.1 s for each, at the same time */
        if (children[i]->pid > 0)
            kill(children[i]->pid, SIGKILL);
    for (int i = 0; i < COUNT; i++)
        child_stop(children[i], NULL, 0);
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
    FREE_ALL(s->rows, s->kept, s->elsewhere, s->made);
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
