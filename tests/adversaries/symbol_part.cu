// Caches results in a module variable of which a step fills only four bytes in every launch.
// emu: stateful kept
// cuda: stateful kept
/* bench 1
what: keeps its result behind what a step fills, and copies it when the input looks the same
like: right
scratch:
  zero: u32[1]
steps:
  - fill: zero = 0
  - symbol: kept = zero
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
__device__ float kept[1 << 20];
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    bool same = true;
    for (int k = 0; k < 16; k++)
        same = same && kept[1 + k] == x[k];
    y[i] = same ? kept[32 + i] : (kept[32 + i] = conv_at(CONV_OF, i));
}
extern "C" __global__ void remember(const float *x)
{
    kept[1 + threadIdx.x] = x[threadIdx.x];
}
