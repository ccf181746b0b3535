// Writes a NaN, which a careless comparison accepts.
// emu: wrong
// cuda: wrong
/* bench 1
what: one element is NaN
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = i == 7 ? nanf("") : conv_at(CONV_OF, i);
}
