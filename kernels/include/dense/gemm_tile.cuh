/* dense/gemm_tile: convolution as an implicit matrix product: where a tile of the left matrix (rows: output pixels, depth: taps and channels) and of the right one
 * (rows: output channels) lie in memory, for f32 tensors in NHWC and KRSC whose channels are a multiple of 4.
 *
 * The depth goes tap by tap, 16 channels a step. A thread moves pieces of 4 channels, 16 bytes: it loads those of AHEAD steps before their products, keeps them in
 * registers, and puts them into shared memory in the form that the including file multiplies. That file defines TILE_M and TILE_N (rows of both tiles) and THREADS. */
#pragma once
#include "element/epilogue.cuh"

constexpr int A_PIECES = TILE_M * 4 / THREADS, B_PIECES = TILE_N * 4 / THREADS; /* of 4 channels, a thread */
static_assert(A_PIECES * THREADS == TILE_M * 4 && B_PIECES * THREADS == TILE_N * 4, "every thread moves as many");

struct tiles {
    const float *input, *filter;
    int C, H, W, K, steps_per_tap, taps;
    int y[A_PIECES], x[A_PIECES];       /* of tap (0, 0) of the pixel of each piece */
    size_t image[A_PIECES];             /* offset of its image; y is far outside where there is no pixel */
    int k[B_PIECES];
};

static __device__ __forceinline__ void tiles_begin(tiles *t, const float *input, const float *filter, int m0, int k0, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    t->input = input;
    t->filter = filter;
    t->C = C;
    t->H = H;
    t->W = W;
    t->K = K;
    t->steps_per_tap = (C + 15) / 16;
#pragma unroll
    for (int i = 0; i < A_PIECES; i++) {
        int m = m0 + (threadIdx.x + i * THREADS) / 4, pixel = m % (P * Q);
        t->y[i] = m < N * P * Q ? pixel / Q * STRIDE_Y - pad : -(1 << 28);
        t->x[i] = pixel % Q * STRIDE_X - pad - PAD_MORE;
        t->image[i] = (size_t)(m / (P * Q)) * H * W * C;
    }
#pragma unroll
    for (int i = 0; i < B_PIECES; i++)
        t->k[i] = k0 + (threadIdx.x + i * THREADS) / 4;
}

/* Step `step` of the depth, if there is one: zero outside the image, past the last channel and past the last output channel. */
static __device__ __forceinline__ void tiles_read(const tiles *t, int step, int steps, float4 a[A_PIECES], float4 b[B_PIECES])
{
    if (step >= steps)
        return;
    int tap = step / t->steps_per_tap, c = step % t->steps_per_tap * 16 + threadIdx.x % 4 * 4, r = tap / S, s = tap % S;
    const float4 zero = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < A_PIECES; i++) {
        int y = t->y[i] + r * DILATION_Y, x = t->x[i] + s * DILATION_X;
        bool inside = y >= 0 && y < t->H && x >= 0 && x < t->W && c < t->C;
        a[i] = inside ? *reinterpret_cast<const float4 *>(t->input + t->image[i] + ((size_t)y * t->W + x) * t->C + c) : zero;
    }
#pragma unroll
    for (int i = 0; i < B_PIECES; i++)
        b[i] = t->k[i] < t->K && c < t->C ? *reinterpret_cast<const float4 *>(t->filter + ((size_t)t->k[i] * (R * S) + tap) * t->C + c) : zero;
}

/* Channels k and k + 1 of a pixel: one store where the row of K channels allows 8 bytes. */
static __device__ __forceinline__ void store_two(float *pixel, float first, float second, const float *bias, int k, int K)
{
    if (K % 2 == 0 && k < K) {
        *reinterpret_cast<float2 *>(pixel + k) = make_float2(epilogue(first, bias, k), epilogue(second, bias, k + 1));
        return;
    }
    if (k < K)
        pixel[k] = epilogue(first, bias, k);
    if (k + 1 < K)
        pixel[k + 1] = epilogue(second, bias, k + 1);
}
