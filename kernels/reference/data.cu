/* The values of inputs, made where they are used: bit for bit those of harness/op/reference/generate.c, because both mix integers and state every
 * rounding. Then conversions into a variant's type and layout, and back to a checksum over all bits. */
#include "storage.cuh"
#include "draw.h"
#define SUMMED 4 /* words of a thread at a time */

static __device__ float rounded(int type, float v)
{
    if (type == F16)
        return __half2float(__float2half_rn(v));
    if (type == BF16)
        return __bfloat162float(__float2bfloat16_rn(v));
    if (type == I8)
        return fmaxf(-127, fminf(127, rintf(v)));
    uint8_t bits;
    if (is_narrow(type))
        return (float)narrow_rounded(type, v, &bits);
    if (type == BOOL)
        return v != 0;
    if (type == U8 || type == U16 || type == I32 || type == U32 || type == I64 || type == U64)
        return fmaxf(type == I32 || type == I64 ? -0x1p24f : 0, fminf(type == U8 ? 255.f : type == U16 ? 65535.f : 0x1p24f, rintf(v))) + 0.0f;
    return v;
}

/* Full-mantissa values: normal, or their positive half. */
extern "C" __global__ void data_normal(float *to, int64_t count, uint64_t key, double scale, int rectify, int type)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        double v = draw_normal(key, (uint64_t)i);
        to[i] = rounded(type, (float)(rectify && v < 0 ? 0 : __dmul_rn(v, scale)));
    }
}

extern "C" __global__ void data_exact(float *to, int64_t count, uint64_t key, int64_t magnitude, int64_t unit, int64_t terms, int64_t nonzero,
                                      int64_t step)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = draw_exact(key, i, magnitude, unit, terms, nonzero, step);
}

/* What only ops that are files ask for: whole numbers of so many bits; else reals; where `ones` is not negative 1 with this probability, else 0. */
extern "C" __global__ void data_drawn(float *to, int64_t count, uint64_t key, int turn, int64_t bits, double low, double range, double ones, double higher, double level, int64_t length,
                                      int type)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = bits ? (float)(draw_bits(key, (uint64_t)i) >> (64 - bits))
                     : rounded(type, ones >= 0 ? draw_one(key, i, ones) : (float)draw_real(key, turn, i, low, range, higher, level, length));
}

/* Makes some values of lines special, for ops that compare them. */
extern "C" __global__ void data_lines(float *to, int64_t count, uint64_t key, int turn, draw_lines lines, float most, int of, int type)
{
    const int64_t length = draw_line_length(&lines);
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        draw_at at = draw_line_at(&lines, i);
        draw_line l = draw_compared(key, turn, at.line, length);
        to[i] = rounded(type, draw_in_line(&l, at.place, to[i], most, (draw_of)of));
    }
}

/* Makes one value of each line decide, for ops that select. */
extern "C" __global__ void data_swept(float *to, int64_t count, uint64_t key, draw_sweep s, int type)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x)
        to[i] = rounded(type, draw_in_sweep(&s, key, i, to[i]));
}

/* Zero where a mask of n x pixels says that nothing changed, and `still` here and there where it says that something did; values are n, channels, pixels. */
extern "C" __global__ void data_blank(float *values, const float *mask, int64_t n, int64_t channels, int64_t pixels, int64_t still)
{
    int64_t count = n * channels * pixels;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) {
        element e = element_of(i, channels, 1, pixels, 0, 0, 0, 0);
        int64_t pixel = e.i * pixels + e.l;
        if (mask[pixel] == 0 || (still && (draw_mix(~(uint64_t)pixel) % 8 < 3 || draw_mix((uint64_t)i) % 8 == 0)))
            values[i] = 0;
    }
}

/* Logical values (a, b, c, d; d fastest) into storage: element (i, j, k, l) lies at i * sa + j * sb + k * sc + l * sd elements. Threads go by
 * storage where the second dimension is its fastest, so that writes are whole lines. mask (a, c, d; NULL: none): NaN where it is 0. */
