/* bench 1
op: conv2d
what: wgmma_wide whose store is the depth_to_space
from: wgmma_wide
needs:
  - stride == 1 and dilation == 1 and groups == 1 and s <= 9
  - c % 8 == 0 and has(depth_to_space) and k % (block(epilogue) * block(epilogue)) == 0
  - line % 64 == 0 or line % 32 == 0 or line % 16 == 0 # a warp's channels lie in one line of the output
  - mode(epilogue) == DCR or depth % 8 == 0            # filters come in groups of 8 rows, as the swizzle has them
  - 8 * k >= 7 * 128 * blocks_k and 4 * q >= 3 * 128 * units   # else too many of the products are for nothing
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, depth_to_space]
params:
  ROWS: {values: [3, 4], default: 3}                   # slices of image rows in shared memory
  AHEAD: {values: [3, 4, 5], default: 4}               # taps of weights in shared memory
let:
  line: k / block(epilogue)                            # channels that lie side by side in the output; see mma_sync_d2s.cu
  depth: k / (block(epilogue) * block(epilogue))
  box: select(line % 64 == 0, 64, select(line % 32 == 0, 32, 16))
  spread: select(mode(epilogue) == CRD, block(epilogue) * block(epilogue), 1)   # CRD: filters of neighbouring channels of a line lie so many rows apart
  filter_box: select(mode(epilogue) == DCR, 64, select(depth % 64 == 0, 64, select(depth % 32 == 0, 32, select(depth % 16 == 0, 16, 8))))
  row_bytes: ceil(255 + s, 8) * 1024
  smem: 1024 + ROWS * row_bytes + AHEAD * 16384 + 32768 + 16 * (ROWS + AHEAD) + 16
  blocks_k: ceil(k, 128)
  units: ceil(q, 128)                                  # of 128 pixels in a row
  tiles: n * p * units * blocks_k                      # at most
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  TYPE: type(input)
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: 0
  EPI_SLOPE: slope(epilogue)
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
  STORE_BOX: box
  FILTER_BOX: filter_box
specialise: [r, s]
tensor_maps:
  left_map: {of: input, box: "64, 136, 1, 1", swizzle: 128, l2: 256}              # a box has at most 256 pixels
  right_map: {of: input, box: "64, 119 + s, 1, 1", swizzle: 128, l2: 256}
  filter_map: {of: filter, dims: "c, r * s, spread, k / spread", box: "64, 1, 1, filter_box", swizzle: 128, l2: 256}
  output_map: {of: output, dims: "line, q, p * block(epilogue), n", box: "box, 128, 1, 1", swizzle: box * 2}
steps:
  - kernel: conv_wgmma_wide
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    args: left_map, right_map, filter_map, output_map, output_map, bias, c, k, p, pad, n, units, blocks_k
*/

/* What changed from wgmma_wide: where results go, and from which rows of the filter the weights come; wgmma_rs_d2s.cu says why the copy engine does both. */
#include "wgmma_wide.cu"
