// Nothing is computed: what another kernel or the reference left in the memory would do.
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
