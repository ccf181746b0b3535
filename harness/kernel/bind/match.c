/* Checks types, layouts, math mode, epilogue and mask: does the variant take this work? */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include <string.h>

/* How many items from the front of the layer's epilogue the variant fuses: each must come after the previous one in the head's list. */
int bind_fused(const struct head *h, const struct work *work)
{
    int next = 0, fused = 0;
    bool activated = false;
    if (!h->checked)
        return work->epilogue_count;
    for (; fused < work->epilogue_count; fused++) {
        enum epilogue_kind kind = work->epilogue[fused].kind;
        int at = next;
        while (at < h->epilogue_count && h->epilogue[at] != kind)
            at++;
        bool scaled = kind == EPILOGUE_RESIDUAL && work->epilogue[fused].scale != 0 && work->epilogue[fused].scale != 1;
        if (at == h->epilogue_count || (epilogue_activates(kind) && activated) || (scaled && !h->scales))
            break;
        activated |= epilogue_activates(kind);
        next = at + 1;
    }
    return fused;
}

static void describe_choice(const struct head_choice *c, const char *(*name)(int), struct text *t)
{
    for (int i = 0; i < c->count; i++)
        text_addf(t, "%s%s", i ? ", " : "", name(c->values[i]));
    if (c->same)
        text_addf(t, "%sthe input's", c->count ? ", " : "");
}

static const char *layout_word(int l)
{
    return layout_name((enum layout)l);
}

static const char *dtype_word(int t)
{
    return dtype_name((enum dtype)t);
}

static bool refuse(struct bind *b, const char *key, const struct tensor *t, const char *is, const char *verb, const struct head_choice *c,
                   const char *(*name)(int))
{
    SCOPED_TEXT list = {0};
    describe_choice(c, name, &list);
    bind_infeasible(b, "%s: %s is %s, the variant %s %s", key, t->role->name, is, verb, text_get(&list));
    return false;
}

static bool contains(const struct head_choice *c, int value, int same)
{
    if (c->same && value == same)
        return true;
    return ANY_OF(i, c->count, c->values[i] == value);
}

/* Chooses the layout of one tensor: the work's own if the head allows it. Weights may be permuted, a result may be converted. */
static bool match_layout(struct bind *b, struct tensor *t, enum layout input)
{
    const struct head_choice *c = &b->h->layout[t->role->slot];
    if (!c->node || contains(c, (int)t->layout, (int)input))
        return true;
    bool convertible = t->role->result && b->h->op->task != TASK_LAYOUT && b->h->checked;
    if (!t->role->constant && !convertible)
        return refuse(b, "layout", t, layout_name(t->layout), t->written ? "writes" : "takes", c, layout_word);
    t->layout = c->count ? (enum layout)c->values[0] : input;
    return true;
}

static bool match_layouts(struct bind *b)
{
    enum layout of_input = b->tensor_count ? b->tensors[0].layout : LAYOUT_NONE;
    return ALL_OF(i, b->tensor_count, match_layout(b, &b->tensors[i], of_input));
}

static bool match_dtypes(struct bind *b)
{
    for (int i = 0; i < b->tensor_count; i++) {
        const struct tensor *t = &b->tensors[i];
        const struct head_choice *c = &b->h->dtype[t->role->slot];
        if (c->node && !contains(c, (int)t->dtype, (int)b->tensors[0].dtype))
            return refuse(b, "dtype", t, dtype_name(t->dtype), t->written ? "writes" : "takes", c, dtype_word);
    }
    return true;
}

static enum math mode_of(enum dtype dtype, enum dtype accumulate)
{
    if (dtype == DTYPE_F16 && accumulate == DTYPE_F16)
        return MATH_F16_ACC16;
    return accumulate == DTYPE_F32 ? math_default(dtype) : MATH_NONE;
}

/* Checks the math modes that the variant computes in, for this work's type. */
static int modes(const struct bind *b, enum math out[MATH_COUNT])
{
    const struct head_choice *acc = &b->h->accumulate;
    int count = 0;
    if (b->h->math_count) {
        memcpy(out, b->h->math, sizeof b->h->math);
        return b->h->math_count;
    }
    for (int i = 0; i < acc->count || (i == 0 && !acc->node); i++) {
        enum math m = mode_of(b->work->dtype, acc->node ? (enum dtype)acc->values[i] : DTYPE_F32);
        if (m != MATH_NONE && count < MATH_COUNT)
            out[count++] = m;
    }
    if (acc->same && count < MATH_COUNT && mode_of(b->work->dtype, b->work->dtype) != MATH_NONE)
        out[count++] = mode_of(b->work->dtype, b->work->dtype);
    return count;
}

