/* Variants inside variants: the steps of one program become steps of another, on the other's buffers. */
#include "kernel/bind/bind.h"
#include "op/sides.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

/* Does a step so far use this buffer? */
static bool is_used(const struct program *p, struct buffer_ref ref)
{
    return ANY_OF(i, p->step_count, program_step_uses(p, &p->steps[i], ref)) ||
           ANY_OF(i, p->tensor_map_count, p->tensor_maps[i].buffer.kind == ref.kind && p->tensor_maps[i].buffer.index == ref.index);
}

/* Weights whose layout the head leaves open take the layout of the first step that reads them. */
static void suit_weights(struct bind *b, const struct tensor *t, struct buffer_ref ref)
{
    struct tensor *own = ref.kind == BUFFER_TENSOR ? &b->program->tensors[ref.index] : NULL;
    if (own && own->role->constant && t->role->constant && !b->h->layout[own->role->slot].node && !is_used(b->program, ref))
        own->layout = t->layout;
}

/* Checks that the buffer holds what the inner program's tensor wants. */
static bool check_buffer(struct bind *b, const struct program *inner, const struct tensor *t, struct buffer_ref ref)
{
    const struct program *p = b->program;
    const char *name = t->role->name;
    if (ref.kind == BUFFER_NONE)
        return bind_infeasible(b, "%s needs `%s`, which this work does not have", inner->variant, name);
    bool plain = ref.kind != BUFFER_TENSOR || p->tensors[ref.index].layout == LAYOUT_LINEAR; /* what it means is the head's to know */
    if (!plain && p->tensors[ref.index].layout != t->layout)
        return bind_infeasible(b, "%s needs %s as %s, but it is %s", inner->variant, name, layout_name(t->layout),
                               layout_name(p->tensors[ref.index].layout));
    enum dtype dtype = program_dtype(p, ref);
    if (dtype != t->dtype)
        return bind_infeasible(b, "%s needs %s as %s, but it is %s", inner->variant, name, dtype_name(t->dtype), dtype_name(dtype));
    uint64_t room = bind_buffer_bytes(p, ref), want = tensor_bytes(t);
    return room == want || bind_infeasible(b, "%s needs %llu bytes of `%s`, but the buffer has %llu", inner->variant,
                                           (unsigned long long)want, name, (unsigned long long)room);
}

bool bind_embed(struct bind *b, struct program *inner, const struct buffer_ref at[OP_MAX_TENSORS], bool prepare, struct error *err)
{
    struct program *p = b->program;
    bool fits = true;
    for (int i = 0; i < inner->tensor_count; i++)
        suit_weights(b, &inner->tensors[i], at[inner->tensors[i].role->slot]);
    fits = fits && ALL_OF(i, inner->tensor_count, check_buffer(b, inner, &inner->tensors[i], at[inner->tensors[i].role->slot]));
    if (fits) {
        struct program_move m = {.units = xcalloc((size_t)inner->unit_count + 1, sizeof *m.units),
                                 .scratch = xcalloc((size_t)inner->scratch_count + 1, sizeof *m.scratch)};
        for (int i = 0; i < inner->tensor_count; i++)
            m.tensors[i] = at[inner->tensors[i].role->slot];
        for (int i = 0; i < inner->unit_count; i++)
            m.units[i] = program_unit(p, &inner->units[i], false);
        for (int i = 0; i < inner->scratch_count; i++)
            m.scratch[i] = program_add_scratch(p, inner->scratch[i].name, inner->scratch[i].dtype, inner->scratch[i].elements);
        for (int i = 0; i < inner->scratch_count && !prepare; i++)
            p->scratch[m.scratch[i]].kind = inner->scratch[i].kind;
        for (int i = 0; i < inner->step_count; i++) {
            struct step *s = &inner->steps[i];
            s->prepare |= prepare;
            if (s->kind == STEP_CUDNN && !s->own_work) { /* the library is asked for the inner op */
                s->own_work = true;
                s->work = inner->work;
            }
        }
        program_take(p, inner, &m, 0);
        p->exact = p->exact && inner->exact;
        free(m.units);
        free(m.scratch);
    }
    program_free(inner);
    return fits;
}

