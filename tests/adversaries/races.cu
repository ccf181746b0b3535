// Has a race. The result is right by luck.
// emu: unsafe race
// cuda: wrong
/* bench 1
what: a block shares sums without waiting for them
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    __shared__ float sums[128];
    long i = CONV_INDEX;
    sums[threadIdx.x] = i < CONV_SIZE ? conv_at(CONV_OF, i) : 0;
    int other = threadIdx.x ^ 64;
    __nanosleep(2000);
    long j = blockIdx.x * 128L + other;
    if (j < CONV_SIZE)
        y[j] = sums[other];
}
