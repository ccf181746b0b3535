// Each block reads the result of the block before it without waiting: right only if blocks run one after another.
// emu: wrong right if the blocks run in the order of their numbers, but not in another order
// cuda: wrong
/* bench 1
what: multiplies by a 1 that the block before it leaves at its end
like: right
scratch:
  left: f32[ceil(n * k * p * q, 128)]
steps:
  - fill: left = 0
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, left
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, volatile float *left)
{
    long i = CONV_INDEX;
    float before = blockIdx.x ? left[blockIdx.x - 1] : 1;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) * before;
    __syncthreads();
    if (threadIdx.x == 0)
        left[blockIdx.x] = 1;
}
