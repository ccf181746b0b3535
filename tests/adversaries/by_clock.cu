// The result depends on the clock.
// emu: wrong
// cuda: wrong
/* bench 1
what: works in one microsecond of two only
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    if (i < CONV_SIZE && ns / 1000 % 2)
        y[i] = conv_at(CONV_OF, i);
}
