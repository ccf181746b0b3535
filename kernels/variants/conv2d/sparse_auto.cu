/* bench 1
op: conv2d
what: sparse_tile or very_sparse, decided tile by tile from the mask's popcounts
from: sparse_tile
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and r * s * c <= 576 and r <= 9 and s <= 9 and k % 2 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [3, 4, 5, 6, 7, 8], default: 8}      # rows of a tile, which is 8 wide
  STAGES: {values: [4, 8, 12], default: 8}         # tiles with halo in shared memory
  INPUTS: {values: [auto, 8, 16], default: auto}   # marked inputs of a tile up to which it is computed input by input
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  plane: ceil((ROWS + r - 1) * (s + 7) - 1, 8) * 128 + 16
  few: select(INPUTS == 'auto', select(r * s > 9, 8, 16), INPUTS)
  ring: max(STAGES * floor(c, 8) * plane, 64 * (r * s * c * 2 + 16))
  smem: ring + 8 * r * s * few * 80                # what inputs add, by consuming warp
  blocks_k: ceil(k, 64)
where:
  - cc == 90
  - smem + 16384 <= smem_per_block_optin
define:
  TYPE: type(input)
  FEW: few
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s]
scratch:
  tile_bits: u32[2 * tiles]
  inputs: u8[tiles]
  sums: u32[ceil(tiles, 32)]
  active: u32[1]
steps:
  - kernel: list_tiles
    grid: ceil(tiles, 128)
    block: 128
    attributes: {carveout: 100}                    # as conv_tiles, or an SM has to be empty in between
    args: mask_in, mask_out, tile_bits, inputs, sums, h, w, p, q, pad, tiles_x, tiles_y, tiles
  - kernel: conv_tiles
    grid: min(tiles, max(1, floor(sm_count, blocks_k))), blocks_k
    block: 384
    smem: smem
    args: input, filter, bias, mask_in, tile_bits, inputs, sums, active, output, h, w, k, p, q, pad, tiles_x, tiles_y, tiles
    attributes: {pdl: yes, carveout: 100}
columns:
  tiles_active: active[0]
*/

/* The choice is made by list_tiles from the mask's popcounts, tile by tile, and so is inside the time: a tile costs 1 for itself and 2 for every eight marked
 * inputs, or ROWS + 1 when it is computed whole, and blocks share the sum of the costs. */
#include "sparse_tiles.cuh"
