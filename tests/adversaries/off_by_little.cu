// Every sum is off by one part in 4096, which exact data show.
// emu: wrong
// cuda: wrong
/* bench 1
what: each sum is off by a part in 4096
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i) * (1 + 1.0f / 4096);
}
