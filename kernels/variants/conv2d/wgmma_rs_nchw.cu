/* bench 1
op: conv2d
what: wgmma_rs for NCHW - the producer turns every row once on its way through shared memory, stores go to lines
from: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64 and c % 2 == 0 and w % 8 == 0   # 16 bytes: the copy engine's rows
  - not has(residual) or q % 8 == 0        # 16 bytes of a line
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NCHW, filter: KRSC, output: NCHW, residual: NCHW}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [7, 8], default: 7}                  # image rows in shared memory, after four that are still NCHW
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: ceil(strip + s - 1, 8) * 1024
  smem: 1024 + RING * (row_bytes + 16) + 16 + 4 * (128 * 8 * ceil(strip + s - 1, 8) + 8) + select(has(residual), 2 * 64 * (strip * 2 + 16), 0)
  split: select(k > 64, 2, 1)                          # 2: the consumers hold different output channels, 1: they take rows in turn
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
  STRIP_WIDTH: strip
  SPLIT: split
  NCHW: 1
  VECTOR_ROW: q % 4 == 0
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "8 * ceil(strip + s - 1, 8), 1, 64, 1", l2: 256}
steps:
  - kernel: conv_wgmma_rs
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter, bias, residual, output, c, k, p, q, pad, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: both ends. In NCHW a pixel's channels are a whole image apart, and no operand of a tensor core can be read like that and shifted by
 * one pixel: 2 bytes is no legal address. The library makes NHWC copies of the whole input and of the whole output, three times the traffic.
 *
 *  - Input: the copy engine brings a row of 136 pixels x 64 channels as it is, and the warps of the producer, idle so far, turn it: ldmatrix loads 8x8
 *    blocks transposed, stmatrix stores them in the swizzled place where the taps expect them. 34 pairs of instructions for four warps in 2304 cycles.
 *    Every row is still read once. Rows of 136 pixels are 17 pieces of 16 bytes, so eight channels fall into eight bank groups.
 *  - Output: lanes hold pixels side by side already; two lanes exchange a register, and a quad stores 32 bytes of a line.
 *
 * What it costs: 70 KiB for rows on their way, so the ring is shorter; and widths that are no multiple of 8 pixels are not for the copy engine. */

#define WEIGHTS_SHARED 0
#include "wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rs(const __grid_constant__ tensor_map input_map, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int C, int K, int P, int Q,
              int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, filter, bias, residual, output, C, K, P, Q, pad, strips, rows_all, rows_block);
}
