/* bench 1
op: conv2d
what: knows the pattern of its mask, of which it reads two rows
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
static __device__ bool folded(const unsigned *mask, int y, int x, int H, int W)
{
    return y >= 0 && y < H && x >= 0 && x < W && (mask[y % 2 * ((W + 31) / 32) + x / 32] >> (x % 32) & 1);
}
#define MARK_OF folded
#include "sparse.cuh"
