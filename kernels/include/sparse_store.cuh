/* sparse_store: results of a warpgroup, 64 output channels by some pixels, go to the image through shared memory, those of active pixels only.
 *
 * Stored from registers they would be stores of 4 bytes, of which a warp's touch four lines. Here a warp puts four 8x8 blocks in place with one stmatrix, turned
 * on the way; then a thread moves 16 bytes at a time. Each warp stores its own 16 channels, a whole sector of a pixel, so the warps do not wait for each other:
 * a barrier of the warpgroup, before and after, made the epilogue of a tile twice as long.
 *
 * A warp's area holds a pixel's 16 channels as 32 bytes, whose halves are exchanged in every other four pixels: eight pixels are in eight groups of banks.
 *
 * Needs TYPE, STORE (channels that a thread stores at once: 8, or 2 when 8 does not divide K) and those of epilogue.cuh. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "wgmma.cuh"

/* 16, 8 or 4 bytes to memory, or nothing: one instruction without a branch around it. (As a store of a struct the compiler makes four of the 16 bytes.) */
static __device__ __forceinline__ void store_if(bool wanted, void *to, uint4 v)
{
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %5, 0;\n@wanted st.global.v4.u32 [%0], {%1, %2, %3, %4};\n}" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w),
                 "r"((int)wanted)
                 : "memory");
}
static __device__ __forceinline__ void store_if(bool wanted, void *to, uint2 v)
{
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %3, 0;\n@wanted st.global.v2.u32 [%0], {%1, %2};\n}" ::"l"(to), "r"(v.x), "r"(v.y), "r"((int)wanted) : "memory");
}
static __device__ __forceinline__ void store_if(bool wanted, void *to, unsigned v)
{
    asm volatile("{\n.reg .pred wanted;\nsetp.ne.b32 wanted, %2, 0;\n@wanted st.global.u32 [%0], %1;\n}" ::"l"(to), "r"(v), "r"((int)wanted) : "memory");
}

/* Of a warpgroup's area for so many times 8 pixels. */
static __host__ __device__ constexpr int staged_bytes(int eights) { return (eights + 1) / 2 * 2048; }

struct staged_pixels {
    static constexpr int LANES = 16 / STORE, AT_ONCE = 32 / LANES; /* that move a pixel's 16 channels; pixels that are moved at once */
    unsigned char *area;                                           /* the warp's, at a multiple of 128 */
    int channels;                                                  /* of the warp's 16, how many exist; may be below 0 */
    float bias[2];                                                 /* of the lane's channels */

    /* area: the warpgroup's, for EIGHTS times 8 pixels. */
    __device__ __forceinline__ staged_pixels(unsigned char *area, int eights, const float *bias, int k0, int K)
        : area(area + threadIdx.x / 32 % 4 * (staged_bytes(eights) / 4)), channels(K - k0 - first_channel())
    {
        for (int i = 0; i < 2; i++)
            this->bias[i] = EPI_BIAS && own_channel() + i * 8 < K - k0 ? bias[k0 + own_channel() + i * 8] : 0.0f;
    }
    static __device__ __forceinline__ int first_channel() { return threadIdx.x / 32 % 4 * 16; }                       /* of the warp's 16 */
    static __device__ __forceinline__ int own_channel() { return first_channel() + threadIdx.x % 32 / 4; } /* of the thread's sums, and 8 further on */
    static __device__ __forceinline__ int first_pixel() { return threadIdx.x % 32 / LANES; }               /* that this thread moves */

    /* sum: as wgmma leaves it, rows are channels, columns EIGHTS times 8 pixels. Of pixel first_pixel() + ahead: active(ahead) says whether it is to be stored, and
     * place(ahead) where the first of the 64 channels is. A warp. */
    template <int EIGHTS, typename ACTIVE, typename PLACE> __device__ __forceinline__ void store(const float sum[4 * EIGHTS], ACTIVE active, PLACE place) const
    {
        int lane = threadIdx.x % 32, row = lane % 8;
        unsigned to = shared_address(area) + (lane / 16 * 8 + row) * 32 + (lane / 8 % 2 ^ row / 4) * 16;
        __syncwarp(); /* what was there has been moved */
#pragma unroll
        for (int j = 0; j < EIGHTS; j += 2) {
            unsigned m[4];
#pragma unroll
            for (int i = 0; i < 4; i++) { /* channels 8 (i % 2) .., pixels 8 (j + i / 2) ..; the last eight may be missing */
                int at = 4 * j + 2 * i < 4 * EIGHTS ? 4 * j + 2 * i : 0;
                float x = EPI_BIAS ? sum[at] + bias[i % 2] : sum[at], y = EPI_BIAS ? sum[at + 1] + bias[i % 2] : sum[at + 1];
                m[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate(x), activate(y));
            }
            store_matrix_4_transposed(to + j * 256, m);
        }
        __syncwarp();
        int first = first_pixel(), channel = lane % LANES * STORE;
        const unsigned char *from = area + first * 32 + channel % 8 * 2;
#pragma unroll
        for (int ahead = 0; ahead < EIGHTS * 8; ahead += AT_ONCE)
            store_if(channel < channels && active(ahead), place(ahead) + first_channel() + channel,
                     load_pack<TYPE, STORE>(reinterpret_cast<const TYPE *>(from + ahead * 32 + (channel / 8 ^ (first + ahead) / 4 % 2) * 16)).word);
    }
};
