/* bench 1
op: conv2d
what: wgmma_rs whose store is the depth_to_space
from: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64 and c % 8 == 0
  - has(depth_to_space) and k % (2 * block(epilogue) * block(epilogue)) == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, depth_to_space]
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
  RING: {values: [6, 8, 10], default: 8}              # image rows in shared memory
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: ceil(strip + s - 1, 8) * 1024
  smem: 1024 + RING * (row_bytes + 16) + 16
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
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: 0
  EPI_SLOPE: slope(epilogue)
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "64, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
steps:
  - kernel: conv_wgmma_rs
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter, bias, 0, output, c, k, p, q, pad, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: the address of a store, and from which rows of the filter the weights come; mma_sync_d2s.cu explains both. With 128 output
 * channels and a block of 2, one consumer makes the upper and the other the lower row of every pair of output rows. */

#define WEIGHTS_SHARED 0
#include "wgmma_rows.cuh"

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_rs(const __grid_constant__ tensor_map input_map, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int C, int K, int P, int Q,
              int pad, int strips, int rows_all, int rows_block)
{
    convolve_rows(&input_map, filter, bias, residual, output, C, K, P, Q, pad, strips, rows_all, rows_block);
}
