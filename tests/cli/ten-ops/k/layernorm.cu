/* bench 1
op: layernorm
what: mine
dtype: {x: [f32, f16], gain: same, shift: same, y: same}
define:
  ELEMENT: type(x)
steps:
  - kernel: layernorm
    grid: rows
    block: 256
    args: x, gain, shift, y, rows, cols, eps
*/
#include <cuda_fp16.h>
extern "C" __global__ void layernorm(const ELEMENT *x, const ELEMENT *gain, const ELEMENT *shift, ELEMENT *y, int rows, int cols, float eps)
{
    __shared__ float part[2][256];
    const ELEMENT *row = x + (size_t)blockIdx.x * cols;
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += 256) s += (float)row[i];
    part[0][threadIdx.x] = s; __syncthreads();
    for (int d = 128; d; d /= 2) { if (threadIdx.x < d) part[0][threadIdx.x] += part[0][threadIdx.x + d]; __syncthreads(); }
    float m = part[0][0] / cols, v = 0;
    for (int i = threadIdx.x; i < cols; i += 256) { float t = (float)row[i] - m; v += t * t; }
    part[1][threadIdx.x] = v; __syncthreads();
    for (int d = 128; d; d /= 2) { if (threadIdx.x < d) part[1][threadIdx.x] += part[1][threadIdx.x + d]; __syncthreads(); }
    float r = rsqrtf(part[1][0] / cols + eps);
    for (int i = threadIdx.x; i < cols; i += 256) y[(size_t)blockIdx.x * cols + i] = (ELEMENT)(((float)row[i] - m) * r * (float)gain[i] + (float)shift[i]);
}
