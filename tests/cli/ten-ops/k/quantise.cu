/* bench 1
op: quantise
what: one warp a row
dtype: {x: f16, q: i8, s: f32}
steps:
  - kernel: quantise
    grid: rows
    block: 32
    args: x, q, s, cols
*/
#include <cuda_fp16.h>

extern "C" __global__ void quantise(const __half *x, signed char *q, float *s, int cols)
{
    float most = 0;
    x += blockIdx.x * cols;
    q += blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += 32)
        most = fmaxf(most, fabsf(__half2float(x[i])));
    for (int o = 16; o; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, o));
    float scale = most / 127;
    for (int i = threadIdx.x; i < cols; i += 32)
        q[i] = rintf(__half2float(x[i]) / scale);
    if (!threadIdx.x)
        s[blockIdx.x] = scale;
}
