/* dense/depthwise_bands: what a warp does in a depthwise convolution of NCHW tensors on tensor cores (dense/depthwise_planes.cuh). Its
 * variants:
 *   conv2d/depthwise_bulk_nchw       16-bit elements
 *   conv2d/depthwise_bulk_s8_nchw    whole numbers of 8 bits, results of 4 bytes
 *   conv2d/depthwise_bulk_tf32_nchw  f32 that is multiplied in TF32
 *
 * Needs what dense/depthwise_planes.cuh does, and PAD_LEFT, SHIFT, DEEP, HALF, PAIRS as constants. */
#pragma once
#include "dense/depthwise_planes.cuh"
#include "tensor_core/mma_s8.cuh"

/* Two neighbouring results of a line, of `left` that are still in it; PAIRS: they move together. By asm, or NVRTC stores each of two f32
 * alone. */
static __device__ __forceinline__ void store_two(const float x[2], float *to, int k, int left)
{
    float own[2] = {activate_channel(x[0], k), activate_channel(x[1], k)};
    if (PAIRS && left > 0)
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(own[0]), "f"(own[1]) : "memory");
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = own[e];
}
template <typename T> static __device__ __forceinline__ void store_two(const float x[2], T *to, int k, int left)
{
    pack<T, 2> two;
    two.word = EPI_SLOPE == 0 && !EPI_PRELU ? relu_of<T>(two_of<T>(x[0], x[1]))
                                            : two_of<T>(activate_channel(x[0], k), activate_channel(x[1], k));
    if (PAIRS && left > 0)
        store_pack<T, 2>(to, two);
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (!PAIRS && e < left)
            to[e] = two.item[e];
}

/* A loaded word as the instruction wants it. TF32 instructions cut 13 bits off; with half of the last bit that stays added to a number of
 * [1, 2), and up to all of it below 2, the error is at most 2^-11 of the number, as by rounding to nearest. One instruction, where
 * cvt.rna is five; numbers that TF32 has stay, and so do infinities and NaN. */
template <typename T> static __device__ __forceinline__ unsigned operand_of(unsigned word) { return word; }
template <> __device__ __forceinline__ unsigned operand_of<float>(unsigned word)
{
    float x = __uint_as_float(word);
    return __float_as_uint(fmaf(x, 0x1p-11f, x));
}

static __device__ __forceinline__ unsigned load_shared_if(unsigned address, unsigned there)
{
    unsigned v;
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.b32 %0, 0;\n@p ld.shared.b32 %0, [%1];\n}"
                 : "=r"(v)
                 : "r"(address), "r"(there)
                 : "memory");
    return v;
}

