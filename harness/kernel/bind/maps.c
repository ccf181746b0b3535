/* TMA descriptors: sizes innermost first, as cuTensorMapEncodeTiled wants them, and its rules checked before a GPU sees them. */
#include "kernel/bind/bind.h"
#include "base/text.h"
#include <stdio.h>

/* Sizes of a tensor, innermost first, in the order of its storage. */
static int storage_dims(const struct tensor *t, uint64_t out[TENSOR_MAX_RANK])
{
    int axes[TENSOR_MAX_RANK];
    if (t->layout == LAYOUT_BITS || t->layout == LAYOUT_NONE)
        return 0;
    tensor_axes(t, axes);
    for (int i = 0; i < t->rank; i++)
        out[i] = (uint64_t)t->dim[axes[t->rank - 1 - i]];
    return t->rank;
}

static bool eval_list(struct bind *b, const struct expr_list *l, const char *what, int64_t least, int64_t most, int64_t out[5],
                      struct error *err)
{
    for (int i = 0; i < l->count; i++) {
        if (!expr_eval_int(l->items[i], &b->env, &out[i], err))
            return false;
        if (out[i] < least)
            return expr_fail(l->items[i], err, "%s is %lld in dimension %d; at least %lld", what, (long long)out[i], i, (long long)least);
        if (out[i] > most)
            return bind_infeasible(b, "%s: %s is %lld > %lld", what, expr_text(l->items[i]), (long long)out[i], (long long)most);
    }
    return true;
}

/* Evaluates one of four allowed numbers; the first is the default. */
static bool eval_word(struct bind *b, const struct expr *e, const char *what, const int words[4], int *out, struct error *err)
{
    int64_t v = words[0];
    if (e && !expr_eval_int(e, &b->env, &v, err))
        return false;
    for (int i = 0; i < 4; i++)
        if (v == words[i]) {
            *out = words[i];
            return true;
        }
    return expr_fail(e, err, "%s is %lld; it must be %d, %d, %d or %d", what, (long long)v, words[0], words[1], words[2], words[3]);
}

static bool check_map(struct bind *b, const struct tensor_map *m)
{
    uint64_t size = dtype_bytes(m->dtype), inner = m->box[0] * size;
    if (b->chip->cc < 90)
        return bind_infeasible(b, "tensor map %s: cc %d < 90", m->name, b->chip->cc);
    if (m->interleave == 0 && inner % 16)
        return bind_infeasible(b, "tensor map %s: the inner box has %llu bytes, which is not a multiple of 16", m->name,
                               (unsigned long long)inner);
    if (m->swizzle && inner > (uint64_t)m->swizzle)
        return bind_infeasible(b, "tensor map %s: the inner box has %llu > %d bytes (swizzle)", m->name, (unsigned long long)inner,
                               m->swizzle);
    uint64_t grain = m->interleave == 32 ? 32 : 16;
    for (int i = 1; i < m->rank; i++) {
        if (m->stride_bytes[i] % grain)
            return bind_infeasible(b, "tensor map %s: stride %d has %llu bytes, which is not a multiple of %llu", m->name, i,
                                   (unsigned long long)m->stride_bytes[i], (unsigned long long)grain);
        if (m->stride_bytes[i] >= UINT64_C(1) << 40)
            return bind_infeasible(b, "tensor map %s: stride %d has %llu bytes, 2^40 or more", m->name, i,
                                   (unsigned long long)m->stride_bytes[i]);
    }
    return true;
}

/* Checks that the last element of the descriptor lies inside the buffer. */
static bool check_reach(const struct head_map *h, const struct tensor_map *m, uint64_t bytes, struct error *err)
{
    unsigned __int128 reach = (unsigned __int128)m->dim[0] * dtype_bytes(m->dtype);
    for (int i = 1; i < m->rank; i++)
        reach += (unsigned __int128)(m->dim[i] - 1) * m->stride_bytes[i];
    return reach <= bytes ||
           node_error(h->node, err, "tensor map '%s' reaches past its buffer of %llu bytes", h->name, (unsigned long long)bytes);
}

