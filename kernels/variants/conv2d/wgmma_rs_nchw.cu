/* bench 1
op: conv2d
what: wgmma_rs for NCHW - the producer turns every row once on its way through shared memory
from: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64
  - c % 8 == 0 and w % 8 == 0 and q % 8 == 0            # 16 bytes: the copy engine's grain
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NCHW, filter: KRSC, output: NCHW, residual: NCHW}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
claims: c > 48 and k > 48
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [7], default: 7}                     # image rows in shared memory, after three that are still NCHW
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: (strip + 16) * 128
  rest: RING * row_bytes + 2 * strip * 128             # image rows, then results of two consumers; weights pass through the end of it
  smem: 1024 + 3 * row_bytes + max(rest, r * row_bytes + r * s * 8192) + 16 * RING + 72
  blocks_k: ceil(k, 64)
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
  SPLIT: 1
  NCHW: 1
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "strip + 16, 1, 64, 1", l2: 256}
  filter_map: {of: filter, dims: "c, r * s, 1, k", box: "64, 1, 1, 64", swizzle: 128, l2: 256}
  output_map: {of: output, box: "64, 1, 64, 1", swizzle: 128}
  residual_map: {of: residual, box: "64, 1, 64, 1", swizzle: 128, l2: 256}
steps:
  - kernel: conv_wgmma_rs
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, residual_map, bias, k, p, pad, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: both ends. In NCHW a pixel's channels are a whole image apart, and no operand of a tensor core can be read like that and shifted by
 * one pixel: 2 bytes is no legal address. The library makes NHWC copies of the whole input and of the whole output, three times the traffic.
 *
 *  - Input: turned_rows.cuh. Every row is still read once, in lines of a channel, and turned in shared memory: 36 pairs of ldmatrix and stmatrix for four warps
 *    in 2304 cycles.
 *  - Output: rows of the result are channels already, so stmatrix does not turn them, and the copy engine stores 128 bytes of each of 64 lines.
 *
 * What it costs: 54 KiB for rows on their way, so the ring is shorter, and no room to pass the weights of 128 output channels through it: more than 64
 * are several blocks, each of which reads the image. Widths that are no multiple of 8 pixels are not for the copy engine.
 * Measured on an H200, 64->64 at 720 x 1280, cold: 98 us, a tenth more than wgmma_rs. */

#define WEIGHTS_SHARED 0
#include "wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rs(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
              const __grid_constant__ tensor_map residual_map, const float *bias, int K, int P, int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, &filter_map, &output_map, &residual_map, bias, K, P, pad, strips, rows_all, rows_block);
}
