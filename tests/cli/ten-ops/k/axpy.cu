/* bench 1
op: axpy
what: mine
steps:
  - kernel: axpy
    grid: ceil(n, 128)
    block: 128
    args: a, b, y, n
*/
extern "C" __global__ void axpy(const float *a, const float *b, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * a[i] + b[i];
}
