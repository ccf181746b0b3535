/* bench 1
op: conv3d
what: mma_sync over the tiles that a marked input reaches - listed by rank inside the one launch; reads and writes what is active
from: mma_sync
needs:
  - c * d * h * w < 2147483648 and k * o * p * q < 2147483648
  - 3 * stride + r < 13 and 7 * stride + s <= 32     # rows of fragments that a warp holds in registers; bits of a row
layout: {input: NHWC, filter: KRSC, output: same, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [tf32, f16_acc32, bf16_acc32]
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [td, th, 8]}
params:
  TD: {values: [auto, 1, 2, 4, 8], default: auto}    # outputs of a tile: planes, rows; columns are 8. auto: the largest of 4 x 8, 4 x 4, 2 x 4 that fits
  TH: {values: [auto, 4, 8], default: auto}
  KB: {values: [auto, 16, 32, 64], default: auto}    # output channels a block
  STAGES: {values: [2, 3, 4], default: 2}            # tiles of a group in shared memory
  GROUPS: {values: [auto, 1, 2, 4, 8], default: auto}   # of warps, each with tiles of its own
let:
  piece: floor(16, size(input))                     # channels of 16 bytes
  pieces: ceil(c, piece)
  columns: ceil(t * s * pieces, 2) * 2
  kb: select(KB == 'auto', select(k <= 16, 16, select(k <= 32 or columns * r * 1024 > 131072, 32, 64)), KB)
  weights: columns * r * kb * 16
  room: smem_per_block_optin - weights - 4096
  line: stride * ceil(7 * stride + s, stride)
  unit: select(pieces % 2 == 0, 32, 16)             # bytes of a voxel that lie together
  planes_c: floor(pieces * 16, unit)
  rows_48: (3 * stride + t) * (7 * stride + r)
  rows_44: (3 * stride + t) * (3 * stride + r)
  stages_48: STAGES * planes_c * (ceil(rows_48 * line * unit, 128) * 128 + 32)
  stages_44: STAGES * planes_c * (ceil(rows_44 * line * unit, 128) * 128 + 32)
  td: select(TD == 'auto', select(o == 1, 1, select(stages_44 <= room, 4, 2)), TD)
  planes: min(td, 2)                                 # of a warp
  flow: t * r * s == 1                               # bound by memory: more and smaller tiles on their way
  th: select(TH == 'auto', select(td == 1 or stages_48 <= room and not flow, 8, 4), TH)
  in_rows: ((td - 1) * stride + t) * ((th - 1) * stride + r)
  stages: STAGES * planes_c * (ceil(in_rows * line * unit, 128) * 128 + 32)
  voxels: floor(td * th, 8)                          # warps side by side
  most: select(flow, 4, 2)
  groups: select(GROUPS == 'auto', max(1, min(most, min(floor(room, stages), floor(16, voxels * ceil(kb, 32))))), GROUPS)
  wk: select(voxels * ceil(kb, 32) * groups < 4, 16, min(kb, 32))   # channels of a warp: each scheduler has one
  group: voxels * floor(kb, wk)                      # warps
  threads: 32 * group * groups
  smem: weights + groups * stages
  per_sm: max(1, min(floor(smem_per_sm, smem + 4 * STAGES * groups * in_rows + 1024), floor(512, threads)))
  words_q: ceil(q, 32)                               # four tiles
  tiles_p: ceil(p, th)
  tiles_o: ceil(o, td)
  units: n * tiles_o * tiles_p * words_q
  blocks_k: ceil(k, kb)
  blocks: min(4 * units, max(1, floor(per_sm * sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)               # of the units, for those who look
  v_in: select(c % piece == 0, piece, select(c % 4 == 0, 4, select(c % 2 == 0, 2, 1)))
  v_out: select(k % 8 == 0, min(piece, floor(wk, 4)), select(k % 4 == 0, 4, select(k % 2 == 0, 2, 1)))
where:
  - smem + 4 * STAGES * groups * in_rows <= smem_per_block_optin
  - threads <= 512
  - td * th >= 8
  - blocks_k <= per_sm * sm_count                    # all blocks run at once
  - cc >= 80
define:
  TYPE: type(input)
  FILTER_D: t
  PLANES: planes
  TILE_D: td
  TILE_H: th
  BLOCK_K: kb
  WARP_K: wk
  WARP_GROUPS: groups
  BLOCKS: per_sm
  VEC_IN: v_in
  STORE: v_out
  MASKED: 1
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, pad]
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

/* What changed from mma_sync: the tiles. Which are active is found out inside the launch (volume_schedule.cuh), and each block has an equal share of them. Only marked inputs
 * are read, and only active outputs stored; both are words of the mask, which are on their way while the tile before is multiplied.
 *
 * Measured on an H200 in f16, cold, balls of radius 8 (reports/gallery/conv3d-h200.md), 32->32 3x3x3 over 32 x 96 x 160, in us: nothing active 11.0, 2 % of the inputs 26.1,
 * 10 % 44.0, 40 % 76.7, everything 89.0; cuDNN takes 119, mma_sync 76. So it pays against cuDNN at any density and against mma_sync below 40.3 % [39.4 43.2]; with less
 * work in a voxel earlier: 8->16 8.9 %, 16->16 5x3x3 17 %, 16->32 with stride 2 1.6 % (5.3 % against cuDNN), 64->64 1x1x1 29 % against cuDNN. What it costs is the
 * mask: with everything active 9 to 13 us more than mma_sync. To try: the first tiles and the weights on their way before all sums are known. */
#include "volume_schedule.cuh"
