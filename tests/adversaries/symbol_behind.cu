// Caches results in constant memory. Kernels cannot write it, but a copy step can, after the kernel that reads what the launch before left there.
// emu: stateful before
// cuda: stateful before
/* bench 1
what: keeps its result in constant memory, and copies it when the input looks the same
like: right
scratch:
  kept: f32[n * k * p * q + 16]
define:
  SIZE: n * k * p * q
where:
  - n * k * p * q < 16000
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, kept
  - symbol: before = kept
*/
#include "conv.cuh"
__constant__ float before[SIZE + 16];
extern "C" __global__ void conv(CONV_ARGS, float *kept)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    bool same = true;
    for (int k = 0; k < 16; k++)
        same = same && before[SIZE + k] == x[k];
    y[i] = kept[i] = same ? before[i] : conv_at(CONV_OF, i);
    if (i < 16)
        kept[SIZE + i] = x[i];
}