/* Products of 32 bytes of columns, and of 16. */
template <typename T> struct band_of {
    using type = float;
    static __device__ __forceinline__ void multiply(float sum[4], const unsigned a[4], const unsigned b[2])
    {
        multiply_16x8x16<T>(sum, a, b);
    }
    static __device__ __forceinline__ void multiply_half(float sum[4], const unsigned a[2], unsigned b) { multiply_16x8x8<T>(sum, a, b); }
};
template <> struct band_of<float> {
    using type = float;
    static __device__ __forceinline__ void multiply(float sum[4], const unsigned a[4], const unsigned b[2])
    {
        multiply_16x8x8_tf32(sum, a, b);
    }
    static __device__ __forceinline__ void multiply_half(float sum[4], const unsigned a[2], unsigned b)
    {
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(b));
    }
};
template <> struct band_of<signed char> {
    using type = int;
    static __device__ __forceinline__ void multiply(int sum[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x32(sum, a, b); }
    static __device__ __forceinline__ void multiply_half(int sum[4], const unsigned a[2], unsigned b) { multiply_16x8x16(sum, a, b); }
};

/* A line of a plane under one row of the filter as a matrix product: row m of the left operand is the columns under outputs 8 m to 8 m +
 * 7, and column n of the right one is the row of the filter, moved down by n. T: elements. DEEP: products of 32 bytes of columns, HALF:
 * and one of 16. SHIFT: columns before the first one that counts, since 4 bytes are loaded together. */
template <typename T> struct bands {
    using SUM = typename band_of<T>::type;
    static constexpr int SIZE = sizeof(T), GRAIN = 4 / SIZE, WORDS = 2 * DEEP + HALF; /* registers of a row of the filter */
    static constexpr int ACROSS = 128;
    unsigned weights[R][WORDS], at, there; /* there: a bit for each word of the lane's that is of the image */
    float own_bias;
    SUM sum[LIVE][4];

    /* q: first output, x0: column that is first in shared memory. */
    __device__ __forceinline__ bands(const T *filter, const float *bias, int k, int K, int q, int x0) : own_bias(EPI_BIAS ? bias[k] : 0.0f)
    {
        int lane = threadIdx.x % 32;
        int column = (q + lane / 4 * 8) * STRIDE_X - PAD_LEFT - SHIFT + lane % 4 * GRAIN;
        at = (column - x0) * SIZE;
        there = 0;
#pragma unroll
        for (int i = 0; i < 4 * DEEP + 2 * HALF; i++)
            there |= (unsigned)((unsigned)(column + offset(i) / SIZE) < WIDTH) << i;
#pragma unroll
        for (int j = 0; j < R * WORDS; j++) {
            pack<T, GRAIN> some;
            some.word = 0;
#pragma unroll
            for (int e = 0; e < GRAIN; e++) {
                int along = (j % WORDS * 4 + lane % 4) * GRAIN + e - SHIFT - lane / 4 * STRIDE_X, s = along / DILATION_X;
                if (along >= 0 && along % DILATION_X == 0 && s < S)
                    some.item[e] = filter[(j / WORDS * S + s) * K + k];
            }
            weights[j / WORDS][j % WORDS] = operand_of<T>(some.word);
        }
#pragma unroll
        for (int j = 0; j < LIVE * 4; j++)
            sum[j / 4][j % 4] = 0;
    }
    /* Bytes from a lane's first word to word i: those of a product are rows lane / 4 and 8 more, each 16 bytes further, too. */
    static __device__ __forceinline__ constexpr int offset(int i) { return i / 4 * 32 + i % 4 / 2 * 16 + i % 2 * 64 * STRIDE_X * SIZE; }
    __device__ __forceinline__ void add(unsigned line, int u)
    {
#pragma unroll
        for (int d = 0; d < DEEP + HALF; d++) {
            unsigned a[4];
#pragma unroll
            for (int i = 0; i < (d < DEEP ? 4 : 2); i++)
                a[i] = operand_of<T>(load_shared_if(line + at + offset(d * 4 + i), there & 1 << d * 4 + i));
#pragma unroll
            for (int r = 0; r < R; r++) {
                int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y;
                if (reach % STRIDE_Y)
                    continue;
                SUM *own = sum[reach / STRIDE_Y % LIVE];
                if (r == 0 && d == 0)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        own[e] = SIZE == 1 ? 0 : own_bias;
                if (d < DEEP)
                    band_of<T>::multiply(own, a, weights[r] + 2 * d);
                else
                    band_of<T>::multiply_half(own, a, weights[r][2 * DEEP]);
            }
        }
    }
    /* As for a line of zeros. */
    __device__ __forceinline__ void begin(int u)
    {
        int reach = u + (LIVE - 1) * STRIDE_Y;
        if (reach % STRIDE_Y == 0)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[reach / STRIDE_Y % LIVE][e] = SIZE == 1 ? 0 : own_bias;
    }
    template <typename OUT> __device__ __forceinline__ void put(int done, OUT *to, int k, int left) const
    {
        int lane = threadIdx.x % 32;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float x[2] = {(float)sum[done][half * 2], (float)sum[done][half * 2 + 1]};
            if (SIZE == 1)
                x[0] += own_bias, x[1] += own_bias;
            store_two(x, to + half * 64 + lane * 2, k, left - half * 64 - lane * 2);
        }
    }
};
