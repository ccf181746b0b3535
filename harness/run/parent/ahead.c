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
    json_auto_t *rows = json_array();
    first = s->options->feed ? s->ahead_first : first;
    for (int i = first; i < s->plan.row_count && json_array_size(rows) < AHEAD_MOST; i++) {
        bool next = s->plan.rows[i].case_index == s->plan.rows[first].case_index;
        if ((next || further) && s->plan.rows[i].facts.plans && follows(s, i, first))
            json_array_append_new(rows, json_integer(i));
    }
    bool compiles = further || !s->device.library_device[0]; /* otherwise compilers do: its own kernels would come one after the other */
    if (json_array_size(rows) && s->worker.launched && !s->worker.ahead)
        s->worker.ahead = child_send(&s->worker, command_new(COMMAND_AHEAD, "{s:O,s:b}", "rows", rows, "compiles", (int)compiles));
}

json_t *session_next(const struct session *s, int first, int *due)
{
    json_t *rows = json_array(), *verified = json_array();
    for (int i = s->options->feed ? s->ahead_first : first, in_case = -1; i < s->plan.row_count; i++) {
        bool is_due = follows(s, i, first), timed = !is_due && !s->options->feed && is_verified(s, i);
        if (in_case >= 0 && s->plan.rows[i].case_index != in_case)
            break;
        if (is_due || timed) {
            in_case = s->plan.rows[i].case_index;
            json_array_append_new(is_due ? rows : verified, json_integer(i));
        }
    }
    *due = (int)json_array_size(rows);
    json_array_extend(rows, verified);
    json_decref(verified);
    if (json_array_size(rows))
        return rows;
    json_decref(rows);
    return NULL;
}

/* The first row of each case that is to run or to be timed. */
static json_t *first_rows(const struct session *s)
{
    json_t *rows = json_array();
    for (int i = 0, in_case = -1; i < s->plan.row_count; i++)
        if ((follows(s, i, 0) || (!s->options->feed && is_verified(s, i))) && s->plan.rows[i].case_index != in_case) {
            in_case = s->plan.rows[i].case_index;
            json_array_append_new(rows, json_integer(i));
        }
    return rows;
}

/* The library's rows that will be timed and whose plans' kernels are compiled. */
static json_t *library_rows(const struct session *s)
{
    json_t *rows = json_array();
    for (int i = 0, seen = 0; i < s->plan.row_count && seen < AHEAD_MOST; i++) {
        const struct plan_row *p = &s->plan.rows[i];
        bool own = plan_asks_library(p) && (follows(s, i, 0) || (!s->options->feed && is_verified(s, i)));
        seen += own;
        if (own && session_compiled(s, i))
            json_array_append_new(rows, json_integer(i));
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
    json_auto_t *rows = library_rows(s);
    int asks = (int)json_array_size(rows) * 2 + data;
    bool busy = s->early && s->worker.ahead;
    if (busy && (asks == s->early_asks || child_any(&s->worker, 1, clock_s(), NULL) < 0 || !session_ahead_settle(s, &(struct error){0})))
        return; /* it has nothing more to do, or not yet */
    s->early_asks = asks;
    s->worker.ahead += child_send(
        &s->worker, command_new(COMMAND_AHEAD, "{s:O,s:b,s:o*}", "rows", rows, "compiles", 0, "data", data ? first_rows(s) : NULL));
    if (!s->early)
        session_count_launch(s); /* nothing is timed yet */
    s->early = true;
}
