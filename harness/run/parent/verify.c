/* Verifies each row alone, and attributes what goes wrong to it: crashes, hangs, failures. */
#include "base/text.h"
#include "plan/rows/choose.h"
#include "run/parent/parent.h"
#include <stdio.h>
#include <string.h>

#define CHAIN_BEHIND 20.0    /* a network is not run as a whole if its layers take this many times the library's sum */
#define NOT_TAKEN_UP "start" /* the stage of a row before its worker's first message about it */

void session_condemn(struct session *s, int row, enum row_status status, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    const struct program *p = plan_program(&s->plan, row);
    for (int i = 0; i < p->tensor_count && status == ROW_CRASHED; i++)
        if (tensor_elements(&p->tensors[i]) > INT32_MAX) {
            text_addf(&t, "; %s has %zu elements: does an index of 32 bits overflow?", p->tensors[i].role->name,
                      tensor_elements(&p->tensors[i]));
            break;
        }
    s->rows[row]->status = status;
    if (row_status_failed(status))
        row_drop_times(s->rows[row]);
    row_set(&s->rows[row]->reason, text_get(&t));
}

void session_lose_case(struct session *s, int row, const struct error *why)
{
    int lost = s->plan.rows[row].case_index;
    if (s->fault.kind == ERROR_NONE) {
        s->fault = *why;
        s->fault.kind = ERROR_USAGE;
    }
    s->lost_case = lost + 1;
    for (int i = 0; i < s->plan.row_count; i++)
        if (s->plan.rows[i].case_index == lost && s->rows[i]->status == ROW_PLANNED)
            session_condemn(s, i, ROW_PLANNED, "not judged: %s", why->text);
}

bool session_at_data(const struct session *s)
{
    return !strcmp(s->stage, "data");
}

bool session_end_row(struct session *s, int row, enum outcome outcome, const struct error *why, struct error *err)
{
    char how[512];
    switch (outcome) {
    case OUTCOME_DONE: return true;
    case OUTCOME_LOST: child_stop(&s->worker, NULL, 0); return true;
    case OUTCOME_INTERRUPTED: s->interrupted = true; return true;
    case OUTCOME_FAILED:
        child_stop(&s->worker, NULL, 0);
        if (session_at_data(s) && (why->kind == ERROR_USAGE || why->kind == ERROR_WRONG)) {
            session_lose_case(s, row, why);
            return true;
        }
        if (why->kind == ERROR_ENVIRONMENT || why->kind == ERROR_USAGE || why->kind == ERROR_MACHINE) {
            if (err)
                *err = *why;
            return false;
        }
        bool ours = session_at_data(s); /* the reference failed: the row has not run yet */
        session_condemn(s, row, ours ? ROW_PLANNED : ROW_CRASHED, "%s%s (while: %s)", ours ? "not judged: " : "", why->text, s->stage);
        return true;
    case OUTCOME_LATE:
        child_stop(&s->worker, NULL, 0);
        if (s->late.kind != ERROR_NONE)
            session_lose_case(s, row, &s->late);
        else if (session_at_data(s))
            session_condemn(s, row, ROW_PLANNED,
                            "not judged: making its inputs and reference exceeded the time limit; the process was killed");
        else
            session_condemn(s, row, ROW_HUNG, "'%s' exceeded the time limit; its process was killed", s->stage);
        return true;
    case OUTCOME_GREEDY:
        child_stop(&s->worker, NULL, 0);
        session_condemn(s, row, ROW_BROKEN,
                        "compiling it needs more than %zu MiB of memory (BENCH_COMPILE_MEMORY=MiB); the compiler was stopped",
                        child_compile_memory() >> 20);
        return true;
    case OUTCOME_DIED:
        if (child_stop(&s->worker, how, sizeof how)) /* the kernel may be correct, so --resume tries it again */
            session_condemn(s, row, ROW_PLANNED, "not judged, since the system ended its process during '%s': %s", s->stage, how);
        else
            session_condemn(s, row, ROW_CRASHED, "its process died during '%s': %s", s->stage, how);
        return true;
    }
    return true;
}

struct member_rows session_choice(const struct session *s, int row)
{
    const struct chain_row *chain = s->plan.rows[row].chain;
    return (struct member_rows){s->choices[row], s->choices[row] ? chain->work->chain->count : 0};
}

bool session_choose(struct session *s, int row)
{
    char why[512];
    struct text what = {0};
    if (s->plan.rows[row].kind != PLAN_CHAIN)
        return true;
    s->choices[row] = choose_links(&s->plan, row, s->rows, why, sizeof why);
    if (!s->choices[row]) {
        session_condemn(s, row, ROW_SKIPPED, "%s", why);
        return false;
    }
    double behind = choose_behind(&s->plan, row, s->choices[row], s->rows);
    if (behind > CHAIN_BEHIND && !s->asked.filter.only && !s->kept[row]) {
        session_condemn(s, row, ROW_SKIPPED, "its layers take %.0fx the time of the library's: not run as a whole network (--only runs it)",
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
        snprintf(number, sizeof number, "%d", row);
        json_t *message = command_new(COMMAND_VERIFY, &(struct message){.row = row,
                                                                        .choice = session_choice(s, row),
                                                                        .timed = session_times(s),
                                                                        .ahead = s->compilers != NULL,
                                                                        .tiles = tiles,
                                                                        .packed = json_incref(json_object_get(s->interpreted, number))});
        *outcome = session_command(s, &s->worker, message, SETUP_LIMIT_S, session_event, why);
        if (*outcome != OUTCOME_DIED || strcmp(s->stage, NOT_TAKEN_UP) || tries == CHILD_TRIES)
            return true;
        child_stop(&s->worker, NULL, 0);
    }
}

bool session_verify(struct session *s, int row, struct error *err)
{
    struct error why = {0};
    if (!session_choose(s, row)) {
        s->done++;
        return session_put(s, row, row + 1, err);
    }
    enum outcome outcome;
    if (!ask_verify(s, row, &outcome, &why, err))
        return s->interrupted;
    if (!session_end_row(s, row, outcome, &why, err))
        return false;
    if (s->interrupted)
        return true;
    s->done++;
    return session_put(s, row, row + 1, err);
}
