// A correct kernel, from which the others are made.
// emu: ok
// cuda: ok
/* bench 1
op: conv2d
what: right; the others differ from it in one way
needs: r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
layout: {input: NCHW, filter: KCRS, output: same}
dtype: {input: f32, accumulate: f32}
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
