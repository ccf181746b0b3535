/* sparse/store: results of a warpgroup, 64 output channels by some pixels, go to the image through shared memory, those of active pixels only.
 *
 * Stored from registers they would be stores of 4 bytes, and those of a warp touch four lines, which takes longer than the products. Here a warp writes
 * four 8x8 blocks with one stmatrix, transposed; then a thread moves 16 bytes at a time, a warp four pixels.
 *
 * The area has 128 bytes for a pixel's 64 channels; their 16-byte pieces are swizzled so that the same piece of eight pixels lies in eight groups of banks.
 *
 * Needs TYPE, STORE (channels that a thread stores at once: 8, or 2 when 8 does not divide K) and those of element/epilogue.cuh. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

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

/* Of the area for so many times 8 pixels. */
static __host__ __device__ constexpr int staged_bytes(int eights) { return (eights + 1) / 2 * 2048; }

struct staged_pixels {
    static constexpr int LANES = 64 / STORE, AT_ONCE = 128 / LANES; /* threads that move a pixel; pixels that are moved at once */
    unsigned char *area;                                            /* shared memory, at a multiple of 128 */
    int group, channels;                                            /* which warpgroup this is; how many of the 64 channels exist */
    float bias[2];                                                  /* of the lane's channels */

    __device__ __forceinline__ staged_pixels(unsigned char *area, int group, const float *bias, int k0, int K) : area(area), group(group), channels(min(64, K - k0))
    {
        for (int i = 0; i < 2; i++)
            this->bias[i] = EPI_BIAS && own_channel() + i * 8 < channels ? bias[k0 + own_channel() + i * 8] : 0.0f;
    }
    static __device__ __forceinline__ int own_channel() { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4; } /* of the thread's sums, and 8 further on */
    __device__ __forceinline__ int first_pixel() const { return threadIdx.x % 128 / LANES; } /* that this thread moves */

    /* sum: as wgmma leaves it, rows are channels, columns EIGHTS times 8 pixels. For pixel first_pixel() + ahead, active(ahead) is true if it is to be stored, and
     * place(ahead) is the address of its first channel. Called by the whole warpgroup. */
    template <int EIGHTS, typename ACTIVE, typename PLACE> __device__ __forceinline__ void store(const float sum[4 * EIGHTS], ACTIVE active, PLACE place) const
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
                float x = EPI_BIAS ? sum[at] + bias[i % 2] : sum[at], y = EPI_BIAS ? sum[at + 1] + bias[i % 2] : sum[at + 1];
                m[i] = EPI_SLOPE == 0 ? relu_of<TYPE>(two_of<TYPE>(x, y)) : two_of<TYPE>(activate(x), activate(y));
            }
            store_matrix_4_transposed(to + j * 1024, m);
        }
        warpgroup_sync(group);
        int first = first_pixel(), channel = thread % LANES * STORE;
        const unsigned char *from = area + first * 128 + channel % 8 * 2;
#pragma unroll
        for (int ahead = 0; ahead < EIGHTS * 8; ahead += AT_ONCE)
            store_if(channel < channels && active(ahead), place(ahead) + channel,
                     load_pack<TYPE, STORE>(reinterpret_cast<const TYPE *>(from + ahead * 128 + (channel / 8 ^ (first + ahead) % 8) * 16)).word);
    }
};
