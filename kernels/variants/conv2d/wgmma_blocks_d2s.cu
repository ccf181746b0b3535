/* bench 1
op: conv2d
what: wgmma_blocks whose store is the depth_to_space
from: wgmma_blocks
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r <= 3 and s <= 9
  - c % 8 == 0 and has(depth_to_space) and k % (block(epilogue) * block(epilogue)) == 0
  - line % 64 == 0 or line % 32 == 0 or line % 16 == 0 # a warp's channels lie in one line of the output
  - mode(epilogue) == DCR or depth % 8 == 0            # filters come in groups of 8 rows, as the swizzle has them
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, depth_to_space]
params:
  STRIP: {values: [auto, 64, 128], default: auto}      # pixels of a row; auto: what wastes less of the last strip
  AHEAD: {values: [2, 3, 4], default: 3}               # taps of weights in shared memory
let:
  line: k / block(epilogue)                            # channels that lie side by side in the output; see mma_sync_d2s.cu
  depth: k / (block(epilogue) * block(epilogue))
  box: select(line % 64 == 0, 64, select(line % 32 == 0, 32, 16))
  spread: select(mode(epilogue) == CRD, block(epilogue) * block(epilogue), 1)   # CRD: filters of neighbouring channels of a line lie so many rows apart
  filter_box: select(mode(epilogue) == DCR, 64, select(depth % 64 == 0, 64, select(depth % 32 == 0, 32, select(depth % 16 == 0, 16, 8))))
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  halves: select(k <= 64, 1, 2)                        # of 64 output channels
  row_bytes: ceil(strip + s - 1, 8) * 1024
  smem: 1024 + 2 * (r + 1) * row_bytes + AHEAD * halves * 8192 + 2 * strip * 128 + 16 * (3 + AHEAD)
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
  STORE_BOX: box
  FILTER_BOX: filter_box
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "64, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: filter, dims: "c, r * s, spread, k / spread", box: "64, 1, 1, filter_box", swizzle: 128, l2: 256}
  output_map: {of: output, dims: "line, q, p * block(epilogue), n", box: "box, strip, 1, 1", swizzle: box * 2}
steps:
  - kernel: conv_wgmma_blocks
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, output_map, bias, c, k, p, pad, strips, pairs, blocks_k, tiles
*/

/* What changed from wgmma_blocks: where results go, and from which rows of the filter the weights come; wgmma_rs_d2s.cu says why the copy engine does both. */
#include "wgmma_blocks.cu"
