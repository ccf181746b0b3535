/* bench 1
op: conv2d
what: mma_sync whose store is the depth_to_space - the shuffle costs address arithmetic, no pass over memory
from: mma_sync
needs:
  - has(depth_to_space) and k % (8 * block(epilogue) * block(epilogue)) == 0   # eight neighbours of a store share (dy, dx)
  - groups == 1 and c % 16 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
  - 3 * stride + (r - 1) * dilation < 12     # rows of fragments that a warp holds in registers
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu, depth_to_space]
params:
  ROWS: {values: [auto, 8, 16], default: auto}     # of outputs in a tile, which is 16 wide; auto: 16 where two such tiles fit
  KB: {values: [auto, 32, 64], default: auto}      # output channels a block
let:
  pitch: 2 * c + 16
  tile_w: 15 * stride + (s - 1) * dilation + 1
  kb: select(KB == 'auto', select(k > 32 and r * s * 64 * pitch + 2 * tile_w * (7 * stride + (r - 1) * dilation + 1) * pitch <= smem_per_block_optin, 64, 32), KB)
  weights: r * s * kb * pitch
  rows: select(ROWS == 'auto', select(weights + 2 * tile_w * (15 * stride + (r - 1) * dilation + 1) * pitch <= smem_per_block_optin, 16, 8), ROWS)
  tile_h: (rows - 1) * stride + (r - 1) * dilation + 1
  smem: weights + 2 * tile_h * tile_w * pitch
  warp_rows: select(rows * kb >= 1024, 4, 2)       # eight warps where possible
  threads: 32 * (rows / warp_rows) * (kb / 32)
  tiles_x: ceil(q, 16)
  tiles_y: ceil(p, rows)
  tiles: n * tiles_y * tiles_x
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, threads)))
where:
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  TYPE: type(input)
  TILE_ROWS: rows
  BLOCK_K: kb
  WARP_ROWS: warp_rows
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: 0
  EPI_SLOPE: slope(epilogue)
  D2S_BLOCK: block(epilogue)
  D2S_CRD: mode(epilogue) == CRD
specialise: [c, r, s, stride, dilation]
steps:
  - kernel: conv_mma_sync
    grid: min(tiles, max(1, floor(per_sm * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, 0, output, h, w, k, p, q, pad, tiles_x, tiles_y, tiles
*/

/* What changed from mma_sync: where a finished pixel goes. The kernel is that file, compiled with D2S_BLOCK and D2S_CRD.
 *
 * depth_to_space gives each output channel k a pixel (dy, dx) of a block and a channel c of the shallow image. If k counts in the order (dy, dx, c), which is
 * DCR, then all channels of one dy are neighbours in row p * block + dy of the result, and those of the next pixel follow them: the store of a
 * plain NHWC convolution with another row pitch. PyTorch's order CRD counts (c, dy, dx); that only means that the weights, which every block
 * loads once into shared memory, are fetched from other rows of the filter. The bias follows.
 *
 * So the shuffle is free: the same number of bytes, the same 16-byte stores, none of the three to seven passes that the graph would run. A lane's eight
 * channels must belong to one (dy, dx), hence k % (8 * block * block) == 0. */
#include "mma_sync.cu"
