// Does the work before bench times it: `prepare` reads the input.
// emu: broken prepare has the argument `input`
// cuda: broken prepare has the argument `input`
/* bench 1
what: convolves in prepare, and copies in what is timed
like: right
scratch:
  cache: output[n * k * p * q]
prepare:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, cache, n, c, h, w, k
steps:
  - copy: output = cache
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