extern "C" __global__ void data_pack(const float *from, void *to, int type, int64_t a, int64_t b, int64_t c, int64_t d, int64_t sa, int64_t sb,
                                     int64_t sc, int64_t sd, const float *mask)
{
    int64_t count = a * b * c * d;
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count; t += (int64_t)gridDim.x * blockDim.x) {
        element e = element_of(t, b, c, d, sa, sb, sc, sd);
        float v = mask && mask[(e.i * c + e.k) * d + e.l] == 0 ? __int_as_float(0x7fc00000) : from[e.index];
        if (type == F16)
            ((__half *)to)[e.at] = __float2half_rn(v);
        else if (type == BF16)
            ((__nv_bfloat16 *)to)[e.at] = __float2bfloat16_rn(v);
        else if (type == I8)
            ((int8_t *)to)[e.at] = (int8_t)v;
        else if (type == U8)
            ((uint8_t *)to)[e.at] = (uint8_t)v;
        else if (type == U16)
            ((uint16_t *)to)[e.at] = (uint16_t)v;
        else if (type == I32)
            ((int32_t *)to)[e.at] = (int32_t)v;
        else if (type == U32)
            ((uint32_t *)to)[e.at] = (uint32_t)v;
        else if (is_narrow(type))
            narrow_store(to, type, e.at, from + e.index);
        else if (type == BOOL)
            ((uint8_t *)to)[e.at] = v != 0;
        else if (type == I64)
            ((int64_t *)to)[e.at] = (int64_t)v;
        else if (type == U64)
            ((uint64_t *)to)[e.at] = (uint64_t)v;
        else
            ((float *)to)[e.at] = v;
    }
}

/* A sum over the bits of a buffer, weighted by the position of each word: the same bits give the same sum in any order of threads. `sum`
 * begins at 0. Bytes past the last whole word count one by one. */
extern "C" __global__ void data_sum(const void *from, int64_t bytes, unsigned long long *sum)
{
    const uint64_t *words = (const uint64_t *)from;
    const int64_t count = bytes / 8, stride = (int64_t)gridDim.x * blockDim.x;
    unsigned long long own = 0;
    int64_t at = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
#pragma unroll 1
    for (; at + (SUMMED - 1) * stride < count; at += SUMMED * stride) {
        uint64_t word[SUMMED];
#pragma unroll
        for (int k = 0; k < SUMMED; k++) /* all are asked for before the first is looked at */
            word[k] = words[at + k * stride];
#pragma unroll
        for (int k = 0; k < SUMMED; k++)
            own += draw_bits(word[k], (uint64_t)(at + k * stride));
    }
#pragma unroll 1
    for (; at < count; at += stride)
        own += draw_bits(words[at], (uint64_t)at);
    if (!blockIdx.x && !threadIdx.x)
        for (int64_t i = count * 8; i < bytes; i++)
            own += draw_bits(((const uint8_t *)from)[i], (uint64_t)i);
    for (int lane = 16; lane; lane >>= 1)
        own += __shfl_xor_sync(~0u, own, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, own);
}

/* The first byte in which two buffers differ, into `first`, which begins at `bytes`. */
extern "C" __global__ void data_differ(const uint8_t *one, const uint8_t *other, int64_t bytes, unsigned long long *first)
{
    for (int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * 8; i < bytes; i += (int64_t)gridDim.x * blockDim.x * 8) {
        if (i + 8 <= bytes && *(const uint64_t *)(one + i) == *(const uint64_t *)(other + i))
            continue;
        for (int64_t k = i; k < i + 8 && k < bytes; k++)
            if (one[k] != other[k]) {
                atomicMin(first, (unsigned long long)k);
                break;
            }
    }
}

/* Some rows of logical (n, c, h, w) values, one after the other as [row][c][per][column]: row r of the result comes from image rows[r] / p,
 * lines rows[r] % p * per and following, with h = p * per. From each line the `picked` columns of the list, or all if columns is NULL. */
template <typename T>
static __device__ void gather(const T *from, T *to, const int64_t *rows, int64_t count, int64_t c, int64_t p, int64_t per, int64_t w,
                              const int64_t *columns, int64_t picked)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count * c * per * picked; t += (int64_t)gridDim.x * blockDim.x) {
        int64_t x = t % picked, line = t / picked % per, j = t / (per * picked) % c, row = rows[t / (per * picked * c)];
        to[t] = from[((((row / p) * c + j) * p + row % p) * per + line) * w + (columns ? columns[x] : x)];
    }
}

extern "C" __global__ void data_rows_f64(const double *from, double *to, const int64_t *rows, int64_t count, int64_t c, int64_t p, int64_t per,
                                         int64_t w, const int64_t *columns, int64_t picked)
{
    gather(from, to, rows, count, c, p, per, w, columns, picked);
}

extern "C" __global__ void data_rows_f32(const float *from, float *to, const int64_t *rows, int64_t count, int64_t c, int64_t p, int64_t per,
                                         int64_t w, const int64_t *columns, int64_t picked)
{
    gather(from, to, rows, count, c, p, per, w, columns, picked);
}
