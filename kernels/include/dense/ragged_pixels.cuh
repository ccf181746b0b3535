/* dense/ragged_pixels: results go from the registers of a warpgroup, whose products have pixels as rows and output channels as columns, straight to an NHWC tensor
 * of any number of channels. The channels of 8 * JOINED columns are in such an order that those of a lane are 2 * JOINED neighbours: one store, if K is a multiple of that.
 * dense/direct_pixels.cuh, with the same calls, leaves channels in their order.
 *
 * Needs OUTPUT_T, BLOCK_K, PIXEL_BLOCKS, SQUARE_BLOCKS, TILE_W, JOINED, EPI_RESIDUAL and those of element/epilogue.cuh. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int ACROSS = SQUARE_BLOCKS ? TILE_W / 8 : 1; /* blocks of pixels side by side */

/* The channel of a column: 8 * j + 2 * t + e is 2 * JOINED * t + 2 * j + e of each 8 * JOINED. */
static __device__ __forceinline__ int channel_of(int column)
{
    int o = column % (8 * JOINED);
    return column - o + o % 8 / 2 * (2 * JOINED) + o / 8 * 2 + o % 2;
}

struct ragged_pixels {
    OUTPUT_T *output;
    const OUTPUT_T *residual;
    int P, Q;
    unsigned bias; /* shared memory: all biases, by channel */

    __device__ __forceinline__ void take(int) {}
    __device__ __forceinline__ void begin(const tensor_map *, int, int, int, int) const {}
    __device__ __forceinline__ void finish() const {}

    /* V neighbouring channels of a pixel. */
    template <int V> __device__ __forceinline__ void put(const float *sum, size_t at, int k) const
    {
        float x[V];
        pack<OUTPUT_T, V> add;
        if (EPI_RESIDUAL)
            add = load_pack<OUTPUT_T, V>(residual + at);
#pragma unroll
        for (int e = 0; e < V; e++) {
            x[e] = branch(sum[e] + (EPI_BIAS ? __uint_as_float(load_shared(bias + (k + e) * 4)) : 0.0f));
            x[e] = activate(EPI_RESIDUAL ? x[e] + to_f32(add.item[e]) : x[e]);
        }
        store_pack<OUTPUT_T, V>(output + at, rounded<OUTPUT_T, V>(x));
    }
    /* The whole warpgroup: PIXEL_BLOCKS blocks of 64 pixels from (p0, q0) of image n on, channels from k0 on. */
    template <typename SUM>
    __device__ __forceinline__ void store(const SUM sum[PIXEL_BLOCKS][BLOCK_K / 2], const tensor_map *, const tensor_map *, int K, int k0, int n, int p0, int q0) const
    {
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
        for (int i = 0; i < 2 * PIXEL_BLOCKS; i++) { /* a lane's two pixels of each block are 8 apart */
            int block = i / 2, pixel = row + i % 2 * 8;
            int p = p0 + (SQUARE_BLOCKS ? block / ACROSS * 8 + pixel / 8 : block), q = q0 + (SQUARE_BLOCKS ? block % ACROSS * 8 + pixel % 8 : pixel);
            if (p >= P || q >= Q)
                continue;
            size_t at = (((size_t)n * P + p) * Q + q) * K;
#pragma unroll
            for (int g = 0; g < BLOCK_K / 8 / JOINED; g++) {
                int k = k0 + (g * 8 + lane % 4 * 2) * JOINED;
                float x[2 * JOINED];
#pragma unroll
                for (int e = 0; e < 2 * JOINED; e++)
                    x[e] = (float)sum[block][4 * (g * JOINED + e / 2) + i % 2 * 2 + e % 2];
                if (JOINED > 1 || K % 2 == 0) {
                    if (k < K)
                        put<2 * JOINED>(x, at + k, k);
                } else {
                    if (k < K)
                        put<1>(x, at + k, k);
                    if (k + 1 < K)
                        put<1>(x + 1, at + k + 1, k + 1);
                }
            }
        }
    }
};
