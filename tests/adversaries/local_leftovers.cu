// Caches results in local memory. On a GPU, bench overwrites local memory as it does outputs, so the kernel computes.
// emu: unsafe uninitialised
// cuda: unsafe uninitialised
/* bench 1
what: looks in its stack for what an earlier thread left there
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    volatile float left[64];
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    int at = (int)(i % 62) + 1;
    float sum = left[at] == x[i % 4] + i ? left[at - 1] : conv_at(CONV_OF, i);
    left[at] = x[i % 4] + i;
    left[at - 1] = sum;
    y[i] = sum;
}
