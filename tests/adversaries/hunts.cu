// The work is done before it is timed: prepare looks around its weights for the inputs that it is not given. (On a GPU it may meet the end of memory.)
// emu: unsafe out_of_bounds
// cuda: unsafe what it prepares depends on inputs
/* bench 1
what: sums up in prepare what lies in front of the filter
like: right
scratch:
  found: f32[1]
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
extern "C" __global__ void hunt(const float *f, float *found, int inputs)
{
    float sum = 0;
    for (long i = 1; i < inputs + 4096; i++)
        sum += f[-i];
    *found = sum;
}
extern "C" __global__ void conv(CONV_ARGS, const float *found)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) + (*found == 12345 ? 1 : 0);
}
