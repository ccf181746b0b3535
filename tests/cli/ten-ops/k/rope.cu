/* bench 1
op: rope
what: mine
define:
  ELEMENT: type(x)
steps:
  - kernel: rope
    grid: ceil(rows * d / 2, 128)
    block: 128
    args: x, y, rows, d
*/
#include <cuda_fp16.h>
extern "C" __global__ void rope(const ELEMENT *x, ELEMENT *y, int rows, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * d / 2) return;
    int r = i / (d / 2), c = i % (d / 2);
    float a = r * powf(10000.f, -2.f * c / d), s, o, u = (float)x[r * d + 2 * c], v = (float)x[r * d + 2 * c + 1];
    sincosf(a, &s, &o);
    y[r * d + 2 * c] = (ELEMENT)(u * o - v * s);
    y[r * d + 2 * c + 1] = (ELEMENT)(u * s + v * o);
}
