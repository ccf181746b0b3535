/* bench 1
op: reduce
what: one thread per row
dtype: {input: [f32, f16, bf16], output: f32}
define:
  ELEMENT_T: type(input)
  MAX: what == 'max'
steps:
  - kernel: reduce
    grid: ceil(rows, 128)
    block: 128
    args: input, output, rows, cols
*/

/* The definition. One long row is one thread's work. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(128) reduce(const ELEMENT_T *input, float *output, int rows, int cols)
{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows)
        return;
    float all = MAX ? LEAST : 0;
    for (int i = 0; i < cols; i++) {
        float x = to_f32(input[(size_t)row * cols + i]);
        all = MAX ? fmaxf(all, x) : all + x;
    }
    output[row] = all;
}
