/* bench 1
op: conv2d
what: wgmma_rows with the weights stationary in registers - shared memory serves pixels only
from: wgmma_rows
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64
  - c % 8 == 0 and k % 8 == 0                          # 16 bytes of a pixel: the copy engine's grain
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
claims: c >= 24 and (k <= 4 * c or c > 32 and k <= 8 * c) and (r * s > 1 or k <= 64)
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [7, 8, 10], default: 8}              # image rows in shared memory
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: ceil(strip + s - 1, 8) * 1024
  split: select(k > 64, 2, 1)                          # 2: the consumers hold different output channels, 1: they take rows in turn
  rest: RING * row_bytes + 2 * strip * 128             # image rows, then results of two consumers; weights pass through the end of it
  smem: 1024 + max(rest, r * row_bytes + split * r * s * 8192) + 16 * RING + 48
  blocks_k: ceil(k, 64 * split)
  strips: ceil(q, strip)
  rows_all: n * strips * p
  blocks: max(1, min(rows_all, floor(sm_count, blocks_k)))
  rows_block: ceil(rows_all, blocks)                   # of the output, one after another in a strip
where:
  - cc == 90
  - RING > 2 * r
  - smem <= smem_per_block_optin
define:
  TYPE: type(input)
  CHANNELS: c
  STRIP_WIDTH: strip
  SPLIT: split
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "64, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: filter, dims: "c, r * s, 1, k", box: "64, 1, 1, 64", swizzle: 128, l2: 256}
  output_map: {of: output, box: "64, strip, 1, 1", swizzle: 128}
  residual_map: {of: residual, box: "64, strip, 1, 1", swizzle: 128, l2: 256}
steps:
  - kernel: conv_wgmma_rs
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, residual_map, bias, k, p, pad, strips, rows_all, rows_block
*/

/* What changed from wgmma_rows: wgmma takes its left operand from registers too, and all 64 x 576 weights of a 3x3 filter fit there: 144 registers a thread,
 * loaded once. With 64 for the sums and the addresses a consumer needs about 235; the producer's warpgroup gives its own away (setmaxnreg).
 *
 * Shared memory now reads 32 of 64 cycles, at any width of the strip, which leaves room for the ring's traffic; and 72 KiB of it are free, so that up to 128
 * output channels are one block: the two consumers hold different halves of the filter and read the same rows.
 *
 * Measured on an H200 with operands resident: 971 TFLOP/s at 1.80 GHz, the ideal 128 cycles for a pair of products. What remains is feeding it: 2304 cycles
 * an output row against 16.6 KB of input and 16.4 KB of output. Where the time of 64->64 at 720 x 1280 goes, by leaving out one part at a time (cold, us):
 *
 *     results stored by the threads, weights gathered by the threads     117     a row's epilogue takes 3,400 cycles, more than the other's products
 *     weights through the copy engine                                    114
 *     results through the copy engine too                                 95     2,000 cycles
 *     no division in the loop over rows, relu on pairs (this file)        89
 *     no results stored, for comparison                                   87
 *     nothing loaded nor stored                                           86     what the products take alone, at the 1.56 GHz that the power limit leaves
 *     no products, for comparison                                         65 */

#define WEIGHTS_SHARED 0
#include "wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rs(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
              const __grid_constant__ tensor_map residual_map, const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, &residual_map, bias, K, P, pad, strips, rows_all, rows_block);
}
