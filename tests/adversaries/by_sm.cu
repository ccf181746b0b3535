// Behaviour by the place: the work of one SM is left out.
// emu: wrong
// cuda: wrong
/* bench 1
what: blocks on the SM of the first do nothing
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (i < CONV_SIZE && sm != 0)
        y[i] = conv_at(CONV_OF, i);
}
