// Fits the drawn values only: it takes negative inputs for 0.
// emu: wrong
// cuda: wrong
/* bench 1
what: takes its input for the result of a ReLU
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_with(CONV_OF, i, [](float v) { return fmaxf(0, v); }, conv_same());
}
