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
 * Measured on an H200, 64 -> 64 3x3 at 720p, cold (reports/gallery/sparsity_targets-h200.md): 1 % of the inputs at random 28.8 us and 5 % 65, where sparse_tile takes
 * 64 and 92 and wgmma_rs 91; with blobs it loses, 113 against 30 at 10 %.
 *
 * With 1 % a block has 131 inputs in parts and 608 outputs, four groups. Its 43,000 cycles, by clock64: 7,300 until all notes are there, 7,800 to list tiles, 7,900
 * to list rows and to gather (a warp alone, five times four tiles), then 5,000 a group: 1,500 to 2,000 for the products, 1,800 to add up and store, the rest barriers.
 * To ask for the weights before the notes are there kept those waiting as long. To try: all twelve warps list, since eight have nothing to do then; groups of 32
 * inputs of each consumer's own, so that one multiplies while the other adds up; parts of 8 rows where no more than 64 inputs are marked. */
#include "sparse_tiles.cuh"
