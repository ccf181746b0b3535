// Caches results in module memory and finds them by address.
// emu: stateful last
// cuda: stateful last
/* bench 1
what: does nothing when it is given the buffers of the launch before
like: right
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
  - kernel: remember
    grid: 1
    block: 1
    args: input
*/
#include "conv.cuh"
__device__ const float *last;
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE && last != x)
        y[i] = conv_at(CONV_OF, i);
}
extern "C" __global__ void remember(const float *x)
{
    last = x;
}
