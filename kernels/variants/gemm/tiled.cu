/* bench 1
op: gemm
what: 64 x 64 of c a block, 4 x 4 a thread; tiles of a and b in shared memory
from: naive
dtype: {a: [f32, f16, bf16], b: same, c: same}
params:
  K_TILE: {values: [8, 16, 32], default: 16}
define:
  ELEMENT_T: type(a)
steps:
  - kernel: gemm
    grid: ceil(n, 64), ceil(m, 64)
    block: 256
    args: a, b, c, m, n, k
*/

/* What changed from naive: a block loads K_TILE columns of 64 rows of a and K_TILE rows of 64 columns of b into shared memory once; and a thread
 * computes 4 x 4 results, so 8 values read from there give 16 products, not one. a is transposed there, so that a thread's four rows are one load
 * of 16 bytes; its rows have 68 elements, 16 bytes more than necessary, against bank conflicts of the stores. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256)
gemm(const ELEMENT_T *a, const ELEMENT_T *b, ELEMENT_T *c, int m, int n, int k)
{
    __shared__ __align__(16) float of_a[K_TILE][68], of_b[K_TILE][64];
    int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64, y = threadIdx.x / 16 * 4, x = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (int t0 = 0; t0 < k; t0 += K_TILE) {
        for (int i = threadIdx.x; i < 64 * K_TILE; i += 256) {
            int row = i / K_TILE, t = i % K_TILE;
            of_a[t][row] = row0 + row < m && t0 + t < k ? to_f32(a[(size_t)(row0 + row) * k + t0 + t]) : 0;
        }
        for (int i = threadIdx.x; i < 64 * K_TILE; i += 256) {
            int col = i % 64, t = i / 64;
            of_b[t][col] = col0 + col < n && t0 + t < k ? to_f32(b[(size_t)(t0 + t) * n + col0 + col]) : 0;
        }
        __syncthreads();
#pragma unroll
        for (int t = 0; t < K_TILE; t++) {
            float4 u = *reinterpret_cast<const float4 *>(&of_a[t][y]), v = *reinterpret_cast<const float4 *>(&of_b[t][x]);
            float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 16; i++)
                sum[i / 4][i % 4] += us[i / 4] * vs[i % 4];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (row0 + y + i / 4 < m && col0 + x + i % 4 < n)
            c[(size_t)(row0 + y + i / 4) * n + col0 + x + i % 4] = from_f32<ELEMENT_T>(sum[i / 4][i % 4]);
}
