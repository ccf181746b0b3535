/* bench 1
op: conv2d
what: takes a pixel for marked where any channel holds a value
needs: n == 1 and r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
layout: {input: NHWC, filter: KRSC, output: same, mask_in: bits, mask_out: bits}
dtype: {input: f32, accumulate: f32}
mask: {needs: input, writes: output, inactive: untouched, reads: all}
steps:
  - kernel: conv
    grid: ceil(w, 32), h
    block: 32
    args: input, filter, mask_in, mask_out, output, c, h, w, k
*/
static __device__ bool holds(const float *x, int y, int c, int H, int W)
{
    bool any = false;
    for (int i = 0; i < 4 && y >= 0 && y < H && c >= 0 && c < W; i++)
        any |= x[(y * W + c) * 4 + i] != 0;
    return any;
}
#define MARK_OF(mask, y, q, H, W) holds(x, y, q, H, W)
#include "sparse.cuh"
