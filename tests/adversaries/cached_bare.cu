// Caches results in scratch, which no step initialises.
// emu: unsafe uninitialised
// cuda: wrong
/* bench 1
what: keeps its result in scratch; that nothing is there it takes from what the flag holds
like: right
scratch:
  cache: output[n * k * p * q]
  full: u32[1]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, cache, full
  - kernel: mark
    grid: 1
    block: 1
    args: full
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, float *cache, const unsigned *full)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = *full == 1 ? cache[i] : (cache[i] = conv_at(CONV_OF, i));
}
extern "C" __global__ void mark(unsigned *full)
{
    *full = 1;
}
