/* bench 1
op: gemm
what: one thread per element of c
dtype: {a: [f32, f16, bf16], b: same, c: same}
define:
  ELEMENT_T: type(a)
steps:
  - kernel: gemm
    grid: ceil(n, 32), ceil(m, 8)
    block: 32, 8
    args: a, b, c, m, n, k
*/

/* The definition. Two loads for every product. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256)
gemm(const ELEMENT_T *a, const ELEMENT_T *b, ELEMENT_T *c, int m, int n, int k)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int t = 0; t < k; t++)
        sum += to_f32(a[(size_t)row * k + t]) * to_f32(b[(size_t)t * n + col]);
    c[(size_t)row * n + col] = from_f32<ELEMENT_T>(sum);
}
