// Stores results behind its prepared data, and copies them from the second launch on.
// emu: stateful a launch changed the prepared data, where a kernel could keep results for later launches: `packed`
// cuda: stateful a launch changed the prepared data, where a kernel could keep results for later launches: `packed`
/* bench 1
what: the first launch's result lies behind its weights
like: right
scratch:
  packed: f32[k * c * 9 + n * k * p * q]
prepare:
  - kernel: pack
    grid: ceil(k * c * 9 + n * k * p * q, 128)
    block: 128
    args: filter, packed, k * c * 9, k * c * 9 + n * k * p * q
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, packed, output, n, c, h, w, k
*/
extern "C" __global__ void pack(const float *f, float *packed, int size, int all)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < all)
        packed[i] = i < size ? f[i] : 0;
}
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    float *tail = (float *)f + K * C * 9;
    if (i >= CONV_SIZE)
        return;
    if (tail[i] != 0)
        y[i] = tail[i];
    else
        tail[i] = y[i] = conv_at(CONV_OF, i);
}
