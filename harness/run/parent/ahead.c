/* Starts work in advance, in the worker that has the device, and never while something is timed. It makes the library's plans of the
 * next case while this case is counted: compiling the plans' kernels takes half a second or more of CPU time. While the first kernels are
 * compiled it makes the plans whose kernels are there, and data with their references on the device, which is idle then
 * (measure/verify/prefetch_data.c), and verifies rows (compile.c). */
#include "base/spec.h"
#include "plan/rows/shard.h"
#include "run/parent/parent.h"

#define AHEAD_MOST 32 /* rows: each has some 20 plans, whose kernels occupy GPU memory */

/* Will the row run, from that one on? A GPU of several knows one case in advance. */
static bool follows(const struct session *s, int row, int first)
{
    return s->options->feed ? row >= s->ahead_first && row < s->ahead_last && s->plan.rows[row].facts.feasible
                            : row >= first && session_due(s, row);
}

/* Is the row verified, and waits to be timed? */
static bool is_verified(const struct session *s, int row)
{
    return !s->kept[row] && s->rows[row] && (s->rows[row]->status == ROW_OK || s->rows[row]->status == ROW_FOIL);
}

void session_ahead(struct session *s, int first, bool further)
{
    SCOPED_BY(member_rows_free) struct member_rows rows = {0};
    first = s->options->feed ? s->ahead_first : first;
    for (int i = first; i < s->plan.row_count && rows.count < AHEAD_MOST; i++) {
        bool next = s->plan.rows[i].case_index == s->plan.rows[first].case_index;
        if ((next || further) && s->plan.rows[i].facts.plans && follows(s, i, first))
            *APPEND(rows.at, rows.count) = i;
    }
    bool compiles = further || !s->device.library_device[0]; /* otherwise compilers do: its own kernels would come one after the other */
    if (rows.count && s->worker.launched && !s->worker.ahead)
        s->worker.ahead = child_send(&s->worker, command_new(COMMAND_AHEAD, &(struct message){.rows = rows, .compiles = compiles}));
}

struct member_rows session_next(const struct session *s, int first, int *due)
{
    struct member_rows rows = {0};
    SCOPED_BY(member_rows_free) struct member_rows verified = {0};
    for (int i = s->options->feed ? s->ahead_first : first, in_case = -1; i < s->plan.row_count; i++) {
        bool is_due = follows(s, i, first), timed = !is_due && !s->options->feed && is_verified(s, i);
        if (in_case >= 0 && s->plan.rows[i].case_index != in_case)
            break;
        if (!is_due && !timed)
            continue;
        in_case = s->plan.rows[i].case_index;
        struct member_rows *to = is_due ? &rows : &verified;
        *APPEND(to->at, to->count) = i;
    }
    *due = rows.count;
    for (int i = 0; i < verified.count; i++)
        *APPEND(rows.at, rows.count) = verified.at[i];
    return rows;
}

/* The first row of each case that is to run or to be timed. */
static struct member_rows first_rows(const struct session *s)
{
    struct member_rows rows = {0};
    for (int i = 0, in_case = -1; i < s->plan.row_count; i++)
        if ((follows(s, i, 0) || (!s->options->feed && is_verified(s, i))) && s->plan.rows[i].case_index != in_case) {
            in_case = s->plan.rows[i].case_index;
            *APPEND(rows.at, rows.count) = i;
        }
    return rows;
}

/* The library's rows that will be timed and whose plans' kernels are compiled. */
static struct member_rows library_rows(const struct session *s)
{
    struct member_rows rows = {0};
    for (int i = 0, seen = 0; i < s->plan.row_count && seen < AHEAD_MOST; i++) {
        const struct plan_row *p = &s->plan.rows[i];
        bool own = plan_asks_library(p) && (follows(s, i, 0) || (!s->options->feed && is_verified(s, i)));
        seen += own;
        if (own && session_compiled(s, i))
            *APPEND(rows.at, rows.count) = i;
    }
    return rows;
}

bool session_times(const struct session *s)
{
    return spec_is_timed(s->device.spec) && !s->options->no_time && !s->options->gate && !s->asked.tune;
}

void session_early(struct session *s, bool data)
{
    if (!session_times(s) || !s->worker.launched)
        return;
    SCOPED_BY(member_rows_free) struct member_rows rows = library_rows(s), firsts = data ? first_rows(s) : (struct member_rows){0};
    int asks = rows.count * 2 + data;
    bool busy = s->early && s->worker.ahead;
    if (busy && (asks == s->early_asks || child_any(&s->worker, 1, clock_s(), NULL) < 0 || !session_ahead_settle(s, &(struct error){0})))
        return; /* it has nothing more to do, or not yet */
    s->early_asks = asks;
    s->worker.ahead += child_send(&s->worker, command_new(COMMAND_AHEAD, &(struct message){.rows = rows, .data = firsts}));
    if (!s->early)
        session_count_launch(s); /* nothing is timed yet */
    s->early = true;
}
