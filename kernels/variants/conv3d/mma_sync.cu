/* bench 1
op: conv3d
what: tensor cores by mma.sync - weights resident and double-buffered halo tiles in shared memory, taps by pointer shift; any channels
from: tiled
needs:
  - dilation == 1 and c * d * h * w < 2147483648 and k * o * p * q < 2147483648
  - 3 * stride + r < 13 and 7 * stride + s <= 32     # rows of fragments that a warp holds in registers; bits of a row
layout: {input: NHWC, filter: KRSC, output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
math: [tf32, f16_acc32, bf16_acc32]
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
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
  tiles_q: ceil(q, 8)
  tiles_p: ceil(p, th)
  tiles_o: ceil(o, td)
  tiles: n * tiles_o * tiles_p * tiles_q
  v_in: select(c % piece == 0, piece, select(c % 4 == 0, 4, select(c % 2 == 0, 2, 1)))
  v_out: select(k % 8 == 0, min(piece, floor(wk, 4)), select(k % 4 == 0, 4, select(k % 2 == 0, 2, 1)))
where:
  - smem + 4 * STAGES * groups * in_rows <= smem_per_block_optin
  - threads <= 512
  - td * th >= 8
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
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, pad]
steps:
  - kernel: conv3d_mma_sync
    grid: min(ceil(tiles, groups), max(1, floor(per_sm * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, output, d, h, w, k, o, p, q, tiles_p, tiles_q, tiles
*/

/* What changed from tiled: tensor cores multiply, and volume/mma.cuh loads their operands. A block keeps all weights of its output channels in shared memory and loops
 * over tiles, so weights are read once a block; a tile of 4 x 8 x 8 outputs of a 3 x 3 x 3 filter reads 2.3 inputs an output, from L2.
 *
 * Measured on an H200 in f16, cold, against cuDNN in the same run (reports/gallery/conv3d-h200.md; above 1 it is faster): 32->32 3x3x3 over 32 x 96 x 160 76.0 us,
 * 1.56 x; 64->64 1x1x1 25.5 us, 0.85 x; 16->32 3x3x3 stride 2 16.8 us, 1.32 x; 8->16 22.4 us, 2.20 x. Pieces of a voxel are in pairs, because otherwise every 32 bytes
 * were read twice; the tiles of the last round are on different SMs. Its bottleneck is mma.sync: warps wait for it or for their own last product. To try: wgmma with
 * voxels as rows. 1x1x1 is memory-bound, although it moves only the compulsory 31 MB: a group's loads, products and stores follow each other, and more tiles in flight
 * change little. To try there: consecutive voxels by TMA, results through shared memory. */
#include "volume/mma.cuh"

static __device__ __forceinline__ volume_place place_of(int tile, int tiles, int tiles_p, int tiles_q, int tiles_o)
{
    if (tile >= tiles)
        return {-1, 0, 0, 0};
    int row = tile / tiles_q, plane = row / tiles_p;
    return {plane / tiles_o, plane % tiles_o * TILE_D, row % tiles_p * TILE_H, tile % tiles_q * 8};
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
conv3d_mma_sync(const TYPE *input, const TYPE *filter, const float *bias, TYPE *output, int D, int H, int W, int K, int O, int P, int Q, int tiles_p, int tiles_q,
                int tiles)
{
    volume v = {D, H, W, K, O, P, Q};
    int tiles_o = (O + TILE_D - 1) / TILE_D, tile = own_group() * gridDim.x + blockIdx.x; /* the last round's go to different blocks */
    convolve_tiles(
        input, filter, bias, output, v,
        [&]() {
            volume_place at = place_of(tile, tiles, tiles_p, tiles_q, tiles_o);
            tile += gridDim.x * WARP_GROUPS;
            return at;
        },
        [&](const volume_place &at, int row) { return inside_bits(v, at, row); });
}
