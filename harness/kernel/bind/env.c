/* Values of the names and functions in a head's expressions, for one configuration, work and chip. */
#include "kernel/bind/bind.h"
#include <math.h>
#include <string.h>

const struct tensor *bind_tensor(const struct bind *b, int slot)
{
    return FIRST_IN(b->tensors, i, b->tensor_count, b->tensors[i].role->slot == slot);
}

const struct tensor *bind_result(const struct bind *b)
{
    return FIRST_IN(b->tensors, i, b->tensor_count, b->tensors[i].role->result);
}

/* The type of the accumulator, from the math mode; without one, from the head. */
static enum dtype accumulator(const struct bind *b)
{
    const struct head_choice *c = &b->h->accumulate;
    if (b->own.math != MATH_NONE)
        return b->own.math == MATH_F16_ACC16 ? DTYPE_F16 : DTYPE_F32;
    return c->count ? (enum dtype)c->values[0] : c->same ? b->own.dtype : DTYPE_F32;
}

/* The type of a tensor, even if this work does not have it: a head may ask before it asks has(). */
static enum dtype tensor_dtype(const struct bind *b, int slot)
{
    const struct tensor *t = bind_tensor(b, slot);
    if (t)
        return t->dtype;
    for (const struct tensor_role *const *role = b->own.op->roles; *role; role++)
        if ((*role)->slot == slot && (*role)->dtype != DTYPE_NONE)
            return (*role)->dtype;
    return b->own.dtype;
}

enum dtype bind_scratch_dtype(const struct bind *b, int scratch)
{
    const struct head_scratch *s = &b->h->scratch[scratch];
    if (s->dtype != DTYPE_NONE)
        return s->dtype;
    return s->like < 0 ? accumulator(b) : tensor_dtype(b, s->like);
}

static bool chip_symbol(const struct chip *c, const char *name, struct value *out)
{
    const struct {
        const char *name;
        int64_t value;
    } symbols[] = {
        {"sm_count", c->sm_count},
        {"smem_per_block_optin", (int64_t)c->smem_per_block_optin},
        {"smem_per_block", (int64_t)c->smem_per_block},
        {"smem_per_sm", (int64_t)c->smem_per_sm},
        {"warp_size", c->warp_size},
        {"threads_per_block", c->threads_per_block},
        {"registers_per_sm", c->registers_per_sm},
        {"cc", c->cc},
        {"l2_bytes", (int64_t)c->l2_bytes},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!strcmp(name, symbols[i].name)) {
            *out = value_int(symbols[i].value);
            return true;
        }
    return false;
}

static bool env_name(void *context, const char *name, struct value *out, struct error *err)
{
    struct bind *b = context;
    for (int i = 0; i < b->config->count; i++)
        if (!strcmp(b->config->names[i], name)) {
            *out = b->config->values[i];
            return true;
        }
    int let = head_let_find(b->h, name); /* head_check_depends has proved that no let uses itself */
    if (let >= 0) {
        if (!b->let_known[let] && !expr_eval(b->h->lets[let].expr, &b->env, &b->lets[let], err))
            return false;
        b->let_known[let] = true;
        *out = b->lets[let];
        return true;
    }
    int column, table = head_candidates_find(b->h, name, &column);
    if (table >= 0)
        return bind_chosen(b, table, column, out, err);
    if (!strcmp(name, "follows"))
        return *out = value_int(b->own.follows), true;
    if (bind_symbol(b, name, out, err) || (!b->program->reason && chip_symbol(b->chip, name, out)))
        return true;
    if (b->program->reason)
        return false;
    if (!head_is_word(b->h->op, name) && head_scratch_find(b->h, name) < 0 && head_map_find(b->h, name) < 0)
        return false;
    *out = value_text(name);
    return true;
}

static bool find_dtype(const struct bind *b, const char *call, const char *of, enum dtype *out, struct error *err)
{
    int scratch = head_scratch_find(b->h, of);
    if (!strcmp(of, "accumulate"))
        *out = accumulator(b);
    else if (scratch >= 0)
        *out = bind_scratch_dtype(b, scratch);
    else if (head_slot(b->h, of) >= 0)
        *out = tensor_dtype(b, head_slot(b->h, of));
    else
        return error_set(err, ERROR_USAGE, "%s(%s): '%s' is neither a tensor nor a scratch buffer", call, of, of);
    return true;
}

