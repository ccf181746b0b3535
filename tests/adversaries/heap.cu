// Caches results in memory that the kernel allocates with malloc.
// emu: stateful malloc
// cuda: stateful malloc
/* bench 1
what: leaves its result on the heap of the device
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    float sum = i < CONV_SIZE ? conv_at(CONV_OF, i) : 0;
    if (threadIdx.x == 0) {
        float *left = (float *)malloc(sizeof *left);
        if (left)
            *left = sum;
    }
    if (i < CONV_SIZE)
        y[i] = sum;
}
