// Caches results in scratch. `prepare` clears the flag of the cache, and bench runs `prepare`
// before each launch, in a graph of back-to-back launches, too. So the cache is always empty.
// emu: ok
// cuda: ok
/* bench 1
what: keeps its result in scratch, and copies it from the second launch on
like: right
needs: r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1 and c < 16
scratch:
  cache: output[n * k * p * q]
  full: u32[1]
prepare:
  - fill: full = 0
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
