/* dense/ragged_pixels: results go from the registers of a warpgroup, whose products have pixels as rows and output channels as columns, straight to an NHWC tensor
 * of any number of channels. The channels of 8 * JOINED columns are in such an order that those of a lane are 2 * JOINED neighbours: one store, if K is a multiple of that.
 * dense/direct_pixels.cuh, with the same calls, leaves channels in their order.
 *
 * Needs OUTPUT_T, BLOCK_K, PIXEL_BLOCKS, SQUARE_BLOCKS, TILE_W, JOINED, EVEN (the number of channels is), EPI_RESIDUAL and those of element/epilogue.cuh. */
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

#ifdef EPI_ACTIVATION
constexpr bool PAIRS = false;
#else
constexpr bool PAIRS = sizeof(OUTPUT_T) == 2 && EPI_SLOPE == 0 && !EPI_PRELU; /* relu after rounding, two at a time */
#endif

template <typename T, int V> static __device__ __forceinline__ void relu_pairs(pack<T, V> &x)
{
    unsigned *two = reinterpret_cast<unsigned *>(&x.word);
#pragma unroll
    for (int e = 0; e < V / 2; e++)
        two[e] = relu_of<T>(two[e]);
}

struct ragged_pixels {
    OUTPUT_T *output;
    const OUTPUT_T *residual;
    int P, Q;
    unsigned bias; /* shared memory: all biases, by channel */

    __device__ __forceinline__ void take(int) {}
    __device__ __forceinline__ void begin(const tensor_map *, int, int, int, int) const {}
    __device__ __forceinline__ void finish() const {}

    /* V neighbouring channels of a pixel, with what follows the products; add: the residual's. */
    template <int V> __device__ __forceinline__ pack<OUTPUT_T, V> finished(const float *sum, const float *biases, const pack<OUTPUT_T, V> &add, int k) const
    {
        float x[V];
#pragma unroll
        for (int e = 0; e < V; e++) {
            x[e] = branch(sum[e] + (EPI_BIAS ? biases[e] : 0.0f)) + (EPI_RESIDUAL ? to_f32(add.item[e]) : 0.0f);
            if (!PAIRS || V % 2)
                x[e] = activate_channel(x[e], k + e);
        }
        pack<OUTPUT_T, V> out = rounded<OUTPUT_T, V>(x);
        if constexpr (PAIRS && V % 2 == 0)
            relu_pairs(out);
        return out;
    }
    /* The same channels of a lane's two pixels of a block, where they are. */
    template <int V> __device__ __forceinline__ void put(const float (*sum)[2 * JOINED], const float *biases, OUTPUT_T *const *to, const bool *there, int first, int k) const
    {
        pack<OUTPUT_T, V> add[2];
#pragma unroll
        for (int i = 0; i < 2 && EPI_RESIDUAL; i++)
            if (there[i])
                add[i] = load_pack<OUTPUT_T, V>(residual + (to[i] - output) + first);
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (there[i])
                store_pack<OUTPUT_T, V>(to[i] + first, finished<V>(sum[i], biases, add[i], k));
    }
    /* The whole warpgroup: PIXEL_BLOCKS blocks of 64 pixels from (p0, q0) of image n on, channels from k0 on. */
    template <typename SUM>
    __device__ __forceinline__ void store(const SUM sum[PIXEL_BLOCKS][BLOCK_K / 2], const tensor_map *, const tensor_map *, int K, int k0, int n, int p0, int q0) const
    {
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4, own = k0 + lane % 4 * 2 * JOINED;
        OUTPUT_T *to[2 * PIXEL_BLOCKS];
        bool inside[2 * PIXEL_BLOCKS];
#pragma unroll
        for (int i = 0; i < 2 * PIXEL_BLOCKS; i++) { /* a lane's two pixels of each block are 8 apart */
            int block = i / 2, pixel = row + i % 2 * 8;
            int p = p0 + (SQUARE_BLOCKS ? block / ACROSS * 8 + pixel / 8 : block), q = q0 + (SQUARE_BLOCKS ? block % ACROSS * 8 + pixel % 8 : pixel);
            inside[i] = p < P && q < Q;
            to[i] = output + (((size_t)n * P + p) * Q + q) * K + own;
        }
#pragma unroll
        for (int g = 0; g < BLOCK_K / 8 / JOINED; g++) {
            constexpr int V = 2 * JOINED;
            int first = g * 8 * JOINED, k = own + first;
            float own_bias[V];
#pragma unroll
            for (int e = 0; e < V && EPI_BIAS; e += 2)
                *reinterpret_cast<float2 *>(own_bias + e) = load_shared_2(bias + (k + e) * 4);
#pragma unroll
            for (int block = 0; block < PIXEL_BLOCKS; block++) {
                float x[2][V];
                bool there[2], next[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    there[i] = inside[2 * block + i] && k < K;
                    next[i] = there[i] && k + 1 < K;
#pragma unroll
                    for (int e = 0; e < V; e++)
                        x[i][e] = (float)sum[block][4 * (g * JOINED + e / 2) + i * 2 + e % 2];
                }
                if constexpr (EVEN) {
                    put<V>(x, own_bias, to + 2 * block, there, first, k);
                } else {
                    put<1>(x, own_bias, to + 2 * block, there, first, k);
#pragma unroll
                    for (int i = 0; i < 2; i++)
                        x[i][0] = x[i][1];
                    put<1>(x, own_bias + 1, to + 2 * block, next, first + 1, k + 1);
                }
            }
        }
    }
};
