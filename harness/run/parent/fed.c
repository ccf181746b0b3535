/* The process of one GPU of several: takes cases from its parent and says what it found. */
#include "base/spec.h"
#include "run/message/wire.h"
#include "run/parent/parent.h"
#include <string.h>

#define CHECK_LIMIT_S 60.0
#define MADE_MOST 4096 /* rows that are made in advance */

static void say_check(struct session *s, const json_t *event)
{
    SCOPED_BY(message_free) struct message m;
    message_read(event, &m);
    if (event_of(event) == EVENT_ROOFS)
        session_say(s, json_pack("{s:O,s:s}", "check", m.roofs, "others", m.note));
}

/* A failure is not reported: the next command fails too if the GPU is at fault. */
void session_check(struct session *s)
{
    struct error ignored = {0};
    if (!spec_is_timed(s->device.spec) || s->options->no_time || !session_start(s, &s->worker, &ignored))
        return;
    enum phase former = phase_turn(&s->clock, PHASE_START_UP);
    enum outcome outcome = session_command(s, &s->worker, command_new(COMMAND_CHECK, NULL), CHECK_LIMIT_S, say_check, &ignored);
    s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
    if (outcome != OUTCOME_DONE)
        child_stop(&s->worker, NULL, 0);
    phase_turn(&s->clock, former);
}

/* Rows of the case that are done, and those of its network's layers, which other GPUs may have run. */
static void take_rows(struct session *s, const json_t *packed)
{
    struct row *row;
    const char *at = json_string_value(packed), *end = at + json_string_length(packed);
    for (int i; (row = wire_rows_next(&at, end, &i));) {
        row_free(s->rows[i]);
        s->rows[i] = row;
        s->kept[i] = true;
        if (s->made)
            s->made[i] = false;
    }
}

/* Its rows are first .. last-1. */
static void find_rows(const struct session *s, int in_case, int *first, int *last)
{
    for (*first = 0; *first < s->plan.row_count && s->plan.rows[*first].case_index != in_case; (*first)++)
        continue;
    for (*last = *first; *last < s->plan.row_count && s->plan.rows[*last].case_index == in_case; (*last)++)
        continue;
}

void session_prepare_first(struct session *s)
{
    find_rows(s, s->options->feed->ahead, &s->ahead_first, &s->ahead_last);
    session_early(s, true);
}

void session_make_ahead(struct session *s)
{
    if (s->options->feed->shares || !s->plan.row_count || s->plan.row_count > MADE_MOST)
        return;
    session_make_all_rows(s);
    s->made = xmalloc((size_t)s->plan.row_count + 1);
    memset(s->made, true, (size_t)s->plan.row_count);
}

/* Makes those that are not made yet, or are left from another time that the case was given. */
static void make_given(struct session *s, int first, int last)
{
    for (int i = first; i < last; i++) {
        if (!s->made || !s->made[i])
            session_make_rows(s, i, i + 1);
        if (s->made)
            s->made[i] = false;
        s->kept[i] = s->elsewhere[i] = false;
    }
}

int session_take_case(struct session *s, int *first, int *last, struct error *err)
{
    struct session_given given = {.ahead = -1};
    int index = s->options->feed->next(s->options->feed->context, &given);
    find_rows(s, given.ahead, &s->ahead_first, &s->ahead_last);
    if (index < 0)
        return index;
    find_rows(s, index, first, last);
    plan_tidy(&s->plan, -1);
    make_given(s, *first, *last);
    take_rows(s, given.rows);
    for (int i = *first; i < *last; i++) /* infeasible or broken: known without a run */
        if (!s->kept[i] && s->rows[i]->status != ROW_PLANNED && !session_put(s, i, i + 1, err))
            return FEED_END;
    return index;
}