/* Elements from one pixel to the next, if the map is of a slice. */
static uint64_t map_pitch(const struct bind *b, const struct head_map *h)
{
    const struct tensor *t = h->of.kind == BUFFER_TENSOR ? bind_tensor(b, h->of.index) : NULL;
    return t ? (uint64_t)work_pitch(&b->own, t) : 0;
}

static bool eval_geometry(struct bind *b, const struct head_map *h, struct tensor_map *m, struct error *err)
{
    int64_t box[5], dims[5], strides[5], steps[5] = {1, 1, 1, 1, 1};
    uint64_t own[TENSOR_MAX_RANK];
    int rank = h->of.kind == BUFFER_TENSOR ? storage_dims(bind_tensor(b, h->of.index), own) : 0;
    uint64_t per_byte = m->dtype == DTYPE_E2M1 ? 2 : 1, pitch = map_pitch(b, h);
    m->rank = h->box.count;
    if (pitch && (h->dims.count || h->strides.count))
        return bind_infeasible(b, "tensor map %s: the tensor is a slice, and the head gives dims or strides of its own", m->name);
    if (!h->dims.count && rank != m->rank)
        return node_error(h->box.node, err, "tensor map '%s': the box has %d dimensions, the tensor %d; give `dims:` for another view",
                          h->name, m->rank, rank);
    if (!eval_list(b, &h->box, "box", 1, 256, box, err) || !eval_list(b, &h->dims, "dims", 1, INT64_C(1) << 32, dims, err) ||
        !eval_list(b, &h->strides, "strides", 1, INT64_C(1) << 40, strides, err) ||
        !eval_list(b, &h->element_strides, "element_strides", 1, 8, steps, err))
        return false;
    for (int i = 0; i < m->rank; i++) {
        m->dim[i] = h->dims.count ? (uint64_t)dims[i] : i ? own[i] : own[i] / per_byte;
        m->box[i] = (uint32_t)box[i];
        m->element_stride[i] = (uint32_t)steps[i];
        if (i > 0) {
            uint64_t below = i > 1 ? m->stride_bytes[i - 1] : dtype_bytes(m->dtype);
            if (h->strides.count)
                m->stride_bytes[i] = (uint64_t)strides[i - 1] * dtype_bytes(m->dtype);
            else if (i == 1 && pitch)
                m->stride_bytes[i] = pitch * below;
            else if (__builtin_mul_overflow(below, m->dim[i - 1], &m->stride_bytes[i]))
                return bind_infeasible(b, "tensor map %s: stride %d is out of range", h->name, i);
        }
    }
    return true;
}

bool bind_maps(struct bind *b, struct error *err)
{
    static const int swizzles[4] = {0, 32, 64, 128}, interleaves[4] = {0, 16, 32, 32}, promotions[4] = {0, 64, 128, 256};
    struct program *p = b->program;
    for (int i = 0; i < b->h->map_count; i++) {
        const struct head_map *h = &b->h->maps[i];
        struct tensor_map m = {.buffer = bind_buffer(b, &h->of), .oob_nan = h->oob_nan};
        snprintf(m.name, sizeof m.name, "%s", h->name);
        if (m.buffer.kind == BUFFER_NONE) { /* as a pointer to it would be null */
            b->map_at[i] = ARG_NO_MAP;
            continue;
        }
        m.dtype = h->of.kind == BUFFER_TENSOR ? bind_tensor(b, h->of.index)->dtype : bind_scratch_dtype(b, h->of.index);
        if (!eval_word(b, h->swizzle, "swizzle", swizzles, &m.swizzle, err) ||
            !eval_word(b, h->interleave, "interleave", interleaves, &m.interleave, err) ||
            !eval_word(b, h->l2, "l2", promotions, &m.l2_promotion, err) || !eval_geometry(b, h, &m, err))
            return false;
        m.dtype = m.dtype == DTYPE_E2M1 ? DTYPE_U8 : m.dtype; /* its maps count bytes */
        if ((!map_pitch(b, h) && !check_reach(h, &m, bind_buffer_bytes(p, m.buffer), err)) || !check_map(b, &m))
            return false;
        b->map_at[i] = p->tensor_map_count;
        *APPEND(p->tensor_maps, p->tensor_map_count) = m;
    }
    return true;
}
