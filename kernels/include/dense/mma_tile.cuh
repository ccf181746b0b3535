/* dense/mma_tile: a tile of 16 columns of outputs by mma.sync, from a halo tile and the weights of all its taps in shared memory. conv2d/mma_sync walks over all tiles,
 * mma_sync_d2s stores them as a depth_to_space, sparse_sync takes active ones; mma_sync.cu says how it works.
 *
 * Needs TYPE, C, R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, TILE_ROWS, BLOCK_K, WARP_ROWS and those of element/epilogue.cuh. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "dense/halo_tile.cuh"

#ifndef D2S_BLOCK
#define D2S_BLOCK 1 /* mma_sync_d2s has its own */
#define D2S_CRD 0
#endif

constexpr int TILE_H = (TILE_ROWS - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
constexpr int TILE_W = 15 * STRIDE_X + (S - 1) * DILATION_X + 1;
constexpr int STAGE_BYTES = TILE_H * TILE_W * PITCH;
constexpr int WEIGHT_BYTES = R * S * BLOCK_K * PITCH; /* the channels of an output channel and tap lie like those of a pixel */
constexpr int WARPS = TILE_ROWS / WARP_ROWS * (BLOCK_K / 32);
constexpr int FRAGMENT_ROWS = (WARP_ROWS - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;

extern __shared__ __align__(128) unsigned char shared[];

/* Row of the filter that makes internal channel k. They differ only when the store shuffles CRD: then k counts (dy, dx, c), the filter (c, dy, dx). */
static __device__ __forceinline__ int filter_channel(int k, int K)
{
    int depth = K / (D2S_BLOCK * D2S_BLOCK);
    return D2S_CRD ? k % depth * (D2S_BLOCK * D2S_BLOCK) + k / depth : k;
}

static __device__ __forceinline__ void load_weights(const TYPE *filter, int k0, int K)
{
    unsigned to = shared_address(shared);
    for (int i = threadIdx.x; i < R * S * BLOCK_K * PIECES; i += 32 * WARPS) {
        int piece = i % PIECES, rest = i / PIECES;
        int k = rest % BLOCK_K, tap = rest / BLOCK_K;
        int o = k % 32; /* channel 8 t + 2 j + e goes to column 8 j + 2 t + e */
        int column = k - o + o % 8 / 2 * 8 + o / 8 * 2 + o % 2;
        bool valid = k0 + k < K;
        const TYPE *from = filter + ((size_t)(valid ? filter_channel(k0 + k, K) : 0) * (R * S) + tap) * C + piece * 8;
        copy_async_16(to + (tap * BLOCK_K + column) * PITCH + piece * 16, from, valid);
    }
}

/* sum[i][j]: rows are 16 pixels of output row i of this warp, columns 8 j .. 8 j + 7 of its 32 channels. */
static __device__ __forceinline__ void multiply_tile(float sum[WARP_ROWS][4][4], unsigned pixels, unsigned weights)
{
#pragma unroll
    for (int s = 0; s < S; s++)
#pragma unroll
        for (int c = 0; c < C; c += 16) {
            unsigned a[FRAGMENT_ROWS][4];
#pragma unroll
            for (int row = 0; row < FRAGMENT_ROWS; row++)
                load_matrix_4(a[row], pixels + (row * TILE_W + s * DILATION_X) * PITCH + c * 2);
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned b[2][4];
#pragma unroll
                for (int j = 0; j < 2; j++)
                    load_matrix_4(b[j], weights + ((r * S + s) * BLOCK_K + j * 16) * PITCH + c * 2);
#pragma unroll
                for (int i = 0; i < WARP_ROWS; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        multiply_16x8x16<TYPE>(sum[i][j], a[i * STRIDE_Y + r * DILATION_Y], &b[j / 2][j % 2 * 2]);
            }
        }
}

/* Where the eight neighbouring channels k .. k + 7 of pixel (p, q) go. */
static __device__ __forceinline__ size_t place_of(int p, int q, int k, int K, int Q)
{
    if (D2S_BLOCK == 1)
        return ((size_t)p * Q + q) * K + k;
    int line = K / D2S_BLOCK; /* k counts (dy, dx, c): for one dy the channels of a pixel are neighbours in the output row */
    return (((size_t)p * D2S_BLOCK + k / line) * Q + q) * line + k % line;
}
