// The question is thrown away: lines of its input that another reader would have to find.
// emu: unsafe input
// cuda: unsafe input
/* bench 1
what: computes, and discards the first line of its input from the L2
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i >= CONV_SIZE)
        return;
    y[i] = conv_at(CONV_OF, i);
    __threadfence();
    if (i == 0)
        asm volatile("discard.global.L2 [%0], 128;" ::"l"((const void *)((unsigned long long)x & ~127ull)) : "memory");
}
