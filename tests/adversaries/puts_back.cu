// Changes its input and restores it; a thread that reads it in between gets a wrong value. A GPU does not record writes.
// emu: unsafe wrote the unchanged value to its input
// cuda: unsafe wrote the unchanged value to its input
/* bench 1
what: writes to its input and puts the value back
like: right
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
  - kernel: harm
    grid: 1
    block: 1
    args: input, n, c, h, w
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
extern "C" __global__ void harm(float *x, int N, int C, int H, int W)
{
    volatile float *last = x + (long)N * C * H * W - 1;
    float was = *last;
    *last = was + 1;
    *last = was;
}
