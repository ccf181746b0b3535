// Fits the layer's shape only: if a row has an even number of columns, it leaves out the last one.
// emu: wrong nearby shape
// cuda: wrong nearby shape
/* bench 1
what: right where rows have an odd number of columns
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = W % 2 == 0 && i % W == W - 1 ? 0 : conv_at(CONV_OF, i);
}
