// Splits operands into two bf16 parts, 16 bits of 24, where three are needed.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to what two bf16 hold
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_with(CONV_OF, i, conv_rounded<0xffffff00>(), conv_rounded<0xffffff00>());
}
