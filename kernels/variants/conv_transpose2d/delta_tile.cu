/* bench 1
op: conv_transpose2d
what: DeltaCNN's method on CUDA cores - one block per tile of the output, every marked input is added to all the outputs it reaches
like: conv2d/delta_tile
from: naive
needs:
  - groups == 1 and dilation == 1 and r * s <= 36 and stride <= 4 and r <= 8 * stride and s <= 8 * stride and pad < 64 and c * h * w < 2147483648 and k * p * q < 2147483648
  - math != f16_acc16 or k % 2 == 0          # a thread's two channels are stored as one word
mask: {tile: [tile, tile]}
params:
  VERY_SPARSE: null
  EDGE: {values: [auto, 4, 6, 8], default: auto}   # output pixels of a tile's side
let:
  tile: select(EDGE == 'auto', select(stride == 3, 6, select(math == f16_acc16 or r * s > 16, 4, 8)), EDGE)
where:
  - tile % stride == 0
define:
  FEW: 0
  TRANSPOSED: 1
  DILATION: 1
specialise: [c, r, s, stride, pad]
steps:
  - kernel: conv_delta
    grid: ceil(q, tile), ceil(p, tile), n * blocks_k
    block: threads
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad
*/

/* conv2d/delta_tile with the taps reversed: an input at y reaches output y * STRIDE - pad + r through tap r. TILE is a multiple of STRIDE, so for every tile the
 * same inputs reach the same outputs, and all indices are constants. */
