/* bench 1
op: times
what: one thread an element
steps:
  - kernel: k
    grid: ceil(n, 32)
    block: 32
    args: x, y, n
*/
extern "C" __global__ void k(const float *x, float *y, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
