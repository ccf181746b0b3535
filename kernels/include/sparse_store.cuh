/* sparse_store: results of a warpgroup, 64 output channels by some pixels, go to the image through shared memory, those of active pixels only.
 *
 * Stored from registers they would be stores of 4 bytes, of which a warp's touch four lines; that takes longer than the products. Here a warp puts four 8x8
 * blocks in place with one stmatrix, turned on the way; then a thread moves 16 bytes at a time, a warp four pixels.
 *
 * The area holds a pixel's 64 channels as 128 bytes, whose 16-byte pieces are exchanged so that the same piece of eight pixels lies in eight groups of banks.
 *
 * Needs TYPE, STORE (channels that a thread stores at once: 8, or 2 when 8 does not divide K) and those of epilogue.cuh. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "wgmma.cuh"

/* Of the area for so many times 8 pixels. */
static __host__ __device__ constexpr int staged_bytes(int eights) { return (eights + 1) / 2 * 2048; }

struct staged_pixels {
    static constexpr int LANES = 64 / STORE, AT_ONCE = 128 / LANES; /* threads that move a pixel; pixels that are moved at once */
    unsigned char *area;                                            /* shared memory, at a multiple of 128 */
    int group, channels;                                            /* which warpgroup this is; how many of the 64 channels exist */
    float bias[2];                                                  /* of the lane's channels */

    __device__ __forceinline__ staged_pixels(unsigned char *area, int group, const float *bias, int k0, int K) : area(area), group(group), channels(min(64, K - k0))
    {
        int own = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4; /* and 8 further on */
        for (int i = 0; i < 2; i++)
            this->bias[i] = EPI_BIAS && own + i * 8 < channels ? bias[k0 + own + i * 8] : 0.0f;
    }
    __device__ __forceinline__ int first_pixel() const { return threadIdx.x % 128 / LANES; } /* that this thread moves */

    /* sum: as wgmma leaves it, rows are channels, columns EIGHTS times 8 pixels. place(ahead, pixel): the first channel in the image of `pixel`, which is
     * first_pixel() + ahead, or null when it is not to be stored. The whole warpgroup. */
    template <int EIGHTS, typename PLACE> __device__ __forceinline__ void store(const float sum[4 * EIGHTS], PLACE place) const
    {
        int thread = threadIdx.x % 128, row = thread % 8, piece = thread / 32 * 2 + thread / 8 % 2;
        unsigned to = shared_address(area) + (thread / 16 % 2 * 8 + row) * 128 + (piece ^ row) * 16;
        warpgroup_sync(group); /* what was there has been moved */
#pragma unroll
        for (int j = 0; j < EIGHTS; j += 2) {
            unsigned m[4];
#pragma unroll
            for (int i = 0; i < 4; i++) { /* channels 8 (i % 2) .., pixels 8 (j + i / 2) ..; the last eight may be missing */
                int at = 4 * j + 2 * i < 4 * EIGHTS ? 4 * j + 2 * i : 0;
                float x = sum[at] + bias[i % 2], y = sum[at + 1] + bias[i % 2];
                m[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate(x), activate(y));
            }
            store_matrix_4_transposed(to + j * 1024, m);
        }
        warpgroup_sync(group);
        int first = first_pixel(), channel = thread % LANES * STORE;
        if (channel >= channels)
            return;
#pragma unroll
        for (int ahead = 0; ahead < EIGHTS * 8; ahead += AT_ONCE) {
            int pixel = first + ahead;
            TYPE *out = pixel < EIGHTS * 8 ? place(ahead, pixel) : nullptr;
            if (out)
                store_pack<TYPE, STORE>(out + channel, load_pack<TYPE, STORE>(reinterpret_cast<const TYPE *>(area + pixel * 128 + (channel / 8 ^ pixel % 8) * 16) + channel % 8));
        }
    }
};
