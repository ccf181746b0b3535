// Ends itself with a trap.
// emu: crashed
// cuda: crashed
/* bench 1
what: stops at a trap
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i == 5)
        __trap();
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
