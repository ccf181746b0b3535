// Computes in tf32, a less precise type than the math mode allows.
// emu: wrong
// cuda: wrong
/* bench 1
what: rounds operands to TF32 in math mode f32
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_with(CONV_OF, i, conv_rounded<0xffffe000>(), conv_rounded<0xffffe000>());
}
