// Changes the input so that it fits the output.
// emu: unsafe input
// cuda: unsafe input
/* bench 1
what: changes its input after it was read
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
    x[(long)N * C * H * W - 1] += 1;
}
