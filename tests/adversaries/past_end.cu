// Writes behind the last element of the output.
// emu: unsafe output
// cuda: unsafe output
/* bench 1
what: writes one element behind the output
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i == 0)
        y[CONV_SIZE] = 1;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
