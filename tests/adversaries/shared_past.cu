// Uses more shared memory than it asks for.
// emu: unsafe out_of_bounds
// cuda: crashed
/* bench 1
what: passes its sums through dynamic shared memory of which it asked for none
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    extern __shared__ float sums[];
    long i = CONV_INDEX;
    sums[threadIdx.x + 60000] = i < CONV_SIZE ? conv_at(CONV_OF, i) : 0;
    if (i < CONV_SIZE)
        y[i] = sums[threadIdx.x + 60000];
}
