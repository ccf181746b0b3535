/* bench 1
op: conv3d
what: mma_sync over the tiles that a marked input reaches - listed by rank inside the one launch; reads and writes what is active
from: mma_sync
needs:
  - c * d * h * w < 2147483648 and k * o * p * q < 2147483648
  - 3 * stride + r < 13 and 7 * stride + s <= 32     # rows of fragments that a warp holds in registers; bits of a row
layout: {input: NHWC, filter: KRSC, output: same, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [td, th, 8]}
params:
  TD: {values: [auto, 2, 4, 8], default: auto}       # outputs of a tile: planes, rows; columns are 8. auto: the largest of 4 x 8, 4 x 4, 2 x 4 that fits
  TH: {values: [auto, 4, 8], default: auto}
  KB: {values: [auto, 16, 32, 64], default: auto}    # output channels a block
  GROUPS: {values: [auto, 1, 2, 4], default: auto}   # of warps, each with tiles of its own
let:
  pieces: ceil(c, 8)
  columns: ceil(t * s * pieces, 2) * 2
  kb: select(KB == 'auto', select(k <= 16, 16, select(k <= 32 or columns * r * 1024 > 131072, 32, 64)), KB)
  wk: min(kb, 32)
  weights: columns * r * kb * 16
  room: smem_per_block_optin - weights - 4096
  line: stride * ceil(7 * stride + s, stride)
  skew: select(pieces == 2, 64, select(pieces == 4, 32, 16))
  rows_48: (3 * stride + t) * (7 * stride + r)
  rows_44: (3 * stride + t) * (3 * stride + r)
  stages_48: 2 * pieces * (ceil(rows_48 * line, 8) * 128 + skew)
  stages_44: 2 * pieces * (ceil(rows_44 * line, 8) * 128 + skew)
  td: select(TD == 'auto', select(stages_44 <= room, 4, 2), TD)
  th: select(TH == 'auto', select(2 * stages_48 <= room or kb == 64 and stages_48 <= room, 8, 4), TH)
  in_rows: ((td - 1) * stride + t) * ((th - 1) * stride + r)
  stages: 2 * pieces * (ceil(in_rows * line, 8) * 128 + skew)
  group: floor(td * th, 8) * floor(kb, wk)           # warps
  groups: select(GROUPS == 'auto', select(2 * stages <= room and group <= 8, 2, 1), GROUPS)
  threads: 32 * group * groups
  smem: weights + groups * stages
  per_sm: max(1, min(floor(smem_per_sm, smem + 8 * groups * in_rows + 1024), floor(512, threads)))
  words_q: ceil(q, 32)                               # four tiles
  tiles_p: ceil(p, th)
  tiles_o: ceil(o, td)
  units: n * tiles_o * tiles_p * words_q
  blocks_k: ceil(k, kb)
  blocks: min(4 * units, max(1, floor(per_sm * sm_count, blocks_k)))
  shares: min(128, blocks * blocks_k)               # of the units, for those who look
  v_in: select(c % 8 == 0, 8, select(c % 4 == 0, 4, select(c % 2 == 0, 2, 1)))
  v_out: select(k % 8 == 0, min(8, floor(wk, 4)), select(k % 4 == 0, 4, select(k % 2 == 0, 2, 1)))
where:
  - smem + 8 * groups * in_rows <= smem_per_block_optin
  - threads <= 512
  - blocks_k <= per_sm * sm_count                    # all blocks run at once
  - cc >= 80
define:
  TYPE: type(input)
  FILTER_D: t
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
  - kernel: conv3d_sparse_mma
    grid: blocks, blocks_k
    block: threads
    smem: smem
    args: input, filter, bias, mask_in, mask_out, unit_tiles, notes, active, output, d, h, w, k, o, p, q, units, shares, words_q, tiles_p, tiles_o
    attributes: {cooperative: yes}
columns:
  tiles_active: active[0]
*/

/* What changed from mma_sync: the tiles. Which are active is found out inside the launch (volume_schedule.cuh), and each block has an equal share of them. Only marked inputs
 * are read, and only active outputs stored; both are words of the mask, which are on their way while the tile before is multiplied. */
#include "volume_schedule.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
conv3d_sparse_mma(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, unsigned *units, unsigned *notes,
                  unsigned *tiles_active, TYPE *output, int D, int H, int W, int K, int O, int P, int Q, int count, int shares, int words_q, int tiles_p, int tiles_o)
{
    volume v = {D, H, W, K, O, P, Q};
    int own = blockIdx.y * gridDim.x + blockIdx.x;
    schedule all = {units, notes, count, shares, (count + shares - 1) / shares, words_q, tiles_p, tiles_o, (unsigned)(load_words(notes + own * 4).a >> 32) + 1};
    look_at_share(all, v, own, mask_in, mask_out);
    unsigned total = tiles_before[SHARES];
    if (own == 0 && threadIdx.x == 0)
        *tiles_active = total;
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x, rank = from + own_group();
    if (from == end)
        return;
    walk tiles(all, from);
    convolve_tiles(
        input, filter, bias, output, v,
        [&]() {
            volume_place at = {-1, 0, 0, 0};
            if (rank < end)
                at = tiles.seek(rank);
            rank += WARP_GROUPS;
            return at;
        },
        [&](const volume_place &at, int row) {
            int z = at.o * STRIDE - PAD + row / IN_H, y = at.p * STRIDE - PAD + row % IN_H, words = (W + 31) / 32;
            return z >= 0 && z < D ? mask_bits(mask_in + ((size_t)at.n * D + z) * H * words, y, at.q * STRIDE - PAD, H, words) : 0;
        });
}
