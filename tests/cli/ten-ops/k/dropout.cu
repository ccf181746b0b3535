/* bench 1
op: dropout
what: mine
define:
  ELEMENT: type(x)
steps:
  - kernel: dropout
    grid: ceil(n, 128)
    block: 128
    args: x, keep, y, n
*/
#include <cuda_fp16.h>
extern "C" __global__ void dropout(const ELEMENT *x, const unsigned char *keep, ELEMENT *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (ELEMENT)(keep[i] ? (float)x[i] / 0.75f : 0.f);
}
