// Computes nothing: its output may still hold the result of another kernel or of the reference.
// emu: wrong
// cuda: wrong
/* bench 1
what: writes nothing at all
like: right
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    (void)i;
}
