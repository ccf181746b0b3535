/* bench 1
op: gelu
what: mine
define:
  ELEMENT: type(x)
steps:
  - kernel: gelu
    grid: ceil(n, 128)
    block: 128
    args: x, y, n
*/
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void gelu(const ELEMENT *x, ELEMENT *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = (float)x[i];
    y[i] = (ELEMENT)(0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))));
}
