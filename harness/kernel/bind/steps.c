/* Scratch, steps and columns of one configuration as plain numbers, and the limits of the chip. */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

#define PROGRAM_MAX_STEPS 64

static bool eval_dims(struct bind *b, const struct expr_list *l, const char *what, uint32_t out[3], struct error *err)
{
    for (int i = 0; i < 3; i++) {
        int64_t v = 1;
        if (i < l->count && !expr_eval_int(l->items[i], &b->env, &v, err))
            return false;
        if (v < 1)
            return expr_fail(l->items[i], err, "the %s is %lld in dimension %c: it must be at least 1", what, (long long)v, "xyz"[i]);
        if (v > UINT32_MAX)
            return bind_infeasible(b, "%s %s: %lld exceeds the limit of every chip", what, expr_text(l->items[i]), (long long)v);
        out[i] = (uint32_t)v;
    }
    return true;
}

/* Checks the chip's limits, which no head needs to repeat. A limit of 0 is unknown and not checked. */
static bool check_launch(struct bind *b, const struct step *s)
{
    static const uint32_t grid_most[] = {INT32_MAX, 65535, 65535}, block_most[] = {1024, 1024, 64};
    const struct chip *c = b->chip;
    for (int i = 0; i < 3; i++) {
        if (s->grid[i] > grid_most[i])
            return bind_infeasible(b, "grid of %s in %c: %u > %u", s->name, "xyz"[i], s -> grid[i], grid_most[i]);
        if (s->block[i] > block_most[i])
            return bind_infeasible(b, "block of %s in %c: %u > %u threads", s->name, "xyz"[i], s -> block[i], block_most[i]);
    }
    uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
    if (c->threads_per_block > 0 && threads > (uint64_t)c->threads_per_block)
        return bind_infeasible(b, "block of %s: %llu > %d threads (threads_per_block)", s->name, (unsigned long long)threads,
                               c->threads_per_block);
    if (c->smem_per_block_optin > 0 && s->smem > c->smem_per_block_optin)
        return bind_infeasible(b, "shared memory of %s: %u > %zu bytes (smem_per_block_optin)", s->name, s->smem, c->smem_per_block_optin);
    if (s->pdl && c->cc < 90)
        return bind_infeasible(b, "pdl of %s: cc %d < 90", s->name, c->cc);
    if (!s->cluster[0])
        return true;
    if (c->cc < 90)
        return bind_infeasible(b, "cluster of %s: cc %d < 90", s->name, c->cc);
    for (int i = 0; i < 3; i++)
        if (s->grid[i] % s->cluster[i])
            return bind_infeasible(b, "cluster of %s in %c: the grid %u is not a multiple of %u", s->name, "xyz"[i], s -> grid[i],
                                   s -> cluster[i]);
    uint64_t blocks = (uint64_t)s->cluster[0] * s->cluster[1] * s->cluster[2];
    return blocks <= 16 || bind_infeasible(b, "cluster of %s: %llu > 16 blocks", s->name, (unsigned long long)blocks);
}

static bool eval_attributes(struct bind *b, const struct head_step *s, struct step *out, struct error *err)
{
    int64_t smem = 0, carveout = -1, cooperative = 0, pdl = 0;
    if ((s->smem && !expr_eval_int(s->smem, &b->env, &smem, err)) ||
        (s->carveout && !expr_eval_int(s->carveout, &b->env, &carveout, err)) ||
        (s->cooperative && !expr_eval_int(s->cooperative, &b->env, &cooperative, err)) ||
        (s->pdl && !expr_eval_int(s->pdl, &b->env, &pdl, err)))
        return false;
    if (smem < 0)
        return expr_fail(s->smem, err, "smem is %lld bytes", (long long)smem);
    if (smem > UINT32_MAX)
        return bind_infeasible(b, "shared memory of %s: %lld > %zu bytes (smem_per_block_optin)", s->name, (long long)smem,
                               b->chip->smem_per_block_optin);
    if (s->carveout && (carveout < 0 || carveout > 100))
        return expr_fail(s->carveout, err, "the carveout is %lld %%; it must be 0 to 100", (long long)carveout);
    out->smem = (uint32_t)smem;
    out->carveout = (int)carveout;
    out->cooperative = cooperative != 0;
    out->pdl = pdl != 0;
    return !s->cluster.count || eval_dims(b, &s->cluster, "cluster", out->cluster, err);
}

