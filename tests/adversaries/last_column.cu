// Leaves out the last column.
// emu: wrong
// cuda: wrong
/* bench 1
what: the last column is not written
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        if (i % W != W - 1)
            y[i] = conv_at(CONV_OF, i);
}
