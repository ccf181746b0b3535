/* The parent's part of --ablate: runs one row at a time, in the worker that timed it; a failure becomes that row's note. */
#include "base/text.h"
#include "run/parent/parent.h"

#define START_LIMIT_S 120.0

static bool offers(const struct session *s, int row)
{
    const struct plan_row *p = &s->plan.rows[row];
    const struct program *program = plan_program(&s->plan, row);
    return ANY_OF(i, ABLATE_COUNT, program->ablations[i] && p->kind == PLAN_LAYER && s->rows[row]->status == ROW_OK && !s->kept[row]);
}

static void note_failure(struct session *s, int row, enum outcome outcome, const struct error *why)
{
    const char *how = outcome == OUTCOME_LATE ? "it hung" : outcome == OUTCOME_DIED ? "its process died" : why->text;
    SCOPED char *line = text_format("%.400s", how);
    for (char *c = line; *c; c++) /* a compiler's log has several lines, but a note has one */
        *c = *c == '\n' ? ' ' : *c;
    row_add_note(s->rows[row], "not ablated: %s", line);
}

bool session_ablate(struct session *s, int first, int last, struct error *err)
{
    for (int i = first; i < last && !s->interrupted; i++) {
        struct error why = {0};
        if (!offers(s, i))
            continue;
        enum outcome outcome = OUTCOME_FAILED;
        if (s->options->inside)
            error_set(&why, ERROR_USAGE, "not with --in-process");
        else if (session_start(s, &s->worker, &why))
            outcome = session_command(s, &s->worker, command_new(COMMAND_ABLATE, &(struct message){.row = i}), START_LIMIT_S, session_event,
                                      &why);
        s->interrupted = s->interrupted || outcome == OUTCOME_INTERRUPTED;
        if (outcome != OUTCOME_DONE && !s->options->inside)
            child_stop(&s->worker, NULL, 0);
        if (s->interrupted)
            return true;
        if (outcome != OUTCOME_DONE)
            note_failure(s, i, outcome, &why);
        if (!session_store(s, i, i + 1, err))
            return false;
    }
    return true;
}
