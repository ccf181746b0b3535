// Counts launches in shared memory, which nothing overwrites between back-to-back launches, and does no work in the middle of a long series.
// emu: unsafe uninitialised
// cuda: wrong
// cuda: unsafe uninitialised
/* bench 1
what: a block an SM, which returns at once in launches 5 to 40 of those that found what the last one left
like: right
steps:
  - kernel: conv
    grid: sm_count
    block: 128
    smem: 200000
    args: input, filter, output, n, c, h, w, k
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    extern __shared__ unsigned left[];
    bool mine = left[40000] == 0x5eed1234u && left[40001] == ~left[40002];
    unsigned launch = mine ? left[40001] + 1 : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        left[40000] = 0x5eed1234u;
        left[40001] = launch;
        left[40002] = ~launch;
    }
    if (launch >= 4 && launch < 40)
        return;
    for (long i = CONV_INDEX; i < CONV_SIZE; i += gridDim.x * 128L)
        y[i] = conv_at(CONV_OF, i);
}
