/* A run that compares two builds: skips rows that both builds launch identically, and times the others in pairs. */
#include "run/parent/parent.h"
#include <string.h>

#define IDENTIFY_LIMIT_S 180.0
#define BUDGET_S 6.0 /* for the rounds of a case, if the user gives none */

/* The row of the same id of the next side; -1: none, or the row is of no side. */
static int partner(const struct session *s, int row)
{
    const struct plan_row *p = &s->plan.rows[row];
    for (int i = row + 1; p->side && i < s->plan.row_count && s->plan.rows[i].case_index == p->case_index; i++)
        if (s->plan.rows[i].side && s->plan.rows[i].side != p->side && !strcmp(plan_id(&s->plan, i), plan_id(&s->plan, row)))
            return i;
    return -1;
}

static bool leave_out(struct session *s, int row, const char *why, struct error *err)
{
    if (s->rows[row]->status != ROW_PLANNED)
        return true;
    s->rows[row]->status = ROW_SKIPPED;
    row_set(&s->rows[row]->reason, why);
    s->done++;
    return session_put(s, row, row + 1, err);
}

/* If the row kills the worker here, it kills it again when the row is verified, which reports it. */
static bool identify(struct session *s, int row, struct error *err)
{
    struct error why = {0};
    if (s->rows[row]->status != ROW_PLANNED)
        return true;
    if (!session_start(s, &s->worker, err))
        return s->interrupted;
    json_t *ask = command_new(COMMAND_IDENTIFY, &(struct message){.row = row});
    enum outcome outcome = session_command(s, &s->worker, ask, IDENTIFY_LIMIT_S, session_event, &why);
    s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
    if (outcome != OUTCOME_DONE)
        child_stop(&s->worker, NULL, 0);
    if (outcome != OUTCOME_FAILED || why.kind != ERROR_ENVIRONMENT)
        return true;
    if (err)
        *err = why;
    return false;
}

static bool is_changed(const struct session *s, int row)
{
    int other = partner(s, row);
    const char *a = s->rows[row]->launch_hash;
    return other >= 0 && (!*a || strcmp(a, s->rows[other]->launch_hash) != 0);
}

/* Rows of only one side are verified. If no pair is left, nothing is timed. */
static bool leave_out_case(struct session *s, int first, int last, struct error *err)
{
    bool runs = false;
    for (int i = first; i < last; i++) {
        int other = partner(s, i);
        if (other >= 0 && !is_changed(s, i) &&
            (!leave_out(s, i, "both sides have the same launches: not run", err) ||
             !leave_out(s, other, "both sides have the same launches: not run", err)))
            return false;
        s->changed += other >= 0 && s->rows[i]->status == ROW_PLANNED && s->rows[other]->status == ROW_PLANNED;
    }
    for (int i = first; i < last; i++)
        runs |= is_changed(s, i) && s->rows[i]->status == ROW_PLANNED;
    for (int i = first; i < last && !runs; i++)
        if (!s->plan.rows[i].side && !leave_out(s, i, "there is no row to time it against", err))
            return false;
    return true;
}

bool session_gate_identify(struct session *s, struct error *err)
{
    for (int i = 0; i < s->plan.row_count && !s->interrupted; i++)
        if (s->plan.rows[i].side && !identify(s, i, err))
            return false;
    for (int first = 0, last; first < s->plan.row_count && !s->interrupted; first = last) {
        for (last = first; last < s->plan.row_count && s->plan.rows[last].case_index == s->plan.rows[first].case_index;)
            last++;
        if (!leave_out_case(s, first, last, err))
            return false;
    }
    return true;
}

static bool is_sound(const struct session *s, int row)
{
    return s->rows[row]->status == ROW_OK || s->rows[row]->status == ROW_FOIL;
}

void session_gate_rows(struct session *s, int first, int last, struct message *m)
{
    const struct session_gate *g = s->options->gate;
    struct member_rows *rows = &m->rows;
    m->library_row = -1;
    for (int i = first; i < last && m->library_row < 0; i++)
        if (!s->plan.rows[i].side && is_sound(s, i))
            m->library_row = i;
    for (int i = first; i < last; i++) {
        int other = partner(s, i);
        if (other < 0 || !is_sound(s, i) || !is_sound(s, other))
            continue;
        if (!rows->count && m->library_row >= 0)
            *APPEND(rows->at, rows->count) = m->library_row;
        *APPEND(rows->at, rows->count) = i;
        *APPEND(rows->at, rows->count) = other;
        m->pairs = m->pairs ? m->pairs : json_array();
        json_array_append_new(m->pairs, json_pack("[i,i,f]", i, other, g->margin(g->context, plan_id(&s->plan, i))));
    }
    m->alpha = g->alpha / (s->changed ? s->changed : 1);
    m->budget = s->options->plan.budget_s > 0 ? s->options->plan.budget_s : BUDGET_S;
}
