// Never ends.
// emu: hung
// cuda: hung
/* bench 1
what: one thread waits for ever
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    volatile float *again = y;
    while (i == 0 && again[0] != 1234567.0f)
        ;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