static bool call_has(const struct bind *b, const char *item, struct value *out, struct error *err)
{
    if (!strcmp(item, "mask")) {
        *out = value_int(b->with_mask);
        return true;
    }
    int kind = epilogue_kind_of(item);
    if (kind < 0) {
        error_set(err, ERROR_USAGE, "has(%s): no item of an epilogue has that name", item);
        return error_hint(err, "the items are those of an epilogue (bias, relu, ..., 'layout' quoted), and mask");
    }
    *out = value_int(work_epilogue_find(&b->own, (enum epilogue_kind)kind) >= 0);
    return true;
}

static void call_epilogue(const struct bind *b, const char *call, struct value *out)
{
    int relu = work_epilogue_find(&b->own, EPILOGUE_RELU), leaky = work_epilogue_find(&b->own, EPILOGUE_LEAKY_RELU);
    int d2s = work_epilogue_find(&b->own, EPILOGUE_DEPTH_TO_SPACE);
    int clip = work_epilogue_find(&b->own, EPILOGUE_CLIP);
    if (!strcmp(call, "scale"))
        *out = work_scale(&b->own) == 1 ? value_int(1) : value_real(work_scale(&b->own));
    else if (!strcmp(call, "activation"))
        *out = value_text(epilogue_name(work_activation(&b->own)));
    else if (!strcmp(call, "low") || !strcmp(call, "high"))
        *out = clip < 0 ? value_int(0) : value_real(*call == 'l' ? b->own.epilogue[clip].alpha : b->own.epilogue[clip].most);
    else if (!strcmp(call, "slope"))
        *out = relu >= 0 ? value_int(0) : leaky >= 0 ? value_real(b->own.epilogue[leaky].alpha) : value_int(1);
    else if (!strcmp(call, "block"))
        *out = value_int(d2s >= 0 ? b->own.epilogue[d2s].block : 1);
    else
        *out = value_text(d2s >= 0 ? d2s_mode_name(b->own.epilogue[d2s].mode) : "none");
}

/* Of a mask in a file the density is not known: NaN, which is neither equal to anything nor less or more. */
static void call_mask(const struct mask *m, const char *name, struct value *out)
{
    bool asked = mask_pattern_keys[m->pattern] & MASK_DENSITY;
    if (!strcmp(name, "marks"))
        *out = value_text(mask_marks(m));
    else if (!strcmp(name, "pattern"))
        *out = value_text(mask_pattern_names[m->pattern]);
    else
        *out = value_real(asked ? m->density : m->pattern == MASK_FULL ? 1 : m->pattern == MASK_EMPTY ? 0 : NAN);
}

static bool env_call(void *context, const char *name, const struct value *args, int count, struct value *out, struct error *err)
{
    struct bind *b = context;
    int found = 0;
    while (head_functions[found] && strcmp(name, head_functions[found]))
        found++;
    if (!head_functions[found])
        return false;
    const char *of_all = found >= HEAD_OF_EPILOGUE ? "epilogue" : found >= HEAD_OF_MASK ? "mask" : NULL;
    if (count != 1 || args[0].kind != VALUE_TEXT)
        return error_set(err, ERROR_USAGE, "%s takes one name%s%s", name, of_all ? ": " : "", of_all ? of_all : "");
    const char *of = args[0].text;
    enum dtype dtype = DTYPE_NONE;
    if (of_all && strcmp(of, of_all))
        return error_set(err, ERROR_USAGE, "%s(%s) should be %s(%s)", name, of, name, of_all);
    if (of_all) {
        if (found >= HEAD_OF_EPILOGUE)
            call_epilogue(b, name, out);
        else
            call_mask(&b->own.mask, name, out);
        return true;
    }
    if (!strcmp(name, "has"))
        return call_has(b, of, out, err);
    if (!strcmp(name, "layout")) {
        const struct tensor *t = bind_tensor(b, head_slot(b->h, of));
        if (!t)
            return error_set(err, ERROR_USAGE, "layout(%s): this work has no such tensor", of);
        *out = value_text(layout_name(t->layout));
        return true;
    }
    if (!strcmp(name, "pitch")) {
        const struct tensor *t = bind_tensor(b, head_slot(b->h, of));
        *out = value_int(t ? work_pitch(&b->own, t) ? work_pitch(&b->own, t) : t->rank > 1 ? t->dim[1] : 1 : 0);
        return true;
    }
    if (!find_dtype(b, name, of, &dtype, err))
        return false;
    *out = !strcmp(name, "type") ? value_text(dtype_cuda(dtype)) : value_int((int64_t)dtype_bytes(dtype));
    return true;
}

void bind_env_init(struct bind *b)
{
    b->env = (struct expr_env){b, env_name, env_call, (const char *const *)b->h->names};
}
