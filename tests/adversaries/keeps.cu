// Caches results in module memory and finds them by the input's values.
// emu: stateful kept
// cuda: stateful kept
/* bench 1
what: keeps its result, and copies it when the input looks the same
like: right
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k
  - kernel: remember
    grid: 1
    block: 16
    args: input
*/
#include "conv.cuh"
__device__ float seen[16], kept[1 << 20];
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    bool same = true;
    for (int k = 0; k < 16; k++)
        same = same && seen[k] == x[k];
    y[i] = same ? kept[i] : (kept[i] = conv_at(CONV_OF, i));
}
extern "C" __global__ void remember(const float *x)
{
    seen[threadIdx.x] = x[threadIdx.x];
}
