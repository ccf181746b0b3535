/* What the kernels of this folder share: the numbers of element types (harness/base/dtype.h), and the element of a tensor that a thread
 * has. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/cstdint>

enum { F32 = 1, F16, BF16, F64, I8, U8, I32, U32, U16, E4M3, E5M2, I64, U64, BOOL, E2M1, E8M0 };

static __device__ double roundoff(int64_t type)
{
    return type == F16    ? 0x1p-11
           : type == BF16 ? 0x1p-8
           : type == F32  ? 0x1p-24
           : type == F64  ? 0x1p-53
           : type == E4M3 ? 0x1p-4
           : type == E5M2 ? 0x1p-3
           : type == E2M1 ? 0x1p-2
           : type == E8M0 ? 0x1p-2
                          : 0;
}

/* Half of the smallest number above zero: what is lost at most of a value that underflows. */
static __device__ double underflow(int64_t type)
{
    return type == F16 ? 0x1p-25 : type == BF16 ? 0x1p-134 : type == E4M3 ? 0x1p-10 : type == E5M2 ? 0x1p-17 : type == E2M1 ? 0x1p-2 : type == E8M0 ? 0 : 0x1p-150;
}

/* The narrow floats: e4m3 has 3 bits of mantissa and a bias of 7, e5m2 2 bits and 15, e2m1 1 bit and 1; e8m0 is an exponent alone, with a bias of 127. */
static __device__ bool is_narrow(int type)
{
    return type == E4M3 || type == E5M2 || type == E2M1 || type == E8M0;
}
static __device__ int mantissa_of(int type)
{
    return type == E4M3 ? 3 : type == E5M2 ? 2 : 1;
}
static __device__ int bias_of(int type)
{
    return type == E4M3 ? 7 : type == E5M2 ? 15 : 1;
}
static __device__ double most_of(int type)
{
    return type == E4M3 ? 448 : type == E5M2 ? 57344 : 6;
}

static __device__ double narrow_value(int type, uint8_t bits)
{
    const double nan = __longlong_as_double(0x7ff8000000000000);
    if (type == E8M0)
        return bits == 255 ? nan : ldexp(1., bits - 127);
    int mantissa = mantissa_of(type), bias = bias_of(type), sign = type == E2M1 ? 8 : 0x80, field = bits & (sign - 1), e = field >> mantissa,
        m = field & ((1 << mantissa) - 1);
    double v = e ? ldexp((double)((1 << mantissa) + m), e - bias - mantissa) : ldexp((double)m, 1 - bias - mantissa);
    if (v > most_of(type))
        v = type == E5M2 && !m ? __longlong_as_double(0x7ff0000000000000) : nan;
    return bits & sign ? -v : v;
}

/* Rounds to nearest even, up to the largest number; *bits: as it is stored. e8m0: the nearest power of two of the magnitude. */
static __device__ double narrow_rounded(int type, double v, uint8_t *bits)
{
    if (type == E8M0) {
        double a = fmax(fmin(fabs(v), 0x1p127), 0x1p-127);
        int e = ilogb(a);
        *bits = isnan(v) ? 255 : e + (ldexp(a, -e) >= 1.5) + 127;
        return narrow_value(type, *bits);
    }
    int mantissa = mantissa_of(type), bias = bias_of(type), one = 1 << mantissa;
    double a = fmin(fabs(v), most_of(type));
    int e = a > 0 ? ilogb(a) : 1 - bias;
    e = e < 1 - bias ? 1 - bias : e;
    int units = (int)rint(ldexp(a, mantissa - e));
    uint8_t sign = __double_as_longlong(v) >= 0 ? 0 : type == E2M1 ? 8 : 0x80;
    *bits = isnan(v) ? (type == E2M1 ? 7 : 0x7f | sign) : sign | (units < one ? units : ((e + bias) << mantissa) + units - one); /* a carry goes into the exponent */
    return isnan(v) && type != E2M1 ? v : narrow_value(type, *bits);
}

/* Element `at` of a tensor of narrow floats. */
static __device__ double narrow_at(const void *storage, int type, int64_t at)
{
    const uint8_t *bytes = (const uint8_t *)storage;
    return narrow_value(type, type == E2M1 ? bytes[at / 2] >> 4 * (at % 2) & 15 : bytes[at]);
}
/* Stores element `at`, of value v[0]. Two of e2m1 share a byte, which the even one writes: v[1] is the value of the next. */
static __device__ void narrow_store(void *storage, int type, int64_t at, const float *v)
{
    uint8_t bits, next = 0;
    if (type == E2M1 && at % 2)
        return;
    narrow_rounded(type, v[0], &bits);
    if (type == E2M1)
        narrow_rounded(type, v[1], &next);
    ((uint8_t *)storage)[type == E2M1 ? at / 2 : at] = bits | next << 4;
}

/* A logical (a, b, c, d; d fastest) tensor whose element (i, j, k, l) is at i * sa + j * sb + k * sc + l * sd elements of its storage.
 * Element number t of n: in logical order, but if the second dimension is the storage's fastest (sb 1), in the storage's order, so that
 * consecutive threads access consecutive elements. */
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
