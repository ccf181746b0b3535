/* Variants inside variants: the steps of one program become steps of another, on the other's buffers. */
#include "variant/bind.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_ref(struct buffer_ref a, struct buffer_ref b)
{
    return a.kind == b.kind && a.index == b.index;
}

/* Does a step so far use this buffer? */
static bool is_used(const struct program *p, struct buffer_ref ref)
{
    for (int i = 0; i < p->step_count; i++) {
        const struct step *s = &p->steps[i];
        bool used = same_ref(s->from, ref) || same_ref(s->to, ref);
        for (int k = 0; k < ROLE_COUNT; k++)
            used |= same_ref(s->operand[k], ref);
        for (int k = 0; k < s->arg_count; k++)
            used |= s->args[k].kind == ARG_BUFFER && same_ref(s->args[k].buffer, ref);
        if (used)
            return true;
    }
    for (int i = 0; i < p->tensor_map_count; i++)
        if (same_ref(p->tensor_maps[i].buffer, ref))
            return true;
    return false;
}

/* A filter whose layout the head leaves open, and that no step has read yet, is permuted for the first one that does. */
static void suit_filter(struct bind *b, const struct tensor *t, struct buffer_ref ref)
{
    struct tensor *own = ref.kind == BUFFER_TENSOR ? &b->program->tensors[ref.index] : NULL;
    if (own && own->role == ROLE_FILTER && t->role == ROLE_FILTER && !b->h->layout[ROLE_FILTER].node && !is_used(b->program, ref))
        own->layout = t->layout;
}

/* Does the buffer hold what the inner program's tensor wants? */
static bool check_buffer(struct bind *b, const struct program *inner, const struct tensor *t, struct buffer_ref ref)
{
    const struct program *p = b->program;
    const char *name = tensor_role_name(t->role);
    if (ref.kind == BUFFER_NONE)
        return bind_infeasible(b, "%s wants `%s`, which this work does not have", inner->variant, name);
    if (ref.kind == BUFFER_TENSOR && p->tensors[ref.index].layout != t->layout)
        return bind_infeasible(b, "%s wants %s as %s, it is %s", inner->variant, name, layout_name(t->layout),
                               layout_name(p->tensors[ref.index].layout));
    enum dtype dtype = ref.kind == BUFFER_TENSOR ? p->tensors[ref.index].dtype : p->scratch[ref.index].dtype;
    if (dtype != t->dtype)
        return bind_infeasible(b, "%s wants %s as %s, it is %s", inner->variant, name, dtype_name(t->dtype), dtype_name(dtype));
    uint64_t room = bind_buffer_bytes(p, ref), want = tensor_bytes(t);
    return room == want || bind_infeasible(b, "%s wants %llu bytes of `%s`, the buffer has %llu", inner->variant, (unsigned long long)want,
                                           name, (unsigned long long)room);
}

/* Where a buffer of the inner program is in the outer one. */
static struct buffer_ref translate(const struct program *inner, const struct buffer_ref at[ROLE_COUNT], int scratch_at,
                                   struct buffer_ref ref)
{
    if (ref.kind == BUFFER_TENSOR)
        return at[inner->tensors[ref.index].role];
    if (ref.kind == BUFFER_SCRATCH)
        ref.index += scratch_at;
    return ref;
}

/* Index in p of a unit, which is taken over unless an equal one is there. */
static int adopt_unit(struct program *p, struct unit *u)
{
    for (int i = 0; i < p->unit_count; i++)
        if (unit_same(&p->units[i], u))
            return i;
    p->units = xrealloc(p->units, (size_t)(p->unit_count + 1) * sizeof *p->units);
    p->units[p->unit_count] = *u;
    *u = (struct unit){.label = xstrdup(u->label)};
    return p->unit_count++;
}

static void adopt_step(struct program *p, const struct program *inner, const struct step *from, const struct buffer_ref at[ROLE_COUNT],
                       int scratch_at, int map_at, const int *units, bool prepare)
{
    struct step *s = bind_step_new(p, from->kind, from->prepare || prepare);
    bool is_prepare = s->prepare;
    *s = *from;
    s->prepare = is_prepare;
    if (s->kind == STEP_CUDNN && !s->own_work) { /* the library is asked for the inner op */
        s->own_work = true;
        s->work = inner->work;
    }
    s->unit = units[from->unit];
    s->to = translate(inner, at, scratch_at, from->to);
    s->from = translate(inner, at, scratch_at, from->from);
    for (int i = 0; i < ROLE_COUNT; i++)
        s->operand[i] = translate(inner, at, scratch_at, from->operand[i]);
    for (int i = 0; i < s->arg_count; i++) {
        s->args[i].buffer = translate(inner, at, scratch_at, s->args[i].buffer);
        s->args[i].map += s->args[i].kind == ARG_TENSOR_MAP && s->args[i].map != ARG_NO_MAP ? map_at : 0;
    }
}

