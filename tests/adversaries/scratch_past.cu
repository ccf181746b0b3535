// Writes behind the end of its scratch.
// emu: unsafe sums
// cuda: unsafe sums
/* bench 1
what: writes one element behind its scratch
like: right
scratch:
  sums: f32[n * k * p * q]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, sums, n, c, h, w, k
  - copy: output = sums
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i <= CONV_SIZE)
        y[i] = i < CONV_SIZE ? conv_at(CONV_OF, i) : 0;
}
