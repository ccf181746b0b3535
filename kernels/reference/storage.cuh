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
    return type == F16 ? 0x1p-25 : 0x1p-150;
}

/* A logical (a, b, c, d; d fastest) tensor whose element (i, j, k, l) lies at i * sa + j * sb + k * sc + l * sd elements of its storage.
 * Element number t of n: in logical order, but where the second dimension is the storage's fastest (sb 1) in the storage's, so that
 * neighbouring threads touch neighbouring elements. */
struct element {
    int64_t i, k, l, index, at; /* image, row, column; logical index; place in the storage */
};
static __device__ element element_of(int64_t t, int64_t b, int64_t c, int64_t d, int64_t sa, int64_t sb, int64_t sc, int64_t sd)
{
    element e;
    int64_t j;
    if (sb == 1)
        j = t % b, e.l = t / b % d, e.k = t / (b * d) % c;
    else
        e.l = t % d, e.k = t / d % c, j = t / (c * d) % b;
    e.i = t / (b * c * d);
    e.index = ((e.i * b + j) * c + e.k) * d + e.l;
    e.at = e.i * sa + j * sb + e.k * sc + e.l * sd;
    return e;
}
