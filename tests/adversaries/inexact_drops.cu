// Leaves out products with a small input; its head claims a larger tolerance in every way it can.
// emu: wrong
// cuda: wrong
/* bench 1
what: leaves out products with a small input, as an inexact winograd
like: right
algorithm: winograd
exact: no
*/
#include "conv.cuh"
struct dropped {
    __device__ float operator()(float v) const { return fabsf(v) < 0.002f ? 0 : v; }
};
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_with(CONV_OF, i, dropped(), conv_same());
}
