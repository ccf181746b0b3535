// Launches kernels of its own, whose time bench would not measure.
// emu: broken
// cuda: broken
/* bench 1
what: launches a kernel from the device
like: right
*/
#include "conv.cuh"
__global__ void later(CONV_ARGS)
{
    long i = CONV_INDEX;
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
extern "C" __global__ void conv(CONV_ARGS)
{
    if (CONV_INDEX == 0)
        later<<<(unsigned)((CONV_SIZE + 127) / 128), 128>>>(x, f, y, N, C, H, W, K);
}
