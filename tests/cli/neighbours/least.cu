/* bench 1
op: weights
what: a warp a row, from its largest value
dtype: {x: [f32, f16], y: same}
define: {ELT: type(x)}
steps:
  - kernel: k
    grid: rows
    block: 32
    args: x, y, rows, cols
*/
#include <cuda_fp16.h>
extern "C" __global__ void k(const ELT *x, ELT *y, int rows, int cols)
{
    x += (size_t)blockIdx.x * cols, y += (size_t)blockIdx.x * cols;
    float most = (float)x[0], sum = 0;
    for (int i = threadIdx.x; i < cols; i += 32)
        most = fmaxf(most, (float)x[i]);
    for (int d = 16; d; d /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    for (int i = threadIdx.x; i < cols; i += 32)
        sum += __expf((float)x[i] - most);
    for (int d = 16; d; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = threadIdx.x; i < cols; i += 32)
        y[i] = (ELT)(__expf((float)x[i] - most) / sum);
}
