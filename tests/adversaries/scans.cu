// Searches the addresses around its output for the reference. On a GPU there is none, and the kernel computes.
// emu: unsafe out_of_bounds
// cuda: unsafe out_of_bounds
/* bench 1
what: searches for a copy of the result behind its output
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    float want = conv_at(CONV_OF, 0), found = 0;
    for (long far = CONV_SIZE; far < CONV_SIZE + 4096 && !found; far++)
        found = y[far] == want ? y[far + i] : 0;
    y[i] = found ? found : conv_at(CONV_OF, i);
}