bool bind_embed(struct bind *b, struct program *inner, const struct buffer_ref at[ROLE_COUNT], bool prepare, struct error *err)
{
    struct program *p = b->program;
    bool fits = true;
    for (int i = 0; i < inner->tensor_count; i++)
        suit_filter(b, &inner->tensors[i], at[inner->tensors[i].role]);
    for (int i = 0; i < inner->tensor_count && fits; i++)
        fits = check_buffer(b, inner, &inner->tensors[i], at[inner->tensors[i].role]);
    if (fits) {
        int scratch_at = p->scratch_count, map_at = p->tensor_map_count;
        int *units = xcalloc((size_t)inner->unit_count, sizeof *units);
        for (int i = 0; i < inner->unit_count; i++)
            units[i] = adopt_unit(p, &inner->units[i]);
        for (int i = 0; i < inner->scratch_count; i++)
            bind_scratch_add(p, inner->scratch[i].name, inner->scratch[i].dtype, inner->scratch[i].elements);
        for (int i = 0; i < inner->tensor_map_count; i++) {
            p->tensor_maps = xrealloc(p->tensor_maps, (size_t)(p->tensor_map_count + 1) * sizeof *p->tensor_maps);
            p->tensor_maps[p->tensor_map_count] = inner->tensor_maps[i];
            p->tensor_maps[p->tensor_map_count++].buffer = translate(inner, at, scratch_at, inner->tensor_maps[i].buffer);
        }
        for (int i = 0; i < inner->step_count; i++)
            adopt_step(p, inner, &inner->steps[i], at, scratch_at, map_at, units, prepare);
        p->exact = p->exact && inner->exact;
        free(units);
    }
    program_free(inner);
    return fits;
}

/* One field of the other op, by the name that its scenario key has. */
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
            return expr_fail(with->expr, err, "%s wants a whole number", f->name);
        *(int64_t *)at = v.i;
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
        return expr_fail(with->expr, err, "'%s' is no word for %s", expr_text(with->expr), f->name);
    switch (f->kind) {
    case FIELD_DTYPE: *(enum dtype *)at = (enum dtype)parsed; break;
    case FIELD_LAYOUT: *(enum layout *)at = (enum layout)parsed; break;
    case FIELD_MATH: *(enum math *)at = (enum math)parsed; break;
    default: *(enum d2s_mode *)at = (enum d2s_mode)parsed;
    }
    return true;
}

/* The other variant's work: this one's, without epilogue (unless the step says so) and mask, with the shape of its input and what `with`
 * says. */
static bool inner_work(struct bind *b, const struct head_step *s, const struct variant *v, const struct buffer_ref at[ROLE_COUNT],
                       struct work *w, struct error *err)
{
    *w = b->own;
    w->op = v->op;
    w->epilogue_count = s->same_epilogue ? w->epilogue_count : 0;
    w->mask = (struct mask){0};
    if (at[ROLE_INPUT].kind == BUFFER_TENSOR) {
        const struct tensor *t = &b->program->tensors[at[ROLE_INPUT].index];
        w->n = t->dim[0];
        w->c = t->dim[1];
        w->h = t->dim[2];
        w->w = t->dim[3];
        w->layout = t->layout;
        w->dtype = t->dtype;
    }
    for (int i = 0; i < s->with_count; i++)
        if (!set_field(b, &s->with[i], w, err))
            return false;
    struct error finish = {0};
    if (!work_finish(w, &finish))
        return node_error(s->node, err, "the work of %s: %.900s", v->name, finish.text);
    return true;
}

bool bind_variant_step(struct bind *b, const struct head_step *s, struct error *err)
{
    struct buffer_ref at[ROLE_COUNT] = {0};
    const struct variant *v = variant_find(b->set, s->name, b->h->op, s->node, err);
    if (!v)
        return false;
    if (b->depth >= BIND_MAX_DEPTH || v == b->point->variant)
        return node_error(s->node, err,
                          v == b->point->variant ? "a variant cannot be a step of itself"
                                                 : "variants are steps of variants more than %d deep",
                          BIND_MAX_DEPTH);
    for (int role = 0; role < ROLE_COUNT; role++) {
        struct head_buffer own = {.kind = BUFFER_TENSOR, .index = role};
        at[role] = bind_buffer(b, &own);
    }
    for (int i = 0; i < s->bind_count; i++)
        at[s->binds[i].role] = bind_buffer(b, &s->binds[i].buffer);
    struct work w;
    struct variant_point *points = NULL;
    struct program inner;
    if (!inner_work(b, s, v, at, &w, err))
        return false;
    int count = variant_points(v, s->params, &points, err);
    if (count < 0)
        return false;
    bool done = count == 1 || node_error(s->params, err, "a step is one point of %s, not %d", v->name, count);
    done = done && bind_at_depth(b->set, &points[0], &w, b->chip, b->depth + 1, &inner, err);
    variant_points_free(points, count);
    if (!done)
        return false;
    if (inner.feasible)
        return bind_embed(b, &inner, at, s->prepare, err);
    bind_infeasible(b, "%s: %s", v->name, inner.reason);
    program_free(&inner);
    return false;
}
