// Computes only those elements whose output still holds NaN, with which bench fills outputs.
// emu: unsafe uninitialised
// cuda: wrong
/* bench 1
what: computes only where its output holds NaN
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        if (isnan(y[i]))
            y[i] = conv_at(CONV_OF, i);
}
