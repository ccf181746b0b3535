/* bench 1
op: conv2d
what: Hopper's wgmma on whole image rows - weights and a TMA ring of rows in shared memory, taps by descriptor
from: mma_sync
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64
  - c % 8 == 0 and k % 8 == 0                          # 16 bytes of a pixel: TMA's granularity
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
slices: {input: 1, residual: size(output) == 2, output: size(output) == 2}     # what tensor maps bring and take away
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu, prelu]
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [6, 7], default: 7}                  # image rows in shared memory
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: ceil(strip + s - 1, 8) * 1024
  smem: 1024 + r * s * 8192 + RING * row_bytes + 2 * strip * 128 + 16 * RING + 48   # weights, image rows, results of two consumers
  blocks_k: ceil(k, 64)
  strips: ceil(q, strip)
  rows_all: n * strips * p
  blocks: max(1, min(rows_all, floor(sm_count, blocks_k)))
  rows_block: ceil(rows_all, blocks)                   # of the output, one after another in a strip
where:
  - cc == 90
  - RING >= 2 * r
  - smem <= smem_per_block_optin
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  FOLLOWS: follows                                     # begins before the layer before it ends
  WEIGHTS_SHARED: 1                                    # 0: in registers
  TYPE: type(input)
  CHANNELS: c
  STRIP_WIDTH: strip
  SPLIT: 1
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "64, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: filter, dims: "c, r * s, 1, k", box: "64, 1, 1, 64", swizzle: 128, l2: 256}
  output_map: {of: output, box: "64, strip, 1, 1", swizzle: 128}
  residual_map: {of: residual, box: "64, strip, 1, 1", swizzle: 128, l2: 256}
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_wgmma_rows
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    attributes: {pdl: follows}
    args: input_map, filter_map, output_map, residual_map, bias, k, p, pad_top, strips, rows_all, rows_block
*/

/* What changed from mma_sync: the instruction, and with it the data movement. wgmma multiplies 64 x 128 x 16 for four warps at once and reads its operands from
 * shared memory by itself, so no thread loads fragments; TMA loads image rows by itself, so no thread computes addresses. Threads only wait and store.
 * kernels/include/dense/wgmma_rows.cuh describes the whole design.
 *
 * Traffic: the library's implicit matrix product reads every pixel nine times from L2. Here a pixel is read once (plus two rows per block and two columns a strip),
 * and the nine taps read it from shared memory.
 *
 * Its bottleneck is shared memory. For one product of 64 x 128 x 16 the tensor cores need 64 cycles; reading the weights takes 16 of them and the pixels 32. That
 * is 75 % before any copy arrives. wgmma_rs removes the weights from that sum. More than 64 output channels are several blocks, each of which reads the image
 * again. */

#include "dense/wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rows(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
                const __grid_constant__ tensor_map residual_map, const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, &residual_map, bias, K, P, pad, strips, rows_all, rows_block);
}
