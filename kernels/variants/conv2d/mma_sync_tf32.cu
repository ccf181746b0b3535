/* bench 1
op: conv2d
what: tensor cores on f32 data by mma.sync in TF32 - an implicit matrix product over any filter, stride and dilation, sm_80 and later
from: mma_sync
needs: groups == 1 and c % 4 == 0 and n * p * q < 2147483648 and h * w < 268435456
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
math: [tf32]
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, prelu]
params:
  TILE_M: {values: [64, 128], default: 128}        # pixels a block
  TILE_N: {values: [32, 64], default: 64}          # output channels a block
  AHEAD: {values: [1, 2, 3, 4], default: 1}        # steps whose pieces are on their way in registers
let:
  warps: TILE_M / 32 * (TILE_N / 32)               # each 32 x 32
  pitch: 80                                        # bytes of 16 channels and a gap: eight rows fall into eight different bank groups
where:
  - cc >= 80
  - warps >= 2
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
  PITCH: pitch
  THREADS: warps * 32
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_mma_words
    grid: ceil(n * p * q, TILE_M), ceil(k, TILE_N)
    block: warps * 32
    args: input, filter, bias, output, n, c, h, w, k, p, q, pad_top
*/

/* What changed from mma_sync: f32 tensors of any shape. TF32 keeps the exponent of f32 and 10 bits of the fraction; mma.m16n8k8 multiplies such numbers exactly and sums in f32, at
 * half the rate of f16. The arithmetic differs from f32, so only a case with `math: tf32` uses it.
 *
 * Rows of the left matrix are the output pixels of the whole batch; its depth is every tap of every channel, 16 channels per step. No part of the image stays in shared memory from one
 * tap to the next: the caches keep it, and in return any filter, stride and dilation uses the same code. While a step is multiplied, the pieces of the next AHEAD steps are loaded into
 * registers. They are rounded (to nearest, ties away) once, on their way to shared memory, instead of at every use.
 *
 * ldmatrix is for 16-bit elements, but it moves 16 bytes per row: four f32 instead of eight
 * halves, and a lane gets exactly the element of a row that the TF32 fragment needs.
 *
 * Cost: every input is read from L1 or L2 once a tap. wgmma_rs_tf32 keeps it, if its shape fits.
 *
 * On an H200 64 -> 64 3x3 at 360 x 640 takes 249 us, 0.33 x cuDNN's speed (older code, reports/tune/breadth-h200.md): the price of reading nine times. */
#include "dense/gemm_words.cuh"

struct tf32_word {
    using sum = float;
    static __device__ __forceinline__ void put(unsigned to, float4 v)
    {
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(round_tf32(v.x)), "r"(round_tf32(v.y)), "r"(round_tf32(v.z)), "r"(round_tf32(v.w)) : "memory");
    }
    static __device__ __forceinline__ void multiply(float d[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x8_tf32(d, a, b); }
};

extern "C" __global__ void __launch_bounds__(THREADS)
conv_mma_words(const float *input, const float *filter, const float *bias, float *output, int N, int C, int H, int W, int K, int P, int Q, int pad)
{
    convolve_words<tf32_word>(input, filter, bias, output, N, C, H, W, K, P, Q, pad);
}
