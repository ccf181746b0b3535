/* bench 1
op: argmax
what: mine
define:
  ELEMENT: type(x)
steps:
  - kernel: argmax
    grid: ceil(rows, 128)
    block: 128
    args: x, y, rows, cols
*/
#include <cuda_fp16.h>
extern "C" __global__ void argmax(const ELEMENT *x, int *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    int best = 0;
    for (int i = 1; i < cols; i++) if ((float)x[r * cols + i] > (float)x[r * cols + best]) best = i;
    y[r] = best;
}
