/* dense/staged_words: dense/staged_store for results of 4 bytes, which stmatrix cannot transpose: the same calls, without a residual, depth_to_space or NCHW.
 *
 * The filters are loaded so that a lane's two rows of the product, g and g + 8, are adjacent channels, 2 g and 2 g + 1 of a warp's 16. So a lane stores 8 bytes, and TMA's
 * swizzle spreads those of a half-warp (two pieces of 16 bytes of four pixels) over all banks. The area is [2][PIXELS][32 channels]. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

#define NCHW 0
#define D2S_BLOCK 1
#define D2S_CRD 0
constexpr int STORE_AREAS = 1;
static_assert(!EPI_RESIDUAL, "no residual comes here");

static __device__ __forceinline__ int filter_channel(int k, int) { return k; }

template <int PIXELS> struct staged_rows {
    static constexpr int BYTES = PIXELS * 256;
    static constexpr int SOON = 1;
    unsigned area, come; /* shared memory: the staging area; no barrier */
    int k0, group;       /* first channel; which warpgroup, of those that call with its own area */

    __device__ __forceinline__ void ask_residual(const tensor_map *, int, int, int, int, unsigned) const {}
    /* Until the area is free. The whole warpgroup, before put(), best while products are made. */
    __device__ __forceinline__ void ready(unsigned, unsigned (*)[4]) const
    {
        if (threadIdx.x % 128 == 0)
            store_wait_read(); /* of the row before */
        warpgroup_sync(group);
    }
    /* After the products. The whole warpgroup. bias: of the lane's two channels. */
    __device__ __forceinline__ void put(const int sum[PIXELS / 2], const float bias[2], unsigned (*)[4], const tensor_map *map, int K, int image, int p, int q, unsigned) const
    {
        int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, channel = k0 + warp * 16 + lane / 4 * 2;
        const float slope[2] = {slope_of(channel), slope_of(channel + 1)};
        unsigned at = area + warp / 2 * (BYTES / 2) + lane % 4 * 256 + (warp % 2 * 64 + lane / 4 * 8 ^ lane % 4 * 32);
#pragma unroll
        for (int i = 0; i < PIXELS / 4; i++) { /* pixel 8 * (i / 2) + 2 * (lane % 4) + i % 2 */
            float x[2];
#pragma unroll
            for (int e = 0; e < 2; e++)
                x[e] = activate_sloped((float)sum[i / 2 * 4 + e * 2 + i % 2] + (EPI_BIAS ? bias[e] : 0), slope[e]);
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"((at ^ i % 2 * 16) + i / 2 * 1024 + i % 2 * 128), "f"(x[0]), "f"(x[1]) : "memory");
        }
        fence_async();
        warpgroup_sync(group);
        if (threadIdx.x % 128 != 0)
            return;
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (k0 + i * 32 < K)
                store_box_4d(map, area + i * (BYTES / 2), k0 + i * 32, q, p, image);
        store_commit();
    }
    /* At the end, before the block gives its shared memory back. */
    __device__ __forceinline__ void finish() const
    {
        if (threadIdx.x % 128 == 0)
            store_wait();
    }
};
