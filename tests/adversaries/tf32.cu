// A lesser type than the math mode says.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to TF32, and says nothing of it
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_with(CONV_OF, i, conv_rounded<0xffffe000>(), conv_rounded<0xffffe000>());
}
