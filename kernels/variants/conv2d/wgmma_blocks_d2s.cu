/* bench 1
op: conv2d
what: wgmma_blocks whose store is the depth_to_space
from: wgmma_blocks
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r <= 3 and s <= 9 and c % 8 == 0
  - has(depth_to_space) and k % (2 * block(epilogue) * block(epilogue)) == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, depth_to_space]
params:
  STRIP: {values: [auto, 64, 128], default: auto}      # pixels of a row; auto: what wastes less of the last strip
  AHEAD: {values: [2, 3, 4], default: 4}               # taps of weights in shared memory
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  halves: select(k <= 64, 1, 2)                        # of 64 output channels
  row_bytes: ceil(strip + s - 1, 8) * 1024
  smem: 1024 + 2 * (r + 1) * row_bytes + AHEAD * halves * 8192 + 16 * (2 + AHEAD)
  kp: 16 * ceil(k, 16)
  blocks_k: ceil(k, 64 * halves)
  strips: ceil(q, strip)
  pairs: ceil(p, 2)
  tiles: n * pairs * strips * blocks_k
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  TYPE: type(input)
  STRIP_WIDTH: strip
  HALVES: halves
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: 0
  EPI_SLOPE: slope(epilogue)
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
specialise: [r, s]
scratch:
  permuted: filter[kp * r * s * c]
tensor_maps:
  input_map: {of: input, box: "64, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
  weight_map: {of: permuted, dims: "c, s, r, kp", box: "64, 1, 1, 64 * halves", swizzle: 128, l2: 256}
prepare:
  - kernel: permute_filter
    grid: ceil(kp * r * s * c, 256)
    block: 256
    args: filter, permuted, k, r * s * c, kp
steps:
  - kernel: conv_wgmma_blocks
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    args: input_map, weight_map, bias, 0, output, c, k, p, q, pad, strips, pairs, blocks_k, tiles
*/

/* What changed from wgmma_blocks: the address of a store, and the order in which the prepare step lays the filter's channels; mma_sync_d2s.cu says why that is all. */
#include "wgmma_blocks.cu"
