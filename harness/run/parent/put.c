/* Stores and shows rows while a worker executes the next command, so that no worker waits for the disk or the terminal. */
#include "base/text.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
#include <math.h>

#define SETTLE_S 0.1 /* between stores while the parent waits for an event: each store waits for the disk */

void session_note(struct session *s, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    if (s->sink->note)
        s->sink->note(s->sink->context, text_get(&t));
}

void session_progress(struct session *s, const char *what)
{
    double spent = clock_s() - s->start_s;
    double eta = s->done > 0 ? spent / s->done * (s->owned - s->done) : NAN;
    if (s->sink->progress)
        s->sink->progress(s->sink->context, s->done, s->owned, spent, eta, what);
}

void session_say(struct session *s, json_t *message)
{
    s->options->feed->say(s->options->feed->context, message);
}

static void say_rows(struct session *s, int first, int last)
{
    SCOPED_TEXT rows = {0};
    for (int i = first; i < last; i++)
        wire_rows_add(&rows, i, s->rows[i]);
    session_say(s, json_pack("{s:o}", FRAME_PACKED, json_stringn_nocheck(text_get(&rows), rows.len)));
}

bool session_store(struct session *s, int first, int last, struct error *err)
{
    bool ok = true;
    for (int from = first, to; ok && from < last; from = to) {
        to = from;
        while (to < last && session_owns(s, to))
            to++;
        if (to > from && s->options->feed)
            say_rows(s, from, to);
        else if (to > from)
            ok = store_put_all(s->store, s->run.id, s->rows + from, to - from, err);
        to += to == from;
    }
    return ok;
}

bool session_environment(struct session *s, json_t *environment, struct error *err)
{
    if (s->options->feed) {
        session_say(s, json_pack("{s:o}", "environment", environment));
        return true;
    }
    SCOPED char *text = json_dumps(environment, JSON_COMPACT);
    json_decref(environment);
    return !text || store_run_environment(s->store, s->run.id, text, err);
}

void session_settle(struct session *s)
{
    int first = s->put_first, last = s->put_last;
    s->put_first = s->put_last = 0;
    if (last > first && !s->put_failed)
        s->put_failed = !session_store(s, first, last, &s->put_error);
    while (s->show_first < s->show_last) {
        int from = s->show_first, to = from;
        while (to < s->show_last && s->plan.rows[to].case_index == s->plan.rows[from].case_index)
            to++;
        s->show_first = to;
        if (s->sink->case_done && session_owns(s, from))
            s->sink->case_done(s->sink->context, &s->run, s->rows + from, to - from);
    }
}

bool session_put(struct session *s, int first, int last, struct error *err)
{
    if (s->put_last > s->put_first && (first > s->put_last || last < s->put_first))
        session_settle(s);
    bool none = s->put_last <= s->put_first;
    s->put_first = none || first < s->put_first ? first : s->put_first;
    s->put_last = none || last > s->put_last ? last : s->put_last;
    if (s->put_failed && err)
        *err = s->put_error;
    return !s->put_failed;
}

void session_settle_beside(struct session *s)
{
    double began = clock_s();
    if (began - s->settled_s < SETTLE_S || s->stage_phase == PHASE_MEASURING) /* nothing disturbs a timed round */
        return;
    session_settle(s);
    s->settled_s = clock_s();
    s->settling_s += s->settled_s - began;
}

double session_waited(struct session *s)
{
    phase_settle(&s->clock);
    s->settling_s = 0;
    return s->clock.spent_s[PHASE_WAITING];
}

void session_settled(struct session *s, double waited_s)
{
    double settling_s = s->settling_s, idle_s = session_waited(s) - waited_s;
    enum phase former = phase_turn(&s->clock, PHASE_WAITING);
    phase_move(&s->clock, PHASE_STORING, idle_s < settling_s ? idle_s : settling_s);
    phase_turn(&s->clock, former);
}

/* With the time that the GPU had nothing to do, which a worker does not tell. over: the parent need not wait until this process ends. */
static void say_spent(struct session *s, bool over)
{
    double waited_s = s->clock.spent_s[PHASE_WAITING];
    json_t *spent = wire_spent(&s->clock);
    json_object_set_new(spent, phase_name(PHASE_WAITING), json_real(waited_s));
    session_say(s, json_pack("{s:o,s:b}", "spent", spent, "over", (int)over));
}

/* Stores the time spent in each phase, plus the time of an interrupted run that this run resumed. */
bool session_spent(struct session *s, struct error *err)
{
    phase_turn(&s->clock, PHASE_STORING);
    if (s->show_last < s->timed_last) /* an interruption or an error: shows rows without counters, which --resume adds */
        s->show_last = s->timed_last;
    session_settle(s);
    phase_settle(&s->clock);
    struct run total = s->run;
    for (int i = 0; i < PHASE_COUNT; i++)
        total.spent_s[i] += s->clock.spent_s[i];
    total.wall_s += phase_sum(s->clock.spent_s);
    total.first_round_s = s->first_round_s;
    if (s->put_failed && err)
        *err = s->put_error;
    if (s->options->feed)
        say_spent(s, err && !s->put_failed && !s->interrupted);
    else if (!s->put_failed && !store_run_spent(s->store, &total, err))
        return false;
    return !s->put_failed && (s->options->feed || session_environment(s, json_pack("{s:o}", "parts", wire_parts(&s->clock)), err));
}

void session_sum(struct session *s, const struct session_result *before, struct session_result *result)
{
    phase_settle(&s->clock);
    for (int i = 0; i < PHASE_COUNT; i++)
        result->spent_s[i] = s->clock.spent_s[i] + (before ? before->spent_s[i] : 0);
    result->seconds = phase_sum(result->spent_s);
    result->ended_s = s->clock.since_s;
    result->rows = s->owned;
    result->interrupted = s->interrupted;
}

int session_exit_code(struct row *const *rows, int count)
{
    int code = 0;
    for (int i = 0; i < count; i++)
        if (rows[i]->status == ROW_PLANNED && rows[i]->reason)
            return 5;
        else if (row_status_failed(rows[i]->status))
            code = 4;
    return code;
}
