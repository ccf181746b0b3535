/* bench 1
op: conv2d
what: active inputs on tensor cores - what up to 64 of them contribute through each tap is one product, added up by output
from: sparse_tile
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and c <= 64 and r <= 3 and s <= 3 and k % 2 == 0
  - n * h * w < 4294967296 and n * p * q < 4294967296 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [4, 8], default: 8}               # rows of a tile, which is 8 wide
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  group: ceil(floor(c, 8) * 1040 + 1024 * r + 128 * r * s + 264, 128) * 128 # bytes, of up to 64 inputs
  weights_at: 4 * group                            # bytes; behind the groups, the weights come before the contributions
  smem: weights_at + 64 * (r * s * 64 + 4) * 4
  blocks_k: ceil(k, 64)
  blocks: min(tiles, max(1, floor(sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)             # of the tiles, for those who look
  per_share: ceil(ceil(tiles, 32), shares)         # of 32 tiles
where:
  - cc == 90
  - blocks_k <= sm_count                           # all blocks run at once
  - smem + 10240 <= smem_per_block_optin
define:
  TYPE: type(input)
  STORE: select(k % 8 == 0, 8, 2)
  WHOLE: 0
  PIXELS: 0
  INPUTS: 1
  SWITCH: 0
  WEIGHTS_AT: weights_at
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s]
scratch:
  tile_bits: u32[4 * tiles]
  sums: u32[8 * ceil(tiles, 32)]
  notes: u32[4 * blocks * blocks_k]
  active: u32[1]
prepare:
  - fill: tile_bits = 0
  - fill: sums = 0
  - fill: notes = 0
steps:
  - kernel: conv_tiles
    grid: blocks, blocks_k
    block: 384
    smem: smem
    args: input, filter, bias, mask_in, mask_out, tile_bits, sums, notes, active, output, h, w, k, p, q, pad, tiles_x, tiles_y, tiles, shares, per_share
    attributes: {cooperative: yes, carveout: 100}
columns:
  tiles_active: active[0]
*/

/* What changed from sparse_tile: where marks are scattered most tiles are active and few of their outputs; and what is not marked is zero. So the columns of a
 * product are marked inputs, wherever they are, and each is read once for the part of a tile that it reaches, where very_sparse reads it for every tap.
 *
 * Measured on an H200, 64 -> 64 3x3 at 720p, cold: 1 % of the inputs at random 29 us and 5 % 67 us, where sparse_tile takes 68 and 91, very_sparse 60 and 172, and
 * wgmma_rs 92; with 10 % it loses, 106 against 90. Most of the 29 us pass before the consumers have a group: its warp lists tiles for 5,500 cycles and rows for as
 * many. To try: all tiles of a share read at once. */
#include "sparse_tiles.cuh"
