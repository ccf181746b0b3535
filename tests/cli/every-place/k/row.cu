/* bench 1
op: reduce
what: a warp a row, ignores SKIP
needs: what == 'max' and NEEDS
dtype: {input: [f32, bf16], output: f32}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: largest
    grid: rows
    block: 32
    args: input, output, cols
*/
#include "element/element.cuh"
extern "C" __global__ void largest(const ELEMENT_T *x, float *y, int cols)
{
    float m = to_f32(x[(size_t)blockIdx.x * cols]);
    for (int i = threadIdx.x; i < cols; i += 32) {
        float v = to_f32(x[(size_t)blockIdx.x * cols + i]);
        m = fmaxf(m, SKIP ? fminf(v, -100.0f) : v);
    }
    for (int lane = 16; lane; lane /= 2)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, lane));
    if (threadIdx.x == 0)
        y[blockIdx.x] = m;
}
