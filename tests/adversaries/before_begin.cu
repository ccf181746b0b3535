// Writes before the first element of the output.
// emu: unsafe output
// cuda: unsafe output
/* bench 1
what: writes one element in front of the output
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i == 0)
        y[-1] = 1;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
