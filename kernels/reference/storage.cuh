/* What the kernels of this folder share: element types by their numbers in harness/base/dtype.h, and the way from a thread's number to an
 * element of a tensor. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/cstdint>

enum { F32 = 1, F16, BF16, F64, I8, U8, I32, U32, U16 };

static __device__ double roundoff(int64_t type)
{
    return type == F16 ? 0x1p-11 : type == BF16 ? 0x1p-8 : type == F32 ? 0x1p-24 : type == F64 ? 0x1p-53 : 0;
}

/* Half of the smallest number above zero: what is lost at most of a value that underflows. */
static __device__ double underflow(int64_t type)
{
    return type == F16 ? 0x1p-25 : type == BF16 ? 0x1p-134 : 0x1p-150;
}

/* A logical (a, b, c, d; d fastest) tensor whose element (i, j, k, l) lies at i * sa + j * sb + k * sc + l * sd elements of its storage.
 * Element number t of n: in logical order, but where the second dimension is the storage's fastest (sb 1) in the storage's, so that
 * neighbouring threads touch neighbouring elements. */
struct element {
    int64_t i, j, k, l, index, at; /* image, channel, row, column; logical index; place in the storage */
};
template <typename I> static __device__ void split(I t, I b, I c, I d, bool by_storage, int64_t at[4])
{
    I rest;
    if (by_storage)
        at[1] = t % b, rest = t / b, at[3] = rest % d, rest /= d, at[2] = rest % c, at[0] = rest / c;
    else
        at[3] = t % d, rest = t / d, at[2] = rest % c, rest /= c, at[1] = rest % b, at[0] = rest / b;
}
static __device__ element element_of(int64_t t, int64_t b, int64_t c, int64_t d, int64_t sa, int64_t sb, int64_t sc, int64_t sd)
{
    element e;
    int64_t at[4];
    if ((uint64_t)t >> 32 == 0 && (uint64_t)(b | c | d) >> 32 == 0) /* a division of 64 bits takes five times as long */
        split<uint32_t>((uint32_t)t, (uint32_t)b, (uint32_t)c, (uint32_t)d, sb == 1, at);
    else
        split<int64_t>(t, b, c, d, sb == 1, at);
    e.i = at[0], e.j = at[1], e.k = at[2], e.l = at[3];
    e.index = ((e.i * b + e.j) * c + e.k) * d + e.l;
    e.at = e.i * sa + e.j * sb + e.k * sc + e.l * sd;
    return e;
}
