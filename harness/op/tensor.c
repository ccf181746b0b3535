#include "op/tensor.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/convert.h"
#include <string.h>

bool tensor_role_is_mask(const struct tensor_role *role)
{
    return role->layouts == 1u << LAYOUT_BITS;
}

/* The product of the sizes of the axes first .. end - 1. */
static int64_t tensor_size(const struct tensor *t, int first, int end)
{
    int64_t size = 1;
    for (int i = first; i < end; i++)
        size *= t->dim[i];
    return size;
}

size_t tensor_elements(const struct tensor *t)
{
    return (size_t)tensor_size(t, 0, t->rank);
}

void tensor_fold(const struct tensor *t, int64_t out[4])
{
    int last = t->rank - 1, first = t->layout == LAYOUT_LINEAR || t->layout == LAYOUT_BITS || t->layout == LAYOUT_NONE ? 0 : 2;
    out[0] = first && t->rank > 0 ? t->dim[0] : 1;
    out[1] = first && t->rank > 1 ? t->dim[1] : 1;
    out[2] = tensor_size(t, first, last);
    out[3] = last >= first ? t->dim[last] : 1;
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

static size_t words_per_row(const struct tensor *t)
{
    return ((size_t)t->dim[t->rank - 1] + 31) / 32;
}

size_t tensor_bytes(const struct tensor *t)
{
    if (t->layout == LAYOUT_BITS)
        return (size_t)tensor_size(t, 0, t->rank - 1) * words_per_row(t) * sizeof(uint32_t);
    return dtype_size(t->dtype, tensor_elements(t));
}

/* Every layout is an order of the four axes of tensor_fold, outermost first; 0123 is N,C,H,W and K,C,R,S itself. */
static const char *axis_order(enum layout layout)
{
    switch (layout) {
    case LAYOUT_NHWC:
    case LAYOUT_KRSC: return "\0\2\3\1";
    case LAYOUT_RSCK: return "\2\3\1\0";
    case LAYOUT_CRSK: return "\1\2\3\0";
    case LAYOUT_NCHW:
    case LAYOUT_KCRS:
    case LAYOUT_LINEAR:
    case LAYOUT_BITS:
    case LAYOUT_NONE:
    case LAYOUT_COUNT: break;
    }
    return "\0\1\2\3";
}

void tensor_axes(const struct tensor *t, int axes[TENSOR_MAX_RANK])
{
    const char *order = axis_order(t->layout);
    int count = 0;
    for (int i = 0; i < 4; i++) /* 2: everything between channel and row is folded into it */
        for (int axis = order[i]; order[i] < 3 && axis < t->rank && (axis == order[i] || order[i] == 2); axis++)
            axes[count++] = axis;
}

static void strides(const int64_t dim[4], enum layout layout, size_t stride[4])
{
    const char *order = axis_order(layout);
    size_t step = 1;
    for (int i = 3; i >= 0; i--) {
        stride[(int)order[i]] = step;
        step *= (size_t)dim[(int)order[i]];
    }
}

size_t tensor_index(const struct tensor *t, size_t logical)
{
    size_t stride[4], index = 0;
    int64_t dim[4];
    tensor_fold(t, dim);
    strides(dim, t->layout, stride);
    for (int i = 3; i >= 0; i--) {
        index += logical % (size_t)dim[i] * stride[i];
        logical /= (size_t)dim[i];
    }
    return index;
}

size_t tensor_logical(const struct tensor *t, size_t stored)
{
    size_t stride[4], index = 0;
    int64_t dim[4];
    tensor_fold(t, dim);
    strides(dim, t->layout, stride);
    for (int i = 0; i < 4; i++)
        index = index * (size_t)dim[i] + stored / stride[i] % (size_t)dim[i];
    return index;
}

void tensor_coordinates(const struct tensor *t, size_t logical, int64_t at[TENSOR_MAX_RANK])
{
    for (int i = t->rank - 1; i >= 0; i--) {
        size_t n = t->dim[i] > 0 ? (size_t)t->dim[i] : 1;
        at[i] = (int64_t)(logical % n);
        logical /= n;
    }
}

struct job {
    const struct tensor *t;
    const float *from; /* source, for packing; both NULL: unpack to `to` */
    const double *wide;
    float *to;
    char *storage;
    int64_t dim[4];
    size_t stride[4];
};

/* One row of a mask: bit x of word x / 32. Padding bits are 0. */
static void bits_row(const struct job *job, size_t row)
{
    size_t width = (size_t)job->dim[3], count = words_per_row(job->t);
    uint32_t *words = (uint32_t *)job->storage + row * count;
    for (size_t i = 0; i < count && job->from; i++) {
        uint32_t word = 0;
        for (size_t x = i * 32; x < width && x < i * 32 + 32; x++)
            word |= (uint32_t)(job->from[row * width + x] != 0) << (x % 32);
        words[i] = word;
    }
    for (size_t x = 0; x < width && job->to; x++)
        job->to[row * width + x] = (float)(words[x / 32] >> (x % 32) & 1);
}

/* Copies typed elements from every `from_step`th place to every `to_step`th. */
static void spread(size_t bytes, const char *from, size_t from_step, char *to, size_t to_step, size_t count)
{
    if (bytes == 2)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)to)[i * to_step] = ((const uint16_t *)from)[i * from_step];
    else if (bytes == 4)
        for (size_t i = 0; i < count; i++)
            ((uint32_t *)to)[i * to_step] = ((const uint32_t *)from)[i * from_step];
    else
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * to_step * bytes, from + i * from_step * bytes, bytes);
}

