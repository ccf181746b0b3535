/* dense/direct_pixels: results of 4 bytes go straight from the registers of a warpgroup to an NHWC tensor. Rows of its products are pixels, columns are output channels: four
 * lanes hold eight adjacent channels of a pixel, 32 bytes, so that every store fills whole sectors. For results of 2 bytes that would be half a sector:
 * dense/staged_pixels.cuh, with the same calls, is for them. K is even.
 *
 * Needs BLOCK_K, PIXEL_BLOCKS, SQUARE_BLOCKS, TILE_W, EPI_RESIDUAL and those of element/epilogue.cuh, as dense/staged_pixels.cuh does. */
#pragma once
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int ACROSS = SQUARE_BLOCKS ? TILE_W / 8 : 1; /* blocks of pixels side by side */

struct direct_pixels {
    float *output;
    const float *residual;
    int P, Q;
    unsigned bias; /* shared memory: all biases */

    __device__ __forceinline__ void take(int) {}
    __device__ __forceinline__ void begin(const tensor_map *, int, int, int, int) const {}
    __device__ __forceinline__ void finish() const {}

    __device__ __forceinline__ float2 finished(float x, float y, size_t at, int k) const
    {
        float2 add = EPI_BIAS ? load_shared_2(bias + k * 4) : make_float2(0, 0);
        if (EPI_RESIDUAL && EPI_SCALE != 1) { /* the branch has its bias first */
            x = branch(x + add.x), y = branch(y + add.y);
            add = make_float2(0, 0);
        }
        if (EPI_RESIDUAL) {
            float2 r = *reinterpret_cast<const float2 *>(residual + at);
            add.x += r.x;
            add.y += r.y;
        }
        return make_float2(activate_sloped(x + add.x, slope_of(k)), activate_sloped(y + add.y, slope_of(k + 1)));
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
            size_t at = (((size_t)n * P + p) * Q + q) * K;
            if (p >= P || q >= Q)
                continue;
#pragma unroll
            for (int j = 0; j < BLOCK_K / 8; j++) {
                int k = k0 + j * 8 + lane % 4 * 2;
                if (k < K)
                    *reinterpret_cast<float2 *>(output + at + k) = finished((float)sum[block][4 * j + i % 2 * 2], (float)sum[block][4 * j + i % 2 * 2 + 1], at + k, k);
            }
        }
    }
};
