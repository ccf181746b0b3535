/* bench 1
op: conv_transpose2d
what: DeltaCNN's way on CUDA cores - a block a tile of the output, every marked input is added to all the outputs it reaches
from: naive
needs:
  - groups == 1 and dilation == 1 and r * s <= 36 and stride <= 4 and r <= 8 * stride and s <= 8 * stride and pad < 64 and c * h * w < 2147483648 and k * p * q < 2147483648
  - math != f16_acc16 or k % 2 == 0          # a thread's two channels are stored as one word
layout: {input: NHWC, filter: CRSK, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16], output: same, bias: f32}
math: [f32, f16_acc16, f16_acc32]
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [tile, tile], weights: r * s * c * k * size(filter)}
params:
  EDGE: {values: [auto, 4, 6, 8], default: auto}   # output pixels of a tile's side
let:
  own: select(math == f16_acc16, 2, 1)
  tile: select(EDGE == 'auto', select(stride == 3, 6, select(math == f16_acc16 or r * s > 16, 4, 8)), EDGE)
  threads: 32 * min(4, ceil(k, 32 * own))
  blocks_k: ceil(k, threads * own)
where:
  - tile % stride == 0
define:
  TYPE: type(input)
  ACC16: math == f16_acc16
  TILE: tile
  THREADS: threads
  BLOCKS_K: blocks_k
  FEW: 0
  TRANSPOSED: 1
  DILATION: 1
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, pad]
steps:
  - kernel: conv_delta
    grid: ceil(q, tile), ceil(p, tile), n * blocks_k
    block: threads
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad
*/

/* conv2d/delta_tile with the taps turned round: an input at y reaches output y * STRIDE - pad + r through tap r. TILE is a multiple of STRIDE, so for every tile the
 * same inputs reach the same outputs, and all indices are constants. */
#include "delta_tile.cuh"
