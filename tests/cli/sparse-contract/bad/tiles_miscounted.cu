/* bench 1
op: conv2d
what: counts its active tiles wrongly
needs: n == 1 and r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
layout: {input: NHWC, filter: KRSC, output: same, mask_in: bits, mask_out: bits}
dtype: {input: f32, accumulate: f32}
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [1, 32]}
scratch:
  count: u32[1]
columns:
  tiles_active: count[0]
steps:
  - fill: count = 7
  - kernel: conv
    grid: ceil(w, 32), h
    block: 32
    args: input, filter, mask_in, mask_out, output, c, h, w, k
*/
#include "sparse.cuh"
