/* dense/tile_product: output = filter * input as a plain matrix product in f32, with depth rows of all pixels an image, NCHW; for 1x1 filters (conv2d/k1conv), and for
 * pixels that another kernel has written out (conv2d/im2col).
 *
 * A block of MB * NB threads computes MB * MT pixels by NB * NT channels, a thread MT by NT; consecutive lanes have consecutive pixels. KB rows of both operands are
 * in shared memory at a time. VECTOR: floats of an input load, 1 or 4. Weights are [depth][channel] (transpose_filter): 4 a load. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"

constexpr int BLOCK_M = MB * MT, BLOCK_N = NB * NT, THREADS = MB * NB, IN_VECTORS = KB * BLOCK_M / VECTOR, ITEMS = (IN_VECTORS + THREADS - 1) / THREADS;

/* weights[depth][channels], zero past the last channel. */
extern "C" __global__ void __launch_bounds__(256) transpose_filter(const float *filter, float *weights, int K, int depth, int channels)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= depth * channels)
        return;
    int k = i % channels, d = i / channels;
    weights[i] = k < K ? filter[(size_t)k * depth + d] : 0.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS)
tile_product(const float *input, const float *weights, const float *bias, float *output, int images, int depth, int K, int pixels, int channels)
{
    __shared__ float4 in_vectors[KB * BLOCK_M / 4], weight_vectors[KB * BLOCK_N / 4];
    float *in = (float *)in_vectors;
    const float *weight = (const float *)weight_vectors;
    int lane_m = threadIdx.x % MB, lane_n = threadIdx.x / MB, m0 = blockIdx.x * BLOCK_M, n0 = blockIdx.y * BLOCK_N, total = images * pixels;
    const float *from[ITEMS]; /* what this thread brings, of the first rows; NULL: nothing */
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        int e = threadIdx.x + i * THREADS, row = e / (BLOCK_M / VECTOR), m = m0 + e % (BLOCK_M / VECTOR) * VECTOR;
        from[i] = e < IN_VECTORS && m < total ? input + ((size_t)(m / pixels) * depth + row) * pixels + m % pixels : nullptr;
    }
    float sum[MT][NT];
#pragma unroll
    for (int i = 0; i < MT * NT; i++)
        sum[i / NT][i % NT] = 0.0f;
    for (int d0 = 0; d0 < depth; d0 += KB) {
        __syncthreads(); /* the last rows' readers are done */
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            int e = threadIdx.x + i * THREADS;
            bool inside = from[i] && d0 + e / (BLOCK_M / VECTOR) < depth;
            if constexpr (VECTOR == 4) {
                if (e < IN_VECTORS)
                    in_vectors[e] = inside ? *(const float4 *)(from[i] + (size_t)d0 * pixels) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            } else {
                if (e < IN_VECTORS)
                    in[e] = inside ? from[i][(size_t)d0 * pixels] : 0.0f;
            }
        }
        for (int e = threadIdx.x; e < KB * BLOCK_N / 4; e += THREADS) {
            int d = d0 + e / (BLOCK_N / 4);
            weight_vectors[e] = d < depth ? ((const float4 *)weights)[((size_t)d * channels + n0) / 4 + e % (BLOCK_N / 4)] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        __syncthreads();
#pragma unroll
        for (int row = 0; row < KB; row++) {
            float a[MT], b[NT];
#pragma unroll
            for (int i = 0; i < MT; i++)
                a[i] = in[row * BLOCK_M + lane_m + i * MB];
#pragma unroll
            for (int j = 0; j < NT; j++)
                b[j] = weight[row * BLOCK_N + lane_n + j * NB];
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int j = 0; j < NT; j++)
                    sum[i][j] += a[i] * b[j];
        }
    }
#pragma unroll
    for (int i = 0; i < MT; i++) {
        int m = m0 + lane_m + i * MB;
        if (m >= total)
            break;
        float *to = output + (size_t)(m / pixels) * K * pixels + m % pixels;
#pragma unroll
        for (int j = 0; j < NT; j++) {
            int k = n0 + lane_n + j * NB;
            if (k < K)
                to[(size_t)k * pixels] = epilogue(sum[i][j], bias, k);
        }
    }
}
