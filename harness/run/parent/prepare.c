/* Prepares a run before its first row: the worker, the ceilings, compiled kernels, counters. */
#include "run/parent/parent.h"

/* While compilers work, the process that measures the ceilings loads what it needs, and the worker makes data and verifies rows
 * (session_early); the ceilings are measured afterwards, alone. */
bool session_prepare(struct session *s, struct error *err)
{
    struct error told_later = {0};
    bool due = s->options->feed; /* cases will come */
    for (int i = 0; i < s->plan.row_count; i++)
        due = due || session_due(s, i);
    if (due && !s->options->inside) {
        session_roofs_launch(s);
        if (session_launch(s, &s->worker, &told_later))
            session_ahead(s, 0, false);     /* compilers want the cores */
        if (s->counts && !s->options->feed) /* of several GPUs, when the worker has its own: the driver opens one context at a time */
            session_launch(s, &s->counter, &told_later); /* it opens its counters later */
        phase_turn(&s->clock, PHASE_COMPILING);
        if (!s->options->feed && !session_precompile(s, err)) /* the parent of the GPUs compiles */
            return false;
        phase_turn(&s->clock, PHASE_START_UP);
        if (!session_roofs_settle(s, err))
            return false;
        if (!s->options->feed) /* a GPU of several is checked first, by itself */
            session_count_launch(s);
    }
    phase_turn(&s->clock, PHASE_WAITING);
    return true;
}
