/* dense/depthwise_line: sums, operands and products of a depthwise convolution whose lines come by TMA, for sm_90. Used by
 * dense/depthwise_planes.cuh (NCHW); dense/depthwise_bulk.cuh (NHWC) has its own.
 *
 * A line of the input is added to all LIVE lines of outputs that it belongs to, whose sums are in registers. Which sums these are repeats
 * after PERIOD lines, which are unrolled.
 *
 * Needs R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma_s8.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;

extern __shared__ unsigned char shared_raw[];

/* The activation of a result; one instruction for ReLU, where NaN stays. */
static __device__ __forceinline__ float activated(float x, int k)
{
    if (EPI_SLOPE != 0 || EPI_PRELU)
        return activate_channel(x, k);
    float y;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(y) : "f"(x));
    return y;
}
template <typename T> static __device__ __forceinline__ unsigned activated_two(float low, float high, int k, int next)
{
    return EPI_SLOPE == 0 && !EPI_PRELU ? relu_of<T>(two_of<T>(low, high))
                                        : two_of<T>(activate_channel(low, k), activate_channel(high, next));
}

/* A loaded word as the instruction's operand. TF32 instructions truncate 13 bits. If half of the last remaining bit is added to a number of
 * [1, 2), and up to all of it below 2, the error is at most 2^-11 of the number, as in rounding to nearest. That is one instruction where
 * cvt.rna is five; numbers that TF32 holds do not change, nor do infinities and NaN. */
template <typename T> static __device__ __forceinline__ unsigned operand_of(unsigned word) { return word; }
template <> __device__ __forceinline__ unsigned operand_of<float>(unsigned word)
{
    float x = __uint_as_float(word);
    return __float_as_uint(fmaf(x, 0x1p-11f, x));
}

/* Products of 32 bytes of depth, and of 16. Integer sums begin at the bits of the float 1.5 * 2^23, so that one subtraction makes floats of
 * them: this holds for sums below 2^22, as with r * s < 256. */
template <typename T> struct product_of {
    using SUM = float;
    static __device__ __forceinline__ void multiply(float sum[4], const unsigned a[4], const unsigned b[2])
    {
        multiply_16x8x16<T>(sum, a, b);
    }
    static __device__ __forceinline__ void multiply_half(float sum[4], const unsigned a[2], unsigned b) { multiply_16x8x8<T>(sum, a, b); }
    static __device__ __forceinline__ float begin(float bias) { return bias; }
    static __device__ __forceinline__ float end(float sum, float) { return sum; }
};
template <> struct product_of<float> {
    using SUM = float;
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
    static __device__ __forceinline__ float begin(float bias) { return bias; }
    static __device__ __forceinline__ float end(float sum, float) { return sum; }
};
template <> struct product_of<signed char> {
    using SUM = int;
    static constexpr int ZERO = 0x4b400000;
    static __device__ __forceinline__ void multiply(int sum[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x32(sum, a, b); }
    static __device__ __forceinline__ void multiply_half(int sum[4], const unsigned a[2], unsigned b) { multiply_16x8x16(sum, a, b); }
    static __device__ __forceinline__ int begin(float) { return ZERO; }
    static __device__ __forceinline__ float end(int sum, float bias) { return __int_as_float(sum) - __int_as_float(ZERO) + bias; }
};

/* A lane's word of a row of the filter as the right operand of a product: channel k of K, word w of the row, for outputs at a distance of
 * STRIDE_X that begin `shift` columns after the first one. */
template <typename T> static __device__ __forceinline__ unsigned weight_word(const T *filter, int r, int w, int shift, int k, int K)
{
    constexpr int GRAIN = 4 / sizeof(T);
    int lane = threadIdx.x % 32;
    pack<T, GRAIN> some;
    some.word = 0;
#pragma unroll
    for (int e = 0; e < GRAIN; e++) {
        int along = (w * 4 + lane % 4) * GRAIN + e - shift - lane / 4 * STRIDE_X, s = along / DILATION_X;
        if (k < K && along >= 0 && along % DILATION_X == 0 && s < S)
            some.item[e] = filter[(r * S + s) * K + k];
    }
    return operand_of<T>(some.word);
}
