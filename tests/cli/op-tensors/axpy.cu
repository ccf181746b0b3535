/* bench 1
op: axpy
what: a thread an element
dtype: {x: [f32, f16], y: same}
define: {ELEMENT: type(x)}
steps:
  - {kernel: axpy, grid: "ceil(rows * cols, 128)", block: 128, args: [x, y, rows, cols, alpha]}
*/
#include <cuda_fp16.h>

extern "C" __global__ void axpy(const ELEMENT *x, ELEMENT *y, int rows, int cols, float alpha)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols)
        y[i] = ELEMENT((float)y[i] + alpha * (float)x[i % cols]);
}