static bool eval_arg(struct bind *b, const struct expr *e, struct arg *out, struct error *err)
{
    const char *name = head_argument(b->h, e);
    snprintf(out->name, sizeof out->name, "%s", expr_text(e));
    expr_place(e, &out->line, &out->column);
    out->kind = ARG_INT;
    int map = name ? head_map_find(b->h, name) : -1, scratch = name ? head_scratch_find(b->h, name) : -1;
    int slot = name ? head_slot(b->h, name) : -1;
    if (map >= 0) {
        out->kind = ARG_TENSOR_MAP;
        out->map = b->map_at[map];
        return true;
    }
    if (scratch >= 0 || slot >= 0) { /* a tensor that this work does not have is a null pointer */
        struct head_buffer of = {.kind = scratch >= 0 ? BUFFER_SCRATCH : BUFFER_TENSOR, .index = scratch >= 0 ? scratch : slot};
        out->buffer = bind_buffer(b, &of);
        out->kind = out->buffer.kind == BUFFER_NONE ? ARG_INT : ARG_BUFFER;
        return true;
    }
    struct value v;
    if (!expr_eval(e, &b->env, &v, err))
        return false;
    if (v.kind == VALUE_TEXT)
        return expr_fail(e, err, "an argument must be a buffer, a tensor map or a number, not the text '%s'", v.text);
    out->kind = v.kind == VALUE_INT ? ARG_INT : ARG_REAL;
    out->i = v.i;
    out->d = v.d;
    return true;
}

static bool bind_kernel(struct bind *b, const struct head_step *s, struct error *err)
{
    struct step *out = program_add_step(b->program, STEP_KERNEL, s->prepare);
    snprintf(out->name, sizeof out->name, "%s", s->name);
    out->file = s->node->file;
    out->line = s->node->line;
    out->column = s->node->column;
    if (!eval_dims(b, &s->grid, "grid", out->grid, err) || !eval_dims(b, &s->block, "block", out->block, err) ||
        !eval_attributes(b, s, out, err))
        return false;
    for (int i = 0; i < s->args.count; i++)
        if (!eval_arg(b, s->args.items[i], &out->args[out->arg_count++], err))
            return false;
    return check_launch(b, out);
}

/* One element of `dtype`, repeated to 32 bits. */
static bool fill_pattern(const struct expr *e, enum dtype dtype, const struct value *v, uint32_t *out, struct error *err)
{
    unsigned char bytes[8] = {0};
    size_t size = dtype_bytes(dtype);
    double d = v->kind == VALUE_INT ? (double)v->i : v->d;
    if (v->kind == VALUE_TEXT)
        return expr_fail(e, err, "fill needs a number, not the text '%s'", v->text);
    if (size == 8 && d != 0)
        return expr_fail(e, err, "a buffer of %s can only be filled with 0", dtype_name(dtype));
    if (dtype_is_whole(dtype)) {
        int64_t low = dtype == DTYPE_I8 ? INT8_MIN : dtype == DTYPE_I32 ? INT32_MIN : 0;
        int64_t high = dtype == DTYPE_BOOL ? 1 : size == 1 ? UINT8_MAX : UINT32_MAX;
        if (v->kind != VALUE_INT || v->i < low || v->i > high)
            return expr_fail(e, err, "%g does not fit a buffer of %s", d, dtype_name(dtype));
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)((uint64_t)v->i >> (8 * i));
    } else {
        dtype_set(dtype, bytes, 0, d);
    }
    for (size_t i = size; i < 4; i++)
        bytes[i] = bytes[i - size];
    memcpy(out, bytes, 4);
    return true;
}

static bool bind_fill(struct bind *b, const struct head_step *s, struct error *err)
{
    struct buffer_ref to = bind_buffer(b, &s->to);
    struct value v;
    if (to.kind == BUFFER_NONE)
        return true; /* a tensor that this layer does not have needs no filling */
    struct step *out = program_add_step(b->program, STEP_FILL, s->prepare);
    out->to = to;
    snprintf(out->name, sizeof out->name, "fill %.80s", s->name);
    enum dtype dtype = program_dtype(b->program, to);
    return expr_eval(s->fill, &b->env, &v, err) && fill_pattern(s->fill, dtype, &v, &out->fill, err);
}

static bool bind_move(struct bind *b, const struct head_step *s, struct error *err)
{
    struct buffer_ref from = bind_buffer(b, &s->from), to = bind_buffer(b, &s->to);
    bool copy = s->kind == HEAD_COPY;
    if (from.kind == BUFFER_NONE || (copy && to.kind == BUFFER_NONE))
        return node_error(s->node, err, "%s %s: this layer has no such tensor; add `when: has(...)`", copy ? "copy" : "symbol", s->name);
    struct step *out = program_add_step(b->program, copy ? STEP_COPY : STEP_SYMBOL, s->prepare);
    snprintf(out->name, sizeof out->name, "%s %.80s", copy ? "copy" : "symbol", s->name);
    out->from = from;
    out->bytes = bind_buffer_bytes(b->program, from);
    if (!copy) {
        snprintf(out->symbol, sizeof out->symbol, "%s", s->name);
        return true;
    }
    out->to = to;
    uint64_t room = bind_buffer_bytes(b->program, to);
    if (room != out->bytes && b->h->checked)
        return node_error(s->node, err, "copy: the buffers have %llu and %llu bytes", (unsigned long long)room,
                          (unsigned long long)out->bytes);
    if (room < out->bytes) /* the baseline `copy` of an op that changes the size */
        out->bytes = room;
    return true;
}

