/* bench 1
op: conv2d
what: active tiles on tensor cores - tiles found by rank from the mask's own bits; weights stationary in registers
from: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and r * s * c <= 576 and r <= 9 and s <= 9 and k % 2 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [3, 4, 5, 6, 7, 8], default: 8}      # rows of a tile, which is 8 wide
  STAGES: {values: [4, 8, 12], default: 8}         # tiles with halo in shared memory
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  plane: ceil((ROWS + r - 1) * (s + 7) - 1, 8) * 128 + 16
  whole: STAGES * floor(c, 8) * plane + 4096 * ceil(ROWS, 2)                # bytes, of tiles and what is being stored
  weights: 64 * (r * s * c * 2 + 16)
  weights_at: select(whole + weights + 10240 <= smem_per_block_optin, whole, 0)   # behind them, or there before
  smem: max(whole, weights_at + weights)
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
  INPUTS: 0
  SWITCH: 0
  WEIGHTS_AT: weights_at
  PAD_MORE: pad_left - pad_top
  BOTH: marks(mask) == 'both'
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
    args: input, filter, bias, mask_in, mask_out, tile_bits, sums, notes, active, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles, shares, per_share
    attributes: {cooperative: yes, carveout: 100, pdl: yes}
columns:
  tiles_active: active[0]
*/

/* What changed from wgmma_rs: the work is a list of tiles and not a strip of rows. An 8 x 8 tile with its halo is 100 pixels for 64 outputs,
 * against 130 for 128, so whole images cost more; but 14 % of the tiles is 14 % of the work. One launch includes finding them: each block
 * reads a share of the mask, and all exchange their results. The launch also writes the output's mask, which is the next layer's input mask.
 *
 * Measured on an H200, 64 -> 64 3x3 at 720p, cold: blobs of 5 and 25 % of the inputs 22.7 us and 47.4 us, everything active 123.5 us, where cuDNN takes 146.4 us and
 * wgmma_rs 91.9 us. Nothing active 8.26 us (reports/gallery/sparsity_targets-h200.md).
 *
 * Cycles, by clock64: with blobs of 10 % a block has 17 tiles, and a tile takes 1270 cycles, where its products take 1224 at their ideal rate. Before the first of them pass 17,000
 * cycles: 3,000 until the block has read its share of the mask, 4,700 until it has all notes, 4,600 until its tiles are listed (6,300 when all four warps waited for the words of each
 * share), 3,000 for the marks and the first copies, 1,700 until those have arrived. With everything active a tile takes 1490 cycles, and waits for the loads of halos, pixel by pixel:
 * without these it is as fast as its products, without stores it is not. Prefetching the next tile to L2 was slower, a hint of 256 bytes no faster; handing the tensor cores over earlier,
 * or not at all, changed nothing. To try: TMA for tiles that are all marked; tiles of 8 x 16 if adjacent ones are active; less code between reading the mask and the first tile. */
#include "sparse/tiles.cuh"
