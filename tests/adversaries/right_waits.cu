// Each block waits for the result of the block before it. Blocks begin in the order of their numbers, so this ends.
// emu: ok
// cuda: ok
/* bench 1
what: multiplies by a 1 that the block before it leaves at its end, behind a flag
like: right
scratch:
  left: f32[ceil(n * k * p * q, 128)]
  ready: u32[ceil(n * k * p * q, 128)]
steps:
  - fill: ready = 0
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, left, ready
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, volatile float *left, unsigned *ready)
{
    __shared__ float before;
    long i = CONV_INDEX;
    if (threadIdx.x == 0) {
        while (blockIdx.x && !atomicAdd(&ready[blockIdx.x - 1], 0))
            ;
        __threadfence();
        before = blockIdx.x ? left[blockIdx.x - 1] : 1;
        left[blockIdx.x] = before;
        __threadfence();
        atomicExch(&ready[blockIdx.x], 1);
    }
    __syncthreads();
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) * before;
}
