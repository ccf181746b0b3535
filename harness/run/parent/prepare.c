/* Prepares a run before its first row: the worker, the ceilings, compiled kernels, counters. */
#include "run/parent/parent.h"

/* The ceilings are measured while compilers work, which do not use the GPU, and neither does the worker that is starting. Counters are
 * opened afterwards, if possible while compilers still work (session_early). */
bool session_prepare(struct session *s, struct error *err)
{
    struct error told_later = {0};
    bool due = s->options->feed; /* cases will come */
    for (int i = 0; i < s->plan.row_count; i++)
        due = due || session_due(s, i);
    if (due && !s->options->inside) {
        session_roofs_launch(s);
        if (session_launch(s, &s->worker, &told_later))
            session_ahead(s, 0, false); /* compilers want the cores */
        if (s->counts)
            session_launch(s, &s->counter, &told_later); /* it opens its counters later */
        phase_turn(&s->clock, PHASE_COMPILING);
        if (!s->options->feed && !session_precompile(s, err)) /* the parent of the GPUs compiles */
            return false;
        phase_turn(&s->clock, PHASE_START_UP);
        if (!session_roofs_settle(s, err))
            return false;
        session_count_launch(s);
    }
    phase_turn(&s->clock, PHASE_WAITING);
    return true;
}
