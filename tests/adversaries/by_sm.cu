// The blocks on every second SM do no work.
// emu: wrong
// cuda: wrong
/* bench 1
what: blocks on SMs of even numbers, where a GPU puts the first ones, do nothing
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (i < CONV_SIZE && sm % 2)
        y[i] = conv_at(CONV_OF, i);
}