static bool match_math(struct bind *b)
{
    enum math out[MATH_COUNT];
    if (b->work->math == MATH_NONE || !b->h->checked)
        return true;
    int count = modes(b, out);
    if (ANY_OF(i, count, out[i] == b->work->math))
        return true;
    SCOPED_TEXT list = {0};
    for (int i = 0; i < count; i++)
        text_addf(&list, "%s%s", i ? ", " : "", math_name(out[i]));
    bind_infeasible(b, "math: the case computes in %s, the variant in %s", math_name(b->work->math),
                    count ? text_get(&list) : "a mode without a name");
    return false;
}

/* Comes first: whether the mask takes part decides which tensors there are. */
static bool runs_with_mask(const struct head *h, const struct work *work)
{
    if (!h->mask.given || work->mask.pattern == MASK_NONE)
        return false;
    return work->mask.marks_both ? h->mask.both : work->mask.marks_output ? h->mask.output : h->mask.input;
}

static bool match_mask(struct bind *b)
{
    const struct head_mask *m = &b->h->mask;
    if (m->given && !m->optional && !b->with_mask)
        return bind_infeasible(b, "mask: the variant needs marked %s, the case %s",
                               m->input && m->output ? "pixels"
                               : m->input            ? "inputs"
                                                     : "outputs",
                               b->work->mask.pattern == MASK_NONE ? "has no mask"
                               : b->work->mask.marks_both         ? "marks both"
                               : b->work->mask.marks_output       ? "marks outputs"
                                                                  : "marks inputs");
    int left = b->work->epilogue_count - b->own.epilogue_count;
    if (b->with_mask && b->completed)
        return bind_infeasible(b, "mask: %s cannot follow a sparse output; the variant must fuse the whole epilogue",
                               left ? epilogue_name(b->work->epilogue[b->own.epilogue_count].kind) : "a change of layout");
    return true;
}

/* Lists the tensors of the part of the work that this variant does. */
static void make_own(struct bind *b)
{
    b->with_mask = runs_with_mask(b->h, b->work);
    b->own = *b->work;
    b->own.epilogue_count = bind_fused(b->h, b->work);
    if (!b->with_mask)
        b->own.mask = (struct mask){0};
    struct tensor all[OP_MAX_TENSORS];
    int count = b->own.op->tensors(&b->own, all);
    for (int i = 0; i < count; i++)
        if (!tensor_role_is_mask(all[i].role) || !all[i].written || b->h->mask.writes_output)
            b->tensors[b->tensor_count++] = all[i];
}

static bool match_needs(struct bind *b, struct error *err)
{
    return bind_conditions(b, &b->h->needs, "", err);
}

bool bind_slices(struct bind *b, struct error *err)
{
    for (int i = 0; i < b->tensor_count; i++) {
        const struct tensor *t = &b->tensors[i];
        int64_t pitch = work_pitch(&b->own, t), may = 0;
        const struct expr *e = b->h->slices[t->role->slot];
        if (!pitch)
            continue;
        if (e && !expr_eval_int(e, &b->env, &may, err))
            return false;
        if (!may || t->layout != LAYOUT_NHWC)
            return bind_infeasible(b, "%s: a slice of %lld channels, which the variant does not %s", t->role->name, (long long)pitch,
                                   t->written ? "write" : "read");
    }
    return true;
}

bool bind_match(struct bind *b, struct error *err)
{
    if (!op_has_variants_of(b->work->op, b->h->op))
        return bind_infeasible(b, "op: the case is %s, the variant %s", b->work->op->name, b->h->op->name);
    make_own(b);
    if (!match_needs(b, err) || !match_layouts(b) || !match_dtypes(b) || !match_math(b))
        return false;
    struct tensor final;
    const struct tensor *output = bind_result(b);
    b->completed = b->own.epilogue_count < b->work->epilogue_count ||
                   (output && work_tensor(b->work, output->role->name, &final) && final.layout != output->layout);
    if (b->completed)
        b->own.pitch.output = 0;
    return match_mask(b);
}
