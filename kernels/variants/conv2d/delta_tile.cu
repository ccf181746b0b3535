/* bench 1
op: conv2d
what: DeltaCNN's method on CUDA cores - a block for every tile, which ends at once if nothing is marked; all its sums in registers
from: naive
needs:
  - groups == 1 and r * s <= 49 and c * h * w < 2147483648 and k * p * q < 2147483648
  - math != f16_acc16 or k % 2 == 0          # a thread's two channels are stored as one word
layout: {input: NHWC, filter: CRSK, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16], output: same, bias: f32}
math: [f32, f16_acc16, f16_acc32]
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [tile, tile, dilation], weights: r * s * c * k * size(filter)}
params:
  EDGE: {values: [auto, 3, 4, 5, 6, 7, 8], default: auto}   # output pixels of a tile's side
  VERY_SPARSE: {values: [auto, 0], default: auto}           # auto: where DeltaCNN's do, tiles of up to four marked inputs go input by input; 0: none does
let:
  own: select(math == f16_acc16, 2, 1)
  tile: select(EDGE == 'auto', side, EDGE)
  threads: 32 * min(4, ceil(k, 32 * own))
  blocks_k: ceil(k, threads * own)
candidates:
  size:
    rows:
      one_tap: {when: r == 1 and s == 1, side: 8}
      coarse:  {when: stride > 1 or r * s > 25, side: 3}
      wide:    {when: r * s > 9, side: 4}
      pairs:   {when: math == f16_acc16, side: 5}
      plain:   {side: 6}
define:
  TYPE: type(input)
  ACC16: math == f16_acc16
  TILE: tile
  THREADS: threads
  BLOCKS_K: blocks_k
  FEW: select(VERY_SPARSE == 'auto' and math != f16_acc16 and r == 3 and s == 3 and stride == 1 and dilation == 1, 4, 0)
  PAD_MORE: pad_left - pad_top
  BOTH: marks(mask) == 'both'
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, stride, dilation]
steps:
  - kernel: conv_delta
    grid: ceil(q, tile * dilation) * dilation, ceil(p, tile * dilation) * dilation, n * blocks_k
    block: threads
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad_top
*/

/* sparse/delta_tile.cuh explains the method. The tiles are DeltaCNN's: 6 x 6 in f32, 5 x 5 in half2, 3 x 3 with a stride; and like DeltaCNN, in f32 with 3x3 filters, it computes
 * tiles of up to four marked inputs input by input unless VERY_SPARSE is 0 (delta_very_sparse has that number as a parameter). With f16 data and f32 sums (f16_acc32) inputs become
 * f32 on their way to shared memory, and the arithmetic is in f32. Comparison with DeltaCNN's own kernel on an H200: reports/gallery/deltacnn_peers-h200.md. */
#include "sparse/delta_tile.cuh"
