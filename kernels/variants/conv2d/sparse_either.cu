/* bench 1
op: conv2d
what: sparse_tile or sparse_inputs, decided on the device from the numbers of active tiles and inputs
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
  STAGES: {values: [4, 8, 12], default: 8}         # tiles with halo in shared memory
  SWITCH: {values: [4, 6, 8, 10, 12, 16, 24], default: 8}   # inputs are taken when an active tile has fewer of them
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  plane: ceil((ROWS + r - 1) * (s + 7) - 1, 8) * 128 + 16
  group: ceil(floor(c, 8) * 1040 + 1024 * r + 128 * r * s + 264, 128) * 128 # bytes, of up to 64 inputs
  inputs: 4 * group + 64 * (r * s * 64 + 4) * 4                             # groups, and their contributions
  whole: STAGES * floor(c, 8) * plane + 4096 * ceil(ROWS, 2)                # tiles and what is being stored
  weights: 64 * (r * s * c * 2 + 16)
  weights_at: select(max(4 * group, whole) + weights + 10240 <= smem_per_block_optin, max(4 * group, whole), 0)   # behind groups or tiles, or there before
  smem: max(inputs, whole, weights_at + weights)
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
  WHOLE: 1
  PIXELS: 0
  INPUTS: 1
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

/* Every block adds up how many tiles are active and how many inputs are marked, and comes to the same choice, so it costs no launch and is inside the time.
 *
 * On an H200 (reports/gallery/sparse_auto_grid-h200.md and sparsity_targets-h200.md) inputs win from three active tiles a block on, while a tile has fewer than about 8
 * of them; to count them, and the longer code, cost up to 2 us. When those pages were made a few tiles were taken by inputs as well: single pixels, 9 to 16 % behind
 * sparse_tile there, are why FEW_TILES is. */
#include "sparse_tiles.cuh"