/* Sets one field of the other op, by its key in scenarios. */
static bool set_field(struct bind *b, const struct named_expr *with, struct work *w, struct error *err)
{
    static const struct op_field common[] = {{.name = "dtype", .kind = FIELD_DTYPE, .offset = offsetof(struct work, dtype)},
                                             {.name = "layout", .kind = FIELD_LAYOUT, .offset = offsetof(struct work, layout)},
                                             {.name = "math", .kind = FIELD_MATH, .offset = offsetof(struct work, math)}};
    const struct op_field *f = w->op->fields;
    while (f->name && strcmp(f->name, with->name))
        f++;
    for (size_t i = 0; !f->name && i < sizeof common / sizeof *common; i++)
        if (!strcmp(common[i].name, with->name))
            f = &common[i];
    if (!f->name)
        return node_error(with->node, err, "%s has no field '%.80s'", w->op->name, with->name);
    struct value v;
    void *at = (char *)w + f->offset;
    if (!expr_eval(with->expr, &b->env, &v, err))
        return false;
    if (f->kind == FIELD_INT) {
        if (v.kind != VALUE_INT)
            return expr_fail(with->expr, err, "%s needs an integer", f->name);
        *(int64_t *)at = v.i;
        sides_alike(w, f->offset);
        if (f->offset == offsetof(struct work, r)) /* `kernel` is both sides */
            w->s = v.i;
        return true;
    }
    if (f->kind == FIELD_REAL || f->kind == FIELD_WORD)
        return node_error(with->node, err, "%s of %s cannot be set by a step", f->name, w->op->name);
    const char *word = v.kind == VALUE_TEXT ? v.text : "";
    int parsed = f->kind == FIELD_DTYPE    ? (int)dtype_parse(word)
                 : f->kind == FIELD_LAYOUT ? (int)layout_parse(word)
                 : f->kind == FIELD_MATH   ? (int)math_parse(word)
                                           : (int)d2s_mode_parse(word);
    if (!parsed)
        return expr_fail(with->expr, err, "'%s' is not a value of %s", expr_text(with->expr), f->name);
    switch (f->kind) {
    case FIELD_DTYPE: *(enum dtype *)at = (enum dtype)parsed; break;
    case FIELD_LAYOUT: *(enum layout *)at = (enum layout)parsed; break;
    case FIELD_MATH: *(enum math *)at = (enum math)parsed; break;
    default: *(enum d2s_mode *)at = (enum d2s_mode)parsed;
    }
    return true;
}

/* The other variant's work: this one's with the shape of its input and the fields of `with`, without epilogue (unless the step says so) and
 * mask. */
static bool inner_work(struct bind *b, const struct head_step *s, const struct variant *v, const struct buffer_ref at[OP_MAX_TENSORS],
                       struct work *w, struct error *err)
{
    *w = b->own;
    w->op = v->op;
    w->epilogue_count = s->same_epilogue ? w->epilogue_count : 0;
    w->mask = (struct mask){0};
    struct buffer_ref input = at[v->op->roles[0]->slot];
    if (input.kind == BUFFER_TENSOR)
        work_reads(w, &b->program->tensors[input.index]);
    if (!ALL_OF(i, s->with_count, set_field(b, &s->with[i], w, err)))
        return false;
    struct error finish = {0};
    if (!work_finish(w, &finish))
        return node_error(s->node, err, "the work of %s: %.900s", v->name, finish.text);
    return true;
}

bool bind_variant_step(struct bind *b, const struct head_step *s, struct error *err)
{
    struct buffer_ref at[OP_MAX_TENSORS] = {0};
    const struct variant *v = variant_find(b->set, s->name, b->h->op, s->node, err);
    if (!v)
        return false;
    if (b->depth >= BIND_MAX_DEPTH || v == b->config->variant)
        return node_error(s->node, err,
                          v == b->config->variant ? "a variant cannot be a step of itself"
                                                  : "variants as steps are nested more than %d deep",
                          BIND_MAX_DEPTH);
    for (int i = 0; v->op != b->h->op && v->op->roles[i]; i++)
        if (v->op->roles[i]->before)
            return node_error(s->node, err, "%s changes %s in place, so it cannot be a step of another op", v->op->name,
                              v->op->roles[i]->name);
    for (const struct tensor_role *const *role = v->op->roles; *role; role++) { /* tensors of the same name, unless the step says another */
        int slot = head_slot(b->h, (*role)->name);
        if (slot >= 0)
            at[(*role)->slot] = bind_buffer(b, &(struct head_buffer){.kind = BUFFER_TENSOR, .index = slot});
    }
    for (int i = 0; i < s->bind_count; i++) {
        const struct tensor_role *role = op_role(v->op, s->binds[i].tensor);
        if (!role)
            return node_error(s->binds[i].buffer.node, err, "%s has no %s", v->op->name, s->binds[i].tensor);
        at[role->slot] = bind_buffer(b, &s->binds[i].buffer);
    }
    struct work w;
    struct variant_config *config = NULL;
    struct program inner;
    if (!inner_work(b, s, v, at, &w, err))
        return false;
    bool done = bind_one_config(s, "step", v, &config, err) && b->bind(b->set, config, &w, b->chip, b->depth + 1, &inner, err);
    variant_configs_free(config, config ? 1 : 0);
    if (!done)
        return false;
    if (inner.feasible)
        return bind_embed(b, &inner, at, s->prepare, err);
    SCOPED char *clause = inner.clause ? text_format("%s: %s", v->name, inner.clause) : NULL;
    bind_refused(b, clause, "%s: %s", v->name, inner.reason);
    program_free(&inner);
    return false;
}
