/* dense/halo_tile: a tile of an NHWC image with its halo, copied to shared memory by cp.async, zeros outside the image. Needs C (channels, a multiple of 8) and TYPE
 * (2 bytes) as constants.
 *
 * In shared memory pixels are PITCH bytes apart: their channels, rounded up to 16, and 16 bytes more, so that
 * eight adjacent pixels start in eight different groups of banks, and every tap and channel is at a constant
 * distance from a thread's own pixel. A swizzle would save the 16 bytes and cost arithmetic for every load. */
#pragma once
#include "tensor_core/mma.cuh"

constexpr int PITCH = (C + 15) / 16 * 32 + 16;
constexpr int PIECES = C / 8; /* of 16 bytes in a pixel */

/* Rows y0 .., columns x0 .. of an image. A warp a row: it is one piece of memory in NHWC, and what lies in the image is a range of it. The caller commits. */
template <int TALL, int WIDE, int BY_WARPS>
__device__ __forceinline__ void load_tile(unsigned to, const TYPE *image, int y0, int x0, int height, int width)
{
    int lane = threadIdx.x % 32;
    int first = max(0, -x0) * PIECES, last = (width - x0) * PIECES; /* valid pieces of a row */
    for (int row = threadIdx.x / 32; row < TALL; row += BY_WARPS) {
        int y = y0 + row;
        bool row_inside = y >= 0 && y < height;
        const TYPE *line = image + ((long long)y * width + x0) * C;
#pragma unroll
        for (int i = 0; i < WIDE * PIECES; i += 32) {
            int e = i + lane;
            bool valid = row_inside && e >= first && e < last;
            if (e < WIDE * PIECES)
                copy_async_16(to + (row * WIDE + e / PIECES) * PITCH + e % PIECES * 16, valid ? line + e * 8 : image, valid);
        }
    }
}
