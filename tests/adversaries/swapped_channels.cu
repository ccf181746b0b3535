// Swaps two channels.
// emu: wrong
// cuda: wrong
/* bench 1
what: output channels 1 and 2 are exchanged
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        {
            long plane = (long)H * W, k = i / plane % K;
            y[i] = conv_at(CONV_OF, i + (k == 1 ? plane : k == 2 ? -plane : 0));
        }
}
