/* dense/ragged_pixels: results go straight from the registers of a warpgroup, whose products have pixels as rows and output channels as columns, to an NHWC tensor of any
 * number of channels. The order of the channels of 8 * JOINED columns gives each lane 2 * JOINED adjacent ones: one store, if K is a multiple of that.
 * dense/direct_pixels.cuh, with the same calls, keeps the order of channels.
 *
 * With LINE_BYTES a block has all channels of a pixel, and adjacent pixels are contiguous in memory: a warp puts 8 of them side by side in shared memory and stores them in
 * whole words. That pays for odd numbers of channels (the time of 100->65 at 270x480 falls by a fifth) and for no others.
 *
 * Needs OUTPUT_T, BLOCK_K, PIXEL_BLOCKS, SQUARE_BLOCKS, TILE_W, JOINED, EVEN (the number of channels is), LINE_BYTES, EPI_RESIDUAL and those of element/epilogue.cuh. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

#ifndef OUTPUT_PITCH
#define OUTPUT_PITCH 0 /* of a slice of channels: elements from a pixel to the next; 0: the tensor lies alone */
#endif

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
    unsigned bias;        /* shared memory: all biases, by channel */
    unsigned char *lines; /* shared memory: a line of each of eight warps, at multiples of 16 bytes */

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
    /* V neighbouring channels of a pixel to `line`; the residual lies at `to`. */
    template <int V> __device__ __forceinline__ void put_line(const float *sum, const float *biases, OUTPUT_T *to, OUTPUT_T *line, int k) const
    {
        pack<OUTPUT_T, V> add;
        if (EPI_RESIDUAL)
            add = load_pack<OUTPUT_T, V>(residual + (to - output));
        store_pack<OUTPUT_T, V>(line, finished<V>(sum, biases, add, k));
    }
    /* A lane's channels of pixel i (of two, 8 apart) of a block. to, line: its first one. */
    template <typename SUM> __device__ __forceinline__ void put_pixel(const SUM sum[BLOCK_K / 2], int i, OUTPUT_T *to, OUTPUT_T *line, int own, int K) const
    {
        constexpr int V = 2 * JOINED;
#pragma unroll
        for (int g = 0; g < BLOCK_K / 8 / JOINED; g++) {
            int first = g * 8 * JOINED, k = own + first;
            float own_bias[V], x[V];
            if (k >= K)
                break;
#pragma unroll
            for (int e = 0; e < V; e += 2) {
                if (EPI_BIAS)
                    *reinterpret_cast<float2 *>(own_bias + e) = load_shared_2(bias + (k + e) * 4);
                x[e] = (float)sum[4 * (g * JOINED + e / 2) + i * 2], x[e + 1] = (float)sum[4 * (g * JOINED + e / 2) + i * 2 + 1];
            }
            if constexpr (EVEN) {
                put_line<V>(x, own_bias, to + first, line + first, k);
            } else {
                put_line<1>(x, own_bias, to + first, line + first, k);
                if (k + 1 < K)
                    put_line<1>(x + 1, own_bias + 1, to + first + 1, line + first + 1, k + 1);
            }
        }
    }
    /* A warp's line of neighbouring pixels, `bytes` from `to` on, leaves in words that are whole but for its ends. `line` lies as `to` does in a word. */
    __device__ __forceinline__ void send(OUTPUT_T *to, const OUTPUT_T *line, int bytes) const
    {
        using word = typename bytes_of<JOINED == 4 ? 16 : 8>::type;
        using half_word = unsigned short;
        unsigned shift = JOINED == 1 ? (unsigned)(size_t)to % sizeof(word) : 0, end = shift + bytes;
        unsigned char *there = (unsigned char *)to - shift;
        const unsigned char *here = (const unsigned char *)line - shift;
        __syncwarp();
        for (unsigned at = threadIdx.x % 32 * sizeof(word); at < end; at += 32 * sizeof(word)) {
            if (JOINED > 1 || (at >= shift && at + sizeof(word) <= end))
                *reinterpret_cast<word *>(there + at) = *reinterpret_cast<const word *>(here + at);
            else
                for (unsigned e = at; e < at + sizeof(word); e += 2)
                    if (e >= shift && e < end)
                        *reinterpret_cast<half_word *>(there + e) = *reinterpret_cast<const half_word *>(here + e);
        }
        __syncwarp(); /* before the next line is put there */
    }
    /* The whole warpgroup: PIXEL_BLOCKS blocks of 64 pixels from (p0, q0) of image n on, channels from k0 on. Each warp has 16 pixels of a block: two lines of 8. */
    template <typename SUM>
    __device__ __forceinline__ void store_lines(const SUM sum[PIXEL_BLOCKS][BLOCK_K / 2], int K, int k0, int n, int p0, int q0) const
    {
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, own = lane % 4 * 2 * JOINED;
        unsigned char *place = lines + LINE_BYTES * (threadIdx.x / 32 % 8);
#pragma unroll
        for (int i = 0; i < 2 * PIXEL_BLOCKS; i++) {
            int block = i / 2, first = warp * 16 + i % 2 * 8;
            int p = p0 + (SQUARE_BLOCKS ? block / ACROSS * 8 + first / 8 : block), q = q0 + (SQUARE_BLOCKS ? block % ACROSS * 8 : first), pixels = min(Q - q, 8);
            if (p >= P || pixels <= 0)
                continue;
            OUTPUT_T *to = output + (((size_t)n * P + p) * Q + q) * K + k0;
            OUTPUT_T *line = reinterpret_cast<OUTPUT_T *>(place + (JOINED == 1 ? (unsigned)(size_t)to % 8 : 0));
            if (lane / 4 < pixels)
                put_pixel(sum[block], i % 2, to + lane / 4 * K + own, line + lane / 4 * K + own, k0 + own, K);
            send(to, line, pixels * K * (int)sizeof(OUTPUT_T));
        }
    }
    /* The whole warpgroup: PIXEL_BLOCKS blocks of 64 pixels from (p0, q0) of image n on, channels from k0 on. */
    template <typename SUM>
    __device__ __forceinline__ void store(const SUM sum[PIXEL_BLOCKS][BLOCK_K / 2], const tensor_map *, const tensor_map *, int K, int k0, int n, int p0, int q0) const
    {
        if constexpr (LINE_BYTES > 0) {
            store_lines(sum, K, k0, n, p0, q0);
            return;
        }
        int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4, own = k0 + lane % 4 * 2 * JOINED;
        OUTPUT_T *to[2 * PIXEL_BLOCKS];
        bool inside[2 * PIXEL_BLOCKS];
#pragma unroll
        for (int i = 0; i < 2 * PIXEL_BLOCKS; i++) { /* a lane's two pixels of each block are 8 apart */
            int block = i / 2, pixel = row + i % 2 * 8;
            int p = p0 + (SQUARE_BLOCKS ? block / ACROSS * 8 + pixel / 8 : block), q = q0 + (SQUARE_BLOCKS ? block % ACROSS * 8 + pixel % 8 : pixel);
            inside[i] = p < P && q < Q;
            to[i] = output + (((size_t)n * P + p) * Q + q) * (OUTPUT_PITCH ? OUTPUT_PITCH : K) + own;
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
