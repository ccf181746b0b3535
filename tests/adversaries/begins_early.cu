// A step begins while the step before it still runs, and reads its sums without waiting. The result is right by luck.
// emu: unsafe griddepcontrol.wait
// cuda: unsafe griddepcontrol.wait
/* bench 1
what: two steps, the second with programmatic dependent launch, and without the wait that belongs to it
like: right_pdl
*/
#include "conv.cuh"
extern "C" __global__ void conv(CONV_ARGS)
{
    long i = CONV_INDEX;
    asm volatile("griddepcontrol.launch_dependents;");
    if (i < CONV_SIZE)
        y[i] = conv_at(CONV_OF, i);
}
extern "C" __global__ void give(const float *sums, float *y, int count)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < count)
        y[i] = sums[i];
}
