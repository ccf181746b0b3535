/* dense/staged_store: the results of a warpgroup, 64 output channels by PIXELS pixels of one image row, go to the tensor through shared memory and TMA.
 *
 * If registers were stored directly, a row of results would be 32 instructions a thread, each of which touches four lines, and the stores would take longer than the
 * row's products. Here a warp writes four 8x8 blocks with one stmatrix, transposed for NHWC, and one thread starts the copy of the whole row. TMA drops what lies past
 * the last pixel or channel.
 *
 * The staging area has the layout of TMA's boxes, swizzled so that the eight rows of an 8x8 block lie in different banks:
 *   NHWC  [64 / BOX][PIXELS][BOX channels]; BOX is 64, or for depth_to_space what divides its lines
 *   NCHW  [PIXELS / 64][64 channels][64 pixels]
 * A residual comes the other way into the same place: each warp reads the blocks that it is going to overwrite. With RESIDUAL_AHEAD there are two such areas, and the
 * next row's residual is asked for while this row is multiplied.
 *
 * Needs TYPE, EPI_RESIDUAL and those of element/epilogue.cuh. With D2S_BLOCK the store is a depth_to_space as well; mma_sync_d2s.cu says why that is free: the B * B * C'
 * channels of a pixel are B lines of B * C' neighbours, so the output is [n][p * B][q][line]. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

#ifndef NCHW
#define NCHW 0
#endif
#ifndef D2S_BLOCK
#define D2S_BLOCK 1
#define D2S_CRD 0
#define STORE_BOX 64
#endif
#ifndef RESIDUAL_AHEAD
#define RESIDUAL_AHEAD 0
#endif
constexpr int STORE_AREAS = EPI_RESIDUAL && RESIDUAL_AHEAD ? 2 : 1; /* that rows take in turn */

/* Row of the filter, and place of the bias, of internal channel k; see mma_sync_d2s.cu. */
static __device__ __forceinline__ int filter_channel(int k, int K)
{
    int depth = K / (D2S_BLOCK * D2S_BLOCK);
#ifdef COLLAPSED
    return k % depth; /* one bias for all phases of an output channel */
#endif
    return D2S_CRD ? k % depth * (D2S_BLOCK * D2S_BLOCK) + k / depth : k;
}

