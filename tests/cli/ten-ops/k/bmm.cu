/* bench 1
op: bmm
what: mine
define:
  ELEMENT: type(a)
steps:
  - kernel: bmm
    grid: ceil(b * m * n, 128)
    block: 128
    args: a, w, bias, y, b, m, n, k
*/
#include <cuda_fp16.h>
extern "C" __global__ void bmm(const ELEMENT *a, const ELEMENT *w, const float *bias, ELEMENT *y, int b, int m, int n, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= b * m * n) return;
    int q = i / (m * n), r = i / n % m, c = i % n;
    float s = bias[c];
    for (int t = 0; t < k; t++) s += (float)a[(q * m + r) * k + t] * (float)w[(q * k + t) * n + c];
    y[i] = (ELEMENT)(s > 0 ? s : 0);
}
