// Leaves out the last block's part, where an earlier launch may have left the right result.
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
