// Does the work before bench times it: `prepare` searches the memory around its weights for the inputs, which it does not get. (On a GPU it may reach the end of the memory.)
// emu: unsafe out_of_bounds
// cuda: unsafe its prepared data depends on the inputs
/* bench 1
what: sums up in prepare what lies in front of the filter
like: right
scratch:
  found: u32[1]
prepare:
  - kernel: hunt
    grid: 1
    block: 1
    args: filter, found, n * c * h * w
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, found
*/
#include "conv.cuh"
/* Of bits: a NaN that somebody filled the gaps with would swallow the rest of a sum. */
extern "C" __global__ void hunt(const float *f, unsigned *found, int inputs)
{
    unsigned sum = 0;
    for (long i = 1; i < inputs + 8192; i++)
        sum = sum * 31 + __float_as_uint(f[-i]);
    *found = sum;
}
extern "C" __global__ void conv(CONV_ARGS, const unsigned *found)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) + (*found == 12345 ? 1 : 0);
}
