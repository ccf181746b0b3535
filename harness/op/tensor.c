#include "op/tensor.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/convert.h"
#include <stdlib.h>
#include <string.h>

const char *tensor_role_name(enum tensor_role role)
{
    static const char *const names[ROLE_COUNT] = {"input",  "filter", "bias",   "residual", "mask_in",    "mask_out",
                                                  "output", "links",  "stored", "second",   "mask_second"};
    return role >= 0 && role < ROLE_COUNT ? names[role] : "none";
}

size_t tensor_elements(const struct tensor *t)
{
    return (size_t)t->dim[0] * (size_t)t->dim[1] * (size_t)t->dim[2] * (size_t)t->dim[3];
}

static size_t words_per_row(const struct tensor *t)
{
    return ((size_t)t->dim[3] + 31) / 32;
}

size_t tensor_bytes(const struct tensor *t)
{
    if (t->layout == LAYOUT_BITS)
        return (size_t)t->dim[0] * (size_t)t->dim[2] * words_per_row(t) * sizeof(uint32_t);
    return tensor_elements(t) * dtype_bytes(t->dtype);
}

/* Every layout is an order of the four logical axes, outermost first; 0123 is N,C,H,W and K,C,R,S itself. */
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

static void strides(const struct tensor *t, size_t stride[4])
{
    const char *order = axis_order(t->layout);
    size_t step = 1;
    for (int i = 3; i >= 0; i--) {
        stride[(int)order[i]] = step;
        step *= (size_t)t->dim[(int)order[i]];
    }
}

size_t tensor_index(const struct tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    size_t stride[4];
    strides(t, stride);
    return (size_t)a * stride[0] + (size_t)b * stride[1] + (size_t)c * stride[2] + (size_t)d * stride[3];
}

void tensor_coordinates(const struct tensor *t, size_t logical, int64_t at[4])
{
    for (int i = 3; i >= 0; i--) {
        size_t n = t->dim[i] > 0 ? (size_t)t->dim[i] : 1;
        at[i] = (int64_t)(logical % n);
        logical /= n;
    }
}

struct job {
    const struct tensor *t;
    const float *from;
    float *to;
    char *storage;
    size_t stride[4];
};

/* One (image, row) of a mask: bit x of word x / 32. Padding bits are 0. */
static void pack_bits(const struct job *job, size_t row)
{
    size_t width = (size_t)job->t->dim[3], words = words_per_row(job->t);
    const float *from = job->from + row * width;
    uint32_t *to = (uint32_t *)job->storage + row * words;
    for (size_t i = 0; i < words; i++) {
        uint32_t word = 0;
        for (size_t x = i * 32; x < width && x < i * 32 + 32; x++)
            word |= (uint32_t)(from[x] != 0) << (x % 32);
        to[i] = word;
    }
}

static void unpack_bits(const struct job *job, size_t row)
{
    size_t width = (size_t)job->t->dim[3];
    const uint32_t *from = (const uint32_t *)job->storage + row * words_per_row(job->t);
    for (size_t x = 0; x < width; x++)
        job->to[row * width + x] = (float)(from[x / 32] >> (x % 32) & 1);
}

/* Scatters a typed row into the storage, `step` elements apart. */
static void scatter(size_t bytes, const void *row, char *storage, size_t at, size_t step, size_t count)
{
    if (bytes == 2) {
        const uint16_t *from = row;
        uint16_t *to = (uint16_t *)storage + at;
        for (size_t i = 0; i < count; i++)
            to[i * step] = from[i];
    } else if (bytes == 4) {
        const uint32_t *from = row;
        uint32_t *to = (uint32_t *)storage + at;
        for (size_t i = 0; i < count; i++)
            to[i * step] = from[i];
    } else {
        for (size_t i = 0; i < count; i++)
            memcpy(storage + (at + i * step) * bytes, (const char *)row + i * bytes, bytes);
    }
}

static void gather(size_t bytes, const char *storage, size_t at, size_t step, void *row, size_t count)
{
    if (bytes == 2) {
        const uint16_t *from = (const uint16_t *)storage + at;
        uint16_t *to = row;
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * step];
    } else if (bytes == 4) {
        const uint32_t *from = (const uint32_t *)storage + at;
        uint32_t *to = row;
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * step];
    } else {
        for (size_t i = 0; i < count; i++)
            memcpy((char *)row + i * bytes, storage + (at + i * step) * bytes, bytes);
    }
}

void tensor_row(const struct tensor *t, const void *storage, int64_t a, int64_t b, int64_t c, void *row)
{
    size_t stride[4];
    strides(t, stride);
    gather(dtype_bytes(t->dtype), storage, (size_t)a * stride[0] + (size_t)b * stride[1] + (size_t)c * stride[2], stride[3], row,
           (size_t)t->dim[3]);
}

/* Work is split by (outermost, third) axis: for NHWC one image row, whose storage is contiguous. */
static void pack_row(void *context, int64_t index, int thread)
{
    const struct job *job = context;
    const struct tensor *t = job->t;
    if (t->layout == LAYOUT_BITS) {
        pack_bits(job, (size_t)index);
        return;
    }
    size_t a = (size_t)(index / t->dim[2]), c = (size_t)(index % t->dim[2]), width = (size_t)t->dim[3], bytes = dtype_bytes(t->dtype);
    char *row = xmalloc(width * bytes + 1);
    for (size_t b = 0; b < (size_t)t->dim[1]; b++) {
        size_t at = a * job->stride[0] + b * job->stride[1] + c * job->stride[2];
        const float *from = job->from + ((a * (size_t)t->dim[1] + b) * (size_t)t->dim[2] + c) * width;
        if (job->stride[3] == 1) {
            convert_from_float(t->dtype, from, job->storage + at * bytes, width);
            continue;
        }
        convert_from_float(t->dtype, from, row, width);
        scatter(bytes, row, job->storage, at, job->stride[3], width);
    }
    free(row);
}

static void unpack_row(void *context, int64_t index, int thread)
{
    const struct job *job = context;
    const struct tensor *t = job->t;
    if (t->layout == LAYOUT_BITS) {
        unpack_bits(job, (size_t)index);
        return;
    }
    size_t a = (size_t)(index / t->dim[2]), c = (size_t)(index % t->dim[2]), width = (size_t)t->dim[3], bytes = dtype_bytes(t->dtype);
    char *row = xmalloc(width * bytes + 1);
    for (size_t b = 0; b < (size_t)t->dim[1]; b++) {
        size_t at = a * job->stride[0] + b * job->stride[1] + c * job->stride[2];
        gather(bytes, job->storage, at, job->stride[3], row, width);
        convert_to_float(t->dtype, row, job->to + ((a * (size_t)t->dim[1] + b) * (size_t)t->dim[2] + c) * width, width);
    }
    free(row);
}

/* Threads cost more than small tensors take. */
static int threads_for(const struct tensor *t)
{
    return tensor_elements(t) < 100000 ? 1 : 0;
}

void tensor_pack(const struct tensor *t, const float *logical, void *storage)
{
    struct job job = {.t = t, .from = logical, .storage = storage};
    strides(t, job.stride);
    pool_for(t->dim[0] * t->dim[2], threads_for(t), pack_row, &job);
}

void tensor_unpack(const struct tensor *t, const void *storage, float *logical)
{
    struct job job = {.t = t, .to = logical, .storage = (char *)storage};
    strides(t, job.stride);
    pool_for(t->dim[0] * t->dim[2], threads_for(t), unpack_row, &job);
}
