/* Checks the buffers of `prepare:` steps. They run outside the timed part, so they may read only what is the same in every launch: weights,
 * and scratch that an earlier prepare step wrote. They may write only scratch (and symbols): bench poisons outputs before every timed
 * round.
 */
#include "kernel/bind/bind.h"
#include <stdio.h>

/* An error at the argument or, where it is not one, at the step's name. Returns false. */
static bool refuse(const struct head_step *s, const struct arg *arg, struct error *err, const char *what)
{
    struct node at = *s->node;
    if (arg && arg->line > 0) {
        at.line = arg->line;
        at.column = arg->column;
    }
    return node_error(&at, err, "%s", what);
}

static bool check_reads(const struct bind *b, const struct head_step *s, const struct arg *arg, struct buffer_ref ref, struct error *err)
{
    char what[3 * PROGRAM_NAME];
    const struct tensor_role *role = ref.kind == BUFFER_TENSOR ? b->program->tensors[ref.index].role : NULL;
    if (!role || role->constant)
        return true;
    if (role->output)
        snprintf(what, sizeof what, "prepare has the argument `%s`, which is poisoned before every timed round: only steps may write it",
                 role->name);
    else
        snprintf(what, sizeof what,
                 "prepare has the argument `%s`, which changes from launch to launch; prepare runs only once, outside the time",
                 role->name);
    refuse(s, arg, err, what);
    return error_hint(err, "prepare may read constant tensors (filter, bias) and scratch that it wrote; move the step to `steps:`");
}

static bool check_step(const struct bind *b, const struct head_step *s, int step, struct error *err)
{
    const struct program *p = b->program;
    const struct step *t = &p->steps[step];
    char what[3 * PROGRAM_NAME];
    for (int i = 0; i < t->arg_count; i++) {
        const struct arg *a = &t->args[i];
        bool map = a->kind == ARG_TENSOR_MAP && a->map != ARG_NO_MAP;
        struct buffer_ref ref = map ? p->tensor_maps[a->map].buffer : a->buffer;
        if ((map || a->kind == ARG_BUFFER) && !check_reads(b, s, s->kind == HEAD_KERNEL ? a : NULL, ref, err))
            return false;
    }
    if (!ALL_OF(i, OP_MAX_TENSORS, check_reads(b, s, NULL, t->operand[i], err)))
        return false;
    if (!check_reads(b, s, NULL, t->from, err) || !check_reads(b, s, NULL, t->to, err))
        return false;
    if (t->to.kind == BUFFER_TENSOR) {
        snprintf(what, sizeof what, "prepare writes `%s`, but may write only scratch", p->tensors[t->to.index].role->name);
        return refuse(s, NULL, err, what);
    }
    bool written = t->from.kind != BUFFER_SCRATCH;
    for (int i = 0; i < step && !written; i++)
        written = p->steps[i].prepare && program_step_uses(p, &p->steps[i], t->from);
    snprintf(what, sizeof what, "prepare reads scratch '%.80s', which no prepare step before it wrote",
             written ? "" : p->scratch[t->from.index].name);
    return written || refuse(s, NULL, err, what);
}

bool bind_check_prepare(const struct bind *b, const struct head_step *s, int from, struct error *err)
{
    for (int i = from; s->prepare && i < b->program->step_count; i++)
        if (!check_step(b, s, i, err))
            return false;
    return true;
}
