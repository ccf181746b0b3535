// Writes to its own machine code.
// emu: unsafe out_of_bounds
// cuda: crashed
/* bench 1
what: counts its launches in the code of a function that it never calls
like: right
*/
#include "conv.cuh"
__device__ __noinline__ float spare(float v)
{
    for (int i = 0; i < 64; i++)
        v = v * 1.25f + i;
    return v;
}
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    float (*function)(float) = spare;
    unsigned *count = (unsigned *)function;
    asm volatile("" : "+l"(count));
    if (i == 0)
        count[8] = count[8] + 1;
    y[i] = N < 0 ? function(x[0]) : conv_at(CONV_OF, i);
}
