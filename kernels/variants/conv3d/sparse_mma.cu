/* bench 1
what: mma_sync over the tiles that a marked input reaches - listed by rank inside the one launch; reads and writes what is active
like: mma_sync
layout: {mask_in: bits, mask_out: bits}
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [td, th, 8]}
let:
  words_q: ceil(q, 32)                               # four tiles
  units: n * tiles_o * tiles_p * words_q
  blocks_k: ceil(k, kb)
  blocks: min(4 * units, max(1, floor(per_sm * sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)               # of the units, for those who look
where:
  - smem + 4 * STAGES * groups * in_rows <= smem_per_block_optin
  - threads <= 512
  - td * th >= 8
  - blocks_k <= per_sm * sm_count                    # all blocks run at once
  - cc >= 80
define:
  MASKED: 1
  BOTH: marks(mask) == 'both'
scratch:
  unit_tiles: u32[4 * units]
  notes: u32[4 * blocks * blocks_k]
  active: u32[1]
prepare:
  - fill: unit_tiles = 0
  - fill: notes = 0
steps:
  - kernel: conv_active_tiles
    grid: blocks, blocks_k
    block: threads
    smem: smem
    args: input, filter, bias, mask_in, mask_out, unit_tiles, notes, active, output, d, h, w, k, o, p, q, units, shares, words_q, tiles_p, tiles_o
    attributes: {cooperative: yes}
columns:
  tiles_active: active[0]
*/

/* What changed from mma_sync: the tiles. The launch itself finds the active ones (volume/schedule.cuh), and each block has an equal share of them. It reads only marked
 * inputs, and stores only active outputs; both are words of the mask, which are loaded while the tile before is multiplied.
 *
 * Measured on an H200 in f16, cold, balls of radius 8 (reports/gallery/conv3d-h200.md), 32->32 3x3x3 over 32 x 96 x 160: nothing active 10.2 us, 1 % of the inputs 20.1 us,
 * 10 % 43.8 us, 50 % 80.9 us, everything 88.6 us; cuDNN 118.5 us, mma_sync 76.0 us. So it is faster than cuDNN at every density, and than mma_sync up to somewhere between
 * 25 and 50 % (with less work in a voxel, up to less). The difference is the cost of the mask. To try: load the first tiles and the weights before all sums are known. */
#include "volume/schedule.cuh"
