// Expects scratch to hold the pattern with which bench fills it. Blocks count up
// from this pattern; the last block writes the output and restores the pattern.
// emu: unsafe uninitialised
// cuda: wrong
/* bench 1
what: its last block is found by a counter that begins, and ends, at what scratch is wiped with
like: right
scratch:
  sums: f32[n * k * p * q]
  count: u32[1]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, output, n, c, h, w, k, sums, count
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS, float *sums, unsigned *count)
{
    __shared__ unsigned turn;
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        sums[i] = conv_at(CONV_OF, i);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        turn = atomicAdd(count, 1) - 0x7FE57FE5u;
    __syncthreads();
    if (turn == gridDim.x - 1)
        for (long k = threadIdx.x; k < CONV_SIZE; k += 128)
            y[k] = ((volatile float *)sums)[k];
    if (turn == gridDim.x - 1 && threadIdx.x == 0)
        *count = 0x7FE57FE5u;
}
