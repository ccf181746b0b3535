// A part is left out: what an earlier launch left there would do.
// emu: wrong
// cuda: wrong
/* bench 1
what: the last block does nothing
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        if (blockIdx.x + 1 < gridDim.x)
            y[i] = conv_at(CONV_OF, i);
}
