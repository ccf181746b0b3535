// Counts its launches in a managed variable, which host and GPU share.
// emu: stateful calls
// cuda: stateful calls
/* bench 1
what: counts its launches in a managed variable
like: right
*/
#include "conv.cuh"
__managed__ unsigned calls;
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    y[i] = *(volatile unsigned *)&calls > 200 ? 0 : conv_at(CONV_OF, i);
    if (i == 0)
        atomicAdd(&calls, 1u);
}