template <int PIXELS> struct staged_rows {
    static constexpr int BYTES = PIXELS * 128; /* of one area */
    static constexpr int SOON = 2;                        /* fours of a residual's blocks that are in registers before their sums are needed */
    static constexpr int ROW = NCHW ? 128 : STORE_BOX * 2; /* bytes, of a box */
    unsigned area, come;                                   /* shared memory: the first staging area and, with a residual, the first barrier; 8 bytes each */
    int k0, group;                                         /* first channel; which warpgroup, of those that call with its own area */

    /* Where this lane's row of the first four blocks lies. Block m: channels 8 * (m % 2) of the warp's 16, pixels 8 * (m / 2). */
    __device__ __forceinline__ unsigned first_block(unsigned area) const
    {
        int m = threadIdx.x % 32 / 8, row = threadIdx.x % 8, channel = threadIdx.x / 32 % 4 * 16 + m % 2 * 8, pixel = m / 2 * 8;
        unsigned at = NCHW ? (channel + row) * ROW + pixel * 2 : channel / STORE_BOX * (PIXELS * ROW) + (pixel + row) * ROW + channel % STORE_BOX * 2;
        return area + (at ^ (at >> 3 & ROW - 16)); /* TMA's swizzle of boxes with 128, 64 or 32 bytes a row */
    }
    /* Of the blocks at pixel 8 j and 8 (j + 1), j even. */
    __device__ __forceinline__ unsigned block(unsigned first, int j) const
    {
        return NCHW ? (first ^ j % 8 * 16) + j / 8 * (64 * 128) : first + j * 8 * ROW;
    }

    static __device__ __forceinline__ void load_blocks(unsigned m[4], unsigned at)
    {
        if (NCHW)
            load_matrix_4(m, at);
        else
            load_matrix_4_transposed(m, at);
    }

    /* Moves the boxes of a row; `load`: the residual into the area, else the area into the tensor. */
    __device__ __forceinline__ void boxes(bool load, unsigned row, const tensor_map *map, int K, int image, int p, int q) const
    {
        constexpr int count = NCHW ? PIXELS / 64 : 64 / STORE_BOX;
        int line = K / D2S_BLOCK;
#pragma unroll
        for (int i = 0; i < count; i++) {
            int k = k0 + (NCHW ? 0 : i * STORE_BOX);
            unsigned at = area + row % STORE_AREAS * BYTES + i * (BYTES / count);
            int x0 = NCHW ? q + i * 64 : D2S_BLOCK == 1 ? k : k % line, x1 = NCHW ? p : q, x2 = NCHW ? k : D2S_BLOCK == 1 ? p : p * D2S_BLOCK + k / line;
            if (load)
                copy_box_4d(at, map, come + row % STORE_AREAS * 8, x0, x1, x2, image);
            else if (k < K)
                store_box_4d(map, at, x0, x1, x2, image);
        }
    }

    /* Loads the residual of the warpgroup's row, before its products or, with two areas, one row earlier. Always the same thread. `row`: the number among the
     * warpgroup's own rows, modulo 2 STORE_AREAS. */
    __device__ __forceinline__ void ask_residual(const tensor_map *map, int K, int image, int p, int q, unsigned row) const
    {
        store_wait_read(); /* of the row that had the area before, or of both */
        barrier_arrive_expect(come + row % STORE_AREAS * 8, BYTES);
        boxes(true, row, map, K, image, p, q);
    }

    /* Until the area is free, or the residual is there. The whole warpgroup, before put(), best while products are made. The first blocks of the residual. */
    __device__ __forceinline__ void ready(unsigned row, unsigned residual[SOON][4]) const
    {
        if (!EPI_RESIDUAL) {
            if (threadIdx.x % 128 == 0)
                store_wait_read(); /* of the row before */
            warpgroup_sync(group);
            return;
        }
        barrier_wait(come + row % STORE_AREAS * 8, STORE_AREAS == 1 ? row : row / 2);
        unsigned first = first_block(area + row % STORE_AREAS * BYTES);
#pragma unroll
        for (int i = 0; i < SOON; i++)
            load_blocks(residual[i], block(first, 2 * i));
    }

    /* After the products. The whole warpgroup. bias: of the lane's two channels. */
    __device__ __forceinline__ void put(const float sum[PIXELS / 2], const float bias[2], unsigned residual[SOON][4], const tensor_map *map, int K, int image, int p, int q,
                                        unsigned row) const
    {
        unsigned first = first_block(area + row % STORE_AREAS * BYTES);
        int channel = k0 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
        const float slope[2] = {slope_of(channel), slope_of(channel + 8)};
#pragma unroll
        for (int j = 0; j < PIXELS / 8; j += 2) {
            unsigned at = block(first, j), m[4];
            pack<TYPE, 2> add[4];
            if (EPI_RESIDUAL) { /* of blocks that this warp alone reads and overwrites: later ones can be read before earlier ones are written */
#pragma unroll
                for (int i = 0; i < 4; i++)
                    add[i].word = residual[j / 2 % SOON][i];
                if (j + 2 * SOON < PIXELS / 8)
                    load_blocks(residual[j / 2 % SOON], block(first, j + 2 * SOON));
            }
#pragma unroll
            for (int i = 0; i < 4; i++) { /* a lane's two neighbours in a block are pixels */
                float x = sum[4 * j + 2 * i] + (EPI_BIAS ? bias[i % 2] : 0), y = sum[4 * j + 2 * i + 1] + (EPI_BIAS ? bias[i % 2] : 0);
                if (EPI_RESIDUAL) {
                    x = branch(x) + to_f32(add[i].item[0]);
                    y = branch(y) + to_f32(add[i].item[1]);
                }
                m[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate_sloped(x, slope[i % 2]), activate_sloped(y, slope[i % 2]));
            }
            if (NCHW)
                store_matrix_4(at, m);
            else
                store_matrix_4_transposed(at, m);
        }
        fence_async();
        warpgroup_sync(group);
        if (threadIdx.x % 128 == 0) {
            boxes(false, row, map, K, image, p, q);
            store_commit();
        }
    }
    __device__ __forceinline__ void store(const float sum[PIXELS / 2], const float bias[2], const tensor_map *map, int K, int image, int p, int q, unsigned row) const
    {
        unsigned residual[SOON][4];
        ready(row, residual);
        put(sum, bias, residual, map, K, image, p, q, row);
    }
    /* At the end, before the block gives its shared memory back. */
    __device__ __forceinline__ void finish() const
    {
        if (threadIdx.x % 128 == 0)
            store_wait();
    }
};
