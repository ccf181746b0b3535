/* bench 1
what: tensor cores on 8-bit whole numbers by mma.sync - an implicit matrix product with 32-bit sums over any filter, stride and dilation, sm_80 and later
like: mma_sync_tf32
needs: groups == 1 and c % 16 == 0 and n * p * q < 2147483648 and h * w < 268435456
dtype: {input: i8, filter: i8, accumulate: i32}
math: [i8_acc32]
*/

/* What changed from mma_sync_tf32: the meaning of a word. Four adjacent channels of 8 bits are as wide as one f32, so the code that moves pieces of four words, the pitch,
 * ldmatrix and the layout of fragments stay the same; a step is 64 channels in place of 16. mma.m16n8k32 computes four products for each word and sums exactly in 32 bits: there
 * is no rounding until the store, where the result becomes an f32 and gets bias and activation.
 *
 * There is no scale: the result is the sum itself, as f32, with bias and activation.
 *
 * Cost: channels must be a multiple of 16, and a step of 64 channels is padded with zeros. dp4a needs multiples of 4 only. */
#include "dense/gemm_words.cuh"
#include "tensor_core/mma_s8.cuh"

struct four_s8 {
    using sum = int;
    static __device__ __forceinline__ void put(unsigned to, float4 v)
    {
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    }
    static __device__ __forceinline__ void multiply(int d[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x32(d, a, b); }
};

extern "C" __global__ void __launch_bounds__(THREADS)
conv_mma_words(const float *input, const float *filter, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    convolve_words<four_s8>(input, filter, bias, output, N, C / 4, H, W, K, P, Q, pad);
}
