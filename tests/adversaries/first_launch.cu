// Counts its launches. The first is right; later launches write nothing.
// emu: stateful launches
// cuda: stateful launches
/* bench 1
what: does nothing from its second launch on
like: right
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
  - kernel: count
    grid: 1
    block: 1
*/
#include "conv.cuh"
static __device__ int launches;
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE && !launches)
        y[i] = conv_at(CONV_OF, i);
}
extern "C" __global__ void count()
{
    launches++;
}
