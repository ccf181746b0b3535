/* bench 1
op: conv2d
what: active pixels on tensor cores - 64 of them a product, gathered tap by tap; only marked inputs are read
from: sparse_tile
needs:
  - stride <= 4 and (s - 1) * dilation < 32 and groups == 1 and c % 16 == 0 and r * s * c <= 576 and r <= 9 and s <= 9 and k % 2 == 0
  - r * s <= 16 and n * c * h * w < 34359738368 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [3, 4, 5, 6, 7, 8], default: 8}      # rows of a tile, which is 8 wide
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  taps: 20 * floor(c, 8) * 1040 + 16384                                     # bytes, of taps of 64 pixels and what is being stored
  weights: 64 * (r * s * c * 2 + 16)
  weights_at: select(taps + weights + 28672 <= smem_per_block_optin, taps, 0)     # behind them, or there before
  smem: max(taps, weights_at + weights)
  blocks_k: ceil(k, 64)
  blocks: min(tiles, max(1, floor(sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)             # of the tiles, for those who look
  per_share: ceil(ceil(tiles, 32), shares)         # of 32 tiles
where:
  - cc == 90
  - blocks_k <= sm_count                           # all blocks run at once
  - smem + 28672 <= smem_per_block_optin
define:
  TYPE: type(input)
  STORE: select(k % 8 == 0, 8, 2)
  WHOLE: 0
  PIXELS: 1
  INPUTS: 0
  SWITCH: 0
  WEIGHTS_AT: weights_at
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, dilation]
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

/* What changed from sparse_tile: scattered pixels make most tiles active and few of their pixels. Here the columns of a product are 64 active pixels, wherever
 * they are. Nothing is shared between the taps of a pixel, so each comes on its own: 8 KiB of shared memory a tap and 64 pixels; but an input that is not
 * marked is a zero that is not read, and a lone marked one is read nine times, eight of them from L2. */
#include "sparse_tiles.cuh"
