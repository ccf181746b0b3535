/* pair_store: stores a wgmma result whose rows are output channels and whose columns are pixels of one image row, to NHWC, without shared memory.
 *
 * Row g of a warp's 16 holds channel 2 g, row g + 8 channel 2 g + 1: whoever loads the weights sees to that. A lane then owns two neighbouring channels of a
 * pixel: it stores 4 bytes, eight lanes fill a whole sector of 32. With D2S_BLOCK the store is a depth_to_space as well (mma_sync_d2s.cu says why that
 * is free). Needs TYPE, EPI_RESIDUAL and those of epilogue.cuh. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "mma.cuh"

#ifndef RESIDUAL_STAGED
#define RESIDUAL_STAGED 0
#endif
constexpr int STAGED_PITCH = 128 + 16; /* 64 channels; the lanes of a warp read 32 different banks */

#ifndef D2S_BLOCK
#define D2S_BLOCK 1
#define D2S_CRD 0
#endif

/* Row of the filter that makes internal channel k; see mma_sync.cu. */
static __device__ __forceinline__ int filter_channel(int k, int K)
{
    int depth = K / (D2S_BLOCK * D2S_BLOCK);
    return D2S_CRD ? k % depth * (D2S_BLOCK * D2S_BLOCK) + k / depth : k;
}

/* Channels k and k + 1 of the lane's pixels of row p: q0 + 8 j + e. The residual comes from global memory, eight loads at a time; or, with RESIDUAL_STAGED, from
 * shared memory, where `staged` is the lane's first pair and pixels are STAGED_PITCH bytes apart. */
template <int PIXELS>
__device__ __forceinline__ void store_row(TYPE *output, const TYPE *residual, unsigned staged, const float sum[PIXELS / 2], float bias0, float bias1, int n,
                                          int p, int q0, int k, int K, int P, int Q)
{
    int line = K / D2S_BLOCK; /* channels of a pixel that lie side by side; see mma_sync_d2s.cu */
    size_t start = (((size_t)n * P + p) * D2S_BLOCK + k / line) * Q * line + k % line;
#pragma unroll
    for (int j0 = 0; j0 < PIXELS / 8; j0 += 4) {
        pack<TYPE, 2> add[8];
#pragma unroll
        for (int i = 0; EPI_RESIDUAL && !RESIDUAL_STAGED && i < 8; i++) {
            int q = q0 + 8 * j0 + i / 2 * 8 + i % 2;
            if (q < Q)
                add[i] = load_pack<TYPE, 2>(residual + start + q * line);
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            int j = j0 + i / 2, e = i % 2, q = q0 + 8 * j + e;
            if (q >= Q)
                continue;
            float low = sum[4 * j + e] + bias0, high = sum[4 * j + 2 + e] + bias1;
            if (EPI_RESIDUAL) {
                if (RESIDUAL_STAGED)
                    add[i].word = load_shared(staged + (8 * j + e) * STAGED_PITCH);
                low += to_f32(add[i].item[0]);
                high += to_f32(add[i].item[1]);
            }
            pack<TYPE, 2> out;
            out.item[0] = from_f32<TYPE>(activate(low));
            out.item[1] = from_f32<TYPE>(activate(high));
            store_pack<TYPE, 2>(output + start + q * line, out);
        }
    }
}
