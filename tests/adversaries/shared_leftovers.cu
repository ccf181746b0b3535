// Caches results in shared memory. On a GPU, the flush before each cold round overwrites it, so the kernel computes.
// emu: unsafe uninitialised
// cuda: unsafe uninitialised
/* bench 1
what: looks in shared memory for what an earlier block left there
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    __shared__ float left[128], of[128];
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    float sum = of[threadIdx.x] == x[i % 4] + i && left[threadIdx.x] ? left[threadIdx.x] : conv_at(CONV_OF, i);
    of[threadIdx.x] = x[i % 4] + i;
    left[threadIdx.x] = sum;
    y[i] = sum;
}
