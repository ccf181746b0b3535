/* bench 1
op: conv2d
what: delta_tile, and tiles of a few marked inputs are computed input by input
from: delta_tile
needs:
  - groups == 1 and r * s <= 49 and c * h * w < 2147483648 and k * p * q < 2147483648
  - math != f16_acc16 or k % 2 == 0          # a thread's two channels are stored as one word
layout: {input: NHWC, filter: CRSK, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16], output: same, bias: f32}
math: [f32, f16_acc16, f16_acc32]
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [tile, tile, dilation], weights: r * s * c * k * size(filter)}
params:
  EDGE: {values: [auto, 3, 4, 5, 6, 7, 8], default: auto}   # output pixels of a tile's side
  FEW: {values: [1, 2, 4, 6, 8], default: 4}     # marked inputs of a tile up to which it is
let:
  own: select(math == f16_acc16, 2, 1)
  tile: select(EDGE == 'auto', select(r == 1 and s == 1, 8, select(stride > 1 or r * s > 25, 3, select(r * s > 9, 4, select(math == f16_acc16, 5, 6)))), EDGE)
  threads: 32 * min(4, ceil(k, 32 * own))
  blocks_k: ceil(k, threads * own)
where:
  - FEW * r * s <= 72                        # sums in registers
define:
  TYPE: type(input)
  ACC16: math == f16_acc16
  TILE: tile
  THREADS: threads
  BLOCKS_K: blocks_k
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, dilation]
steps:
  - kernel: conv_delta
    grid: ceil(q, tile * dilation) * dilation, ceil(p, tile * dilation) * dilation, n * blocks_k
    block: threads
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad
*/

/* What changed from delta_tile: FEW is a parameter, for every type and stride. A tile of n <= FEW marked inputs makes n * R * S products of each input channel in place of
 * TILE * TILE * R * S, but loads the same weights, and its sums n * R * S take registers from all tiles. */
#include "delta_tile.cuh"
