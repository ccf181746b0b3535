/* bench 1
op: pairs
what: one thread a number
steps:
  - kernel: pairs
    grid: ceil(length, 32)
    block: 32
    args: x, y, length
*/
extern "C" __global__ void pairs(const float *x, float *y, int length)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < length)
        y[i ^ 1] = x[i];
}