/* Passes a library every tensor of the part of the work that the variant does. */
static struct step *bind_operands(struct bind *b, const struct head_step *s, enum step_kind kind)
{
    struct step *out = program_add_step(b->program, kind, s->prepare);
    snprintf(out->name, sizeof out->name, "%s", kind == STEP_CUDNN ? "cudnn" : s->name);
    out->cudnn_epilogue = b->own.epilogue_count;
    for (int i = 0; i < b->tensor_count; i++) {
        const struct tensor *t = &b->tensors[i];
        out->operand[t->role->slot] = bind_buffer(b, &(struct head_buffer){.kind = BUFFER_TENSOR, .index = t->role->slot});
        out->operand_layout[t->role->slot] = t->layout;
        out->operand_pitch[t->role->slot] = work_pitch(&b->own, t);
    }
    return out;
}

/* Passes a foreign function the head's scratch as workspaces. */
static bool bind_call(struct bind *b, const struct head_step *s)
{
    struct step *out = bind_operands(b, s, STEP_CALL);
    for (int i = 0; i < b->h->scratch_count && i < STEP_MAX_ARGS; i++) {
        struct arg *a = &out->args[out->arg_count++];
        *a = (struct arg){.kind = ARG_BUFFER, .buffer = {.kind = BUFFER_SCRATCH, .index = b->scratch_at + i}};
        snprintf(a->name, sizeof a->name, "%s", b->h->scratch[i].name);
    }
    return true;
}

static bool bind_one(struct bind *b, const struct head_step *s, struct error *err)
{
    int64_t when = 1;
    if (s->when && !expr_eval_int(s->when, &b->env, &when, err))
        return false;
    if (!when)
        return true;
    switch (s->kind) {
    case HEAD_KERNEL: return bind_kernel(b, s, err);
    case HEAD_FILL: return bind_fill(b, s, err);
    case HEAD_COPY:
    case HEAD_SYMBOL: return bind_move(b, s, err);
    case HEAD_CUDNN: return bind_operands(b, s, STEP_CUDNN) != NULL;
    case HEAD_VARIANT: return bind_variant_step(b, s, err);
    case HEAD_CALL: return bind_call(b, s);
    case HEAD_STAGES: return bind_spans(b, s, err);
    case HEAD_PYTHON: break; /* such a head is bound as a whole: bind_python */
    }
    return false;
}

bool bind_steps(struct bind *b, struct error *err)
{
    for (int i = 0; i < b->h->step_count; i++) {
        const struct head_step *s = &b->h->steps[i];
        int from = b->program->step_count;
        if (!bind_one(b, s, err) || !bind_check_prepare(b, s, from, err))
            return false;
        if (s->kind != HEAD_STAGES && b->program->step_count > PROGRAM_MAX_STEPS) /* also limits the cost of variants within variants */
            return node_error(s->node, err, "the program has more than %d steps", PROGRAM_MAX_STEPS);
    }
    return ANY_OF(i, b->program->step_count, !b->program->steps[i].prepare) ||
           node_error(b->h->steps[b->h->step_count - 1].node, err, "no step is left: every `when:` is false");
}

bool bind_columns(struct bind *b, struct error *err)
{
    for (int i = 0; i < b->h->column_count; i++) {
        const struct head_column *c = &b->h->columns[i];
        struct buffer_ref ref = bind_buffer(b, &c->of);
        int64_t element;
        if (ref.kind == BUFFER_NONE)
            continue; /* absent, as the tensor is */
        if (!expr_eval_int(c->element, &b->env, &element, err))
            return false;
        enum dtype dtype = program_dtype(b->program, ref);
        uint64_t count = bind_buffer_bytes(b->program, ref) / dtype_bytes(dtype) * (dtype_inside(dtype, 1) + 1);
        if (element < 0 || (uint64_t)element >= count)
            return expr_fail(c->element, err, "column '%s': element %lld of a buffer of %llu", c->name, (long long)element,
                             (unsigned long long)count);
        struct program *p = b->program;
        struct program_column *out = APPEND(p->columns, p->column_count);
        *out = (struct program_column){.buffer = ref, .element = element};
        snprintf(out->name, sizeof out->name, "%s", c->name);
    }
    return true;
}
