// A correct kernel in two steps that overlap.
// emu: ok
// cuda: ok
/* bench 1
what: two steps, the second with programmatic dependent launch, which waits
like: right
needs: cc >= 90
scratch:
  sums: f32[n * k * p * q]
steps:
  - kernel: conv
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: input, filter, sums, n, c, h, w, k
  - kernel: give
    grid: ceil(n * k * p * q, 128)
    block: 128
    args: sums, output, n * k * p * q
    attributes: {pdl: yes}
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
    asm volatile("griddepcontrol.wait;" ::: "memory");
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < count)
        y[i] = sums[i];
}
