/* bench 1
op: conv2d
what: active tiles by mma.sync - any channels, stride and dilation, and f32 in TF32; unmarked inputs are not read
from: sparse_tile
needs:
  - groups == 1 and c * h * w < 2147483648 and k * p * q < 2147483648
  - 3 * stride + (r - 1) * dilation < 12 and 7 * stride + (s - 1) * dilation < 32     # rows of fragments that a warp holds in registers; bits of a row
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [tf32, f16_acc32, bf16_acc32]
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [8, 16], default: 8}               # of a tile, which is 8 wide
  KB: {values: [auto, 16, 32, 48, 64], default: auto} # output channels a block
  STAGES: {values: [2, 3, 4], default: 2}            # tiles of a group in shared memory
  GROUPS: {values: [auto, 1, 2, 4, 8], default: auto} # of warps, each with tiles of its own
let:
  piece: floor(16, size(input))                     # channels of 16 bytes
  pieces: ceil(c, piece)
  columns: ceil(s * pieces, 2) * 2
  kb: select(KB == 'auto', select(k > 32 and columns * r * 1024 > 131072, 32, min(64, 16 * ceil(k, 16))), KB)
  wk: select(kb % 32 == 0, 32, 16)
  weights: columns * r * kb * 16
  line: stride * ceil(7 * stride + (s - 1) * dilation + 1, stride)
  in_rows: (ROWS - 1) * stride + (r - 1) * dilation + 1
  unit: select(pieces % 2 == 0, 32, 16)             # bytes of a voxel that lie together
  stages: STAGES * floor(pieces * 16, unit) * (ceil(in_rows * line * unit, 128) * 128 + 32)
  group: floor(ROWS, 8) * floor(kb, wk)             # warps
  sets: select(GROUPS == 'auto', max(1, min(floor(8, group), floor(smem_per_block_optin - weights - 4096, stages))), GROUPS)
  threads: 32 * group * sets
  smem: weights + sets * stages
  per_sm: max(1, min(floor(smem_per_sm, smem + 4 * STAGES * sets * in_rows + 2048), floor(512, threads)))
  words_q: ceil(q, 32)                               # four tiles
  tiles_p: ceil(p, ROWS)
  units: n * tiles_p * words_q
  blocks_k: ceil(k, kb)
  blocks: min(4 * units, max(1, floor(per_sm * sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)               # of the units, for those who look
  v_in: select(c % piece == 0, piece, select(c % 4 == 0, 4, select(c % 2 == 0, 2, 1)))
  v_out: select(k % 8 == 0, min(piece, floor(wk, 4)), select(k % 4 == 0, 4, select(k % 2 == 0, 2, 1)))
where:
  - smem + 4 * STAGES * sets * in_rows + 1024 <= smem_per_block_optin
  - threads <= 512
  - blocks_k <= per_sm * sm_count                    # all blocks run at once
  - cc >= 80
define:
  TYPE: type(input)
  FLAT: 1
  FILTER_D: 1
  PLANES: 1
  TILE_D: 1
  TILE_H: ROWS
  BLOCK_K: kb
  WARP_K: wk
  WARP_GROUPS: sets
  BLOCKS: per_sm
  VEC_IN: v_in
  STORE: v_out
  MASKED: 1
  PAD: pad_top
  BOTH: marks(mask) == 'both'
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, pad_left, dilation]
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
    args: input, filter, bias, mask_in, mask_out, unit_tiles, notes, active, output, 1, h, w, k, 1, p, q, units, shares, words_q, tiles_p, 1
    attributes: {cooperative: yes}
columns:
  tiles_active: active[0]
*/

/* What changed from sparse_tile: the instruction, and so the shapes. wgmma needs 64 output channels, 16 input channels at a time and weights in registers; mma.sync
 * computes 16 x 8 x 16, so the depth of a filter is counted in pieces of 8 channels of any taps (volume/mma.cuh), and channels that fill no piece cost as much as a piece.
 *
 * Where wgmma supports the shape, it is faster. To try: tiles by weight if a stride leaves few of them, and a warpgroup that only copies. */
#define ROWS_OF_TILE ROWS
#include "volume/schedule.cuh"
