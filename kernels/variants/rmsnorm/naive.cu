/* bench 1
op: rmsnorm
what: one thread per row, two passes over it
dtype: {input: [f32, f16, bf16], output: same, gain: same}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: rmsnorm
    grid: ceil(rows, 128)
    block: 128
    args: input, gain, output, rows, cols, eps
*/

/* The definition. A warp's threads stand on 32 rows: each of its loads touches 32 lines. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(128)
rmsnorm(const ELEMENT_T *input, const ELEMENT_T *gain, ELEMENT_T *output, int rows, int cols, float eps)
{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows)
        return;
    const ELEMENT_T *x = input + (size_t)row * cols;
    float squares = 0;
    for (int i = 0; i < cols; i++)
        squares += to_f32(x[i]) * to_f32(x[i]);
    float scale = 1 / sqrtf(squares / cols + eps);
    for (int i = 0; i < cols; i++)
        output[(size_t)row * cols + i] = from_f32<ELEMENT_T>(to_f32(x[i]) * scale * to_f32(gain[i]));
}