void tensor_row(const struct tensor *t, const void *storage, int64_t a, int64_t b, int64_t c, void *row)
{
    size_t stride[4], bytes = dtype_bytes(t->dtype);
    int64_t dim[4];
    tensor_fold(t, dim);
    strides(dim, t->layout, stride);
    size_t at = (size_t)a * stride[0] + (size_t)b * stride[1] + (size_t)c * stride[2];
    spread(bytes, (const char *)storage + dtype_offset(t->dtype, at), stride[3], row, 1, dtype_size(t->dtype, (size_t)dim[3]) / bytes);
}

/* Work is split by (outermost, third) axis: for NHWC one image row, whose storage is contiguous. */
static void move_row(void *context, int64_t index, int thread)
{
    const struct job *job = context;
    const struct tensor *t = job->t;
    if (t->layout == LAYOUT_BITS) {
        bits_row(job, (size_t)index);
        return;
    }
    size_t a = (size_t)(index / job->dim[2]), c = (size_t)(index % job->dim[2]), width = (size_t)job->dim[3], bytes = dtype_bytes(t->dtype);
    SCOPED char *row = xmalloc(width * bytes + 1);
    for (size_t b = 0; b < (size_t)job->dim[1]; b++) {
        size_t logical = ((a * (size_t)job->dim[1] + b) * (size_t)job->dim[2] + c) * width;
        char *at = job->storage + dtype_offset(t->dtype, a * job->stride[0] + b * job->stride[1] + c * job->stride[2]);
        bool dense = job->stride[3] == 1;
        if (job->from || job->wide) {
            if (job->wide)
                memcpy(dense ? at : row, job->wide + logical, width * bytes);
            else
                convert_from_float(t->dtype, job->from + logical, dense ? at : row, width);
            spread(bytes, row, 1, at, job->stride[3], dense ? 0 : width);
        } else {
            spread(bytes, at, job->stride[3], row, 1, dense ? 0 : width);
            convert_to_float(t->dtype, dense ? at : row, job->to + logical, width);
        }
    }
}

static void each_row(struct job *job)
{
    tensor_fold(job->t, job->dim);
    strides(job->dim, job->t->layout, job->stride);
    pool_for(job->dim[0] * job->dim[2], pool_threads_for((int64_t)tensor_elements(job->t), 50000), move_row, job);
}

void tensor_pack(const struct tensor *t, const float *logical, void *storage)
{
    each_row(&(struct job){.t = t, .from = logical, .storage = storage});
}

void tensor_pack_wide(const struct tensor *t, const double *logical, void *storage)
{
    each_row(&(struct job){.t = t, .wide = logical, .storage = storage});
}

void tensor_unpack(const struct tensor *t, const void *storage, float *logical)
{
    each_row(&(struct job){.t = t, .to = logical, .storage = (char *)(uintptr_t)storage});
}
