// Writes zeros, which are right if the inputs are degenerate.
// emu: wrong
// cuda: wrong
/* bench 1
what: writes zeros
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = 0;
}
