/* dense/staged_pixels: the results of a warpgroup whose products have pixels as rows and output channels as columns go to an NHWC tensor through shared memory and 
 * TMA, 64 pixels by STORE_BOX channels at a time. dense/staged_store.cuh is the same for products the other way round and says why.
 *
 * There are two places to stage: while TMA reads one, the other is filled. A place is [64 pixels][STORE_BOX channels], swizzled as TMA's
 * boxes are. A residual comes the other way into the same place. Needs TYPE, BLOCK_K, PIXEL_BLOCKS,
 * SQUARE_BLOCKS (a block of 64 pixels is 8 x 8, and not 64 of a row), TILE_W, STORE_BOX, EPI_RESIDUAL and those of element/epilogue.cuh. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int PIECES = PIXEL_BLOCKS * ((BLOCK_K + STORE_BOX - 1) / STORE_BOX); /* of a tile */
constexpr int ACROSS = SQUARE_BLOCKS ? TILE_W / 8 : 1;                         /* blocks of pixels side by side */
constexpr int STAGE_BYTES = 64 * STORE_BOX * 2, STAGED_BYTES = 2 * 64 * 128; /* a place; both, of the widest */

struct staged_pixels {
    unsigned area, come; /* shared memory: the two places and, with a residual, their barriers */
    unsigned bias;       /* shared memory: all biases */
    int group;           /* which warpgroup, of those that call with their own area */
    unsigned count;      /* pieces staged so far */

    /* Where piece i of a tile lies: blocks of pixels first, then channels. */
    __device__ __forceinline__ void copy(bool load, const tensor_map *map, int i, unsigned place, int k0, int n, int p0, int q0) const
    {
        int block = i % PIXEL_BLOCKS, k = k0 + i / PIXEL_BLOCKS * STORE_BOX, q = q0 + (SQUARE_BLOCKS ? block % ACROSS * 8 : 0), p = p0 + block / ACROSS * (SQUARE_BLOCKS ? 8 : 1);
        if (load)
            copy_box_4d(area + place * STAGE_BYTES, map, come + place * 8, k, q, p, n);
        else
            store_box_4d(map, area + place * STAGE_BYTES, k, q, p, n);
    }
    __device__ __forceinline__ void ask(const tensor_map *map, int i, unsigned place, int k0, int n, int p0, int q0) const
    {
        barrier_arrive_expect(come + place * 8, STAGE_BYTES);
        copy(true, map, i, place, k0, n, p0, q0);
    }

    /* The area of a warpgroup, `me` of those that store. */
    __device__ __forceinline__ void take(int me)
    {
        area += me * STAGED_BYTES;
        come += me * 16;
        group = me + 1;
    }

    /* Before the products of a tile: asks for its first residuals. */
    __device__ __forceinline__ void begin(const tensor_map *residual_map, int k0, int n, int p0, int q0) const
    {
        if (!EPI_RESIDUAL || threadIdx.x % 128 != 0)
            return;
        store_wait_read();
#pragma unroll
        for (int i = 0; i < 2 && i < PIECES; i++)
            ask(residual_map, i, (count + i) % 2, k0, n, p0, q0);
    }

    /* 16 channels of a warp's 16 pixels, from `at` on, which differs from lane to lane. k: the lane's first channel. */
    __device__ __forceinline__ void put(unsigned at, const float sum[8], const float2 own_bias[2], int k) const
    {
        unsigned m[4];
        pack<TYPE, 2> add[4];
        if (EPI_RESIDUAL) {
            load_matrix_4(m, at);
#pragma unroll
            for (int i = 0; i < 4; i++)
                add[i].word = m[i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) { /* pixels 0-7 and 8-15 of channels 0-7, then of 8-15; a lane's two neighbours are channels */
            float x = sum[2 * i] + (EPI_BIAS ? own_bias[i / 2].x : 0), y = sum[2 * i + 1] + (EPI_BIAS ? own_bias[i / 2].y : 0);
            if (EPI_RESIDUAL) {
                x = branch(x) + to_f32(add[i].item[0]);
                y = branch(y) + to_f32(add[i].item[1]);
            }
            m[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate_sloped(x, slope_of(k + i / 2 * 8)), activate_sloped(y, slope_of(k + i / 2 * 8 + 1)));
        }
        store_matrix_4(at, m);
    }

    /* After them. The whole warpgroup. What lies past the last pixel or channel is cut off by TMA. */
    __device__ __forceinline__ void store(const float sum[PIXEL_BLOCKS][BLOCK_K / 2], const tensor_map *map, const tensor_map *residual_map, int K, int k0,
                                          int n, int p0, int q0)
    {
        bool leader = threadIdx.x % 128 == 0;
        int lane = threadIdx.x % 32, pixel = threadIdx.x / 32 % 4 * 16 + lane % 16;
        unsigned row = pixel * (STORE_BOX * 2) + lane / 16 * 16; /* of the matrices that this lane addresses */
        unsigned own_bias = bias + (k0 + lane % 4 * 2) * 4;
#pragma unroll
        for (int i = 0; i < PIECES; i++, count++) {
            unsigned place = count % 2, at = area + place * STAGE_BYTES;
            if (EPI_RESIDUAL) {
                barrier_wait(come + place * 8, count / 2 & 1);
            } else {
                if (leader)
                    store_wait_read<1>(); /* of the piece before the last */
                warpgroup_sync(group);
            }
#pragma unroll
            for (int k = 0; k < STORE_BOX; k += 16) {
                int channel = i / PIXEL_BLOCKS * STORE_BOX + k;
                if (channel >= BLOCK_K)
                    break;
                float2 own[2];
#pragma unroll
                for (int h = 0; h < 2 && EPI_BIAS; h++)
                    own[h] = load_shared_2(own_bias + (channel + h * 8) * 4);
                unsigned in = row + k * 2;
                put(at + (in ^ (in >> 3 & STORE_BOX * 2 - 16)), sum[i % PIXEL_BLOCKS] + channel / 2, own, k0 + lane % 4 * 2 + channel);
            }
            fence_async();
            warpgroup_sync(group);
            if (leader) {
                copy(false, map, i, place, k0, n, p0, q0);
                store_commit();
                if (EPI_RESIDUAL && i + 2 < PIECES) {
                    store_wait_read();
                    ask(residual_map, i + 2, place, k0, n, p0, q0);
                }
            }
        }
    }
    /* At the end, before the block gives its shared memory back. */
    __device__ __forceinline__ void finish() const
    {
        if (threadIdx.x % 128 == 0)
            store_wait();
    }
};
