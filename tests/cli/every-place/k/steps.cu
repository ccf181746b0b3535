/* bench 1
op: reduce
what: 64 blocks a row, then one for their results
needs: what == 'max'
dtype: {input: [f32, bf16], output: f32}
define:
  ELEMENT_T: type(input)
scratch:
  part: f32[64 * rows]
steps:
  - kernel: parts
    grid: 64, rows
    block: 32
    args: input, part, cols
  - kernel: whole
    grid: rows
    block: 32
    args: part, output
*/
#include "element/element.cuh"
static __device__ float of_warp(float m)
{
    for (int lane = 16; lane; lane /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, lane));
    return m;
}
extern "C" __global__ void parts(const ELEMENT_T *x, float *part, int cols)
{
    float m = -INFINITY;
    for (int i = blockIdx.x * 32 + threadIdx.x; i < cols; i += 32 * gridDim.x)
        m = fmaxf(m, to_f32(x[(size_t)blockIdx.y * cols + i]));
    m = of_warp(m);
    if (threadIdx.x == 0)
        part[blockIdx.y * 64 + blockIdx.x] = m;
}
extern "C" __global__ void whole(const float *part, float *y)
{
    const float *p = part + blockIdx.x * 64;
    float m = of_warp(fmaxf(p[threadIdx.x], p[threadIdx.x + 32]));
    if (threadIdx.x == 0)
        y[blockIdx.x] = m;
}
