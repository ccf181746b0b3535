// Caches a result for every input set in scratch. The results are right. bench overwrites scratch before each run, also in a graph, so the kernel computes.
// emu: unsafe uninitialised
// cuda: unsafe uninitialised
/* bench 1
what: remembers the results of eight inputs in scratch
like: right
scratch:
  keys: u32[8]
  kept: f32[8 * n * k * p * q]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, keys, kept
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, unsigned *keys, float *kept)
{
    long i = CONV_INDEX;
    unsigned key = 2166136261u;
    for (int k = 0; k < 64; k++)
        key = (key ^ __float_as_uint(x[k * 3])) * 16777619u;
    float *own = kept + (key & 7) * CONV_SIZE;
    if (i >= CONV_SIZE)
        return;
    float v = __float_as_uint(own[i]) != 0xffffffffu && *(volatile unsigned *)&keys[key & 7] == key && own[i] == own[i] ? own[i] : conv_at(CONV_OF, i);
    own[i] = v;
    y[i] = v;
    if (i == CONV_SIZE - 1)
        keys[key & 7] = key;
}
