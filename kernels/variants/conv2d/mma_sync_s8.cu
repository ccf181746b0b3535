/* bench 1
what: tensor cores on 8-bit whole numbers by mma.sync - an implicit matrix product with 32-bit sums over any filter, stride and dilation, sm_80 and later
like: mma_sync_tf32
needs: groups == 1 and c % 16 == 0 and n * p * q < 2147483648 and h * w < 268435456
dtype: {input: i8, filter: i8, accumulate: i32}
math: [i8_acc32]
*/

/* What changed from mma_sync_tf32: what a word means. Four neighbouring channels of 8 bits are as wide as one f32, so the whole machinery that moves pieces of four words, the
 * pitch, ldmatrix and the places of the fragments stays as it is; a step is 64 channels in place of 16. mma.m16n8k32 takes the words for four products each and sums in 32 bits,
 * exactly: no order of summation, no rounding, until the result becomes an f32 at the store, where bias and activation are.
 *
 * No scale is applied: the result is the sum itself, as f32, with bias and activation.
 *
 * What it costs: channels must be a multiple of 16, and a step of 64 channels wastes what is missing to 64. dp4a takes multiples of 4. */
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
