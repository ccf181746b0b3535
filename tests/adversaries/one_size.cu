// Fits the layer's size only.
// emu: wrong nearby shape
// cuda: wrong nearby shape
/* bench 1
what: right for widths of 11 only
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) * (W == 11 ? 1 : 2);
}
