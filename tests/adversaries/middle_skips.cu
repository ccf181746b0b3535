// Counts launches since its preparation, and does no work in the middle of a long series, which bench does not check. But bench prepares each launch anew.
// emu: ok
// cuda: ok
/* bench 1
what: returns at once in the second launch and the third after its preparation
like: right
scratch:
  count: u32[1]
prepare:
  - fill: count = 0
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, count
  - kernel: counts
    grid: 1
    block: 1
    args: count
*/
#include "conv.cuh"
extern "C" __global__ void counts(unsigned *count)
{
    *count += 1;
}
extern "C" __global__ void conv(CONV_ARGS, const unsigned *count)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE || *count == 1 || *count == 2)
        return;
    y[i] = conv_at(CONV_OF, i);
}
