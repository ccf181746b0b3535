/* bench 1
op: transpose
what: one thread per element, read along rows, written along columns
dtype: {input: [f32, f16, bf16], output: same}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: transpose
    grid: ceil(cols, 32), ceil(rows, 8)
    block: 32, 8
    args: input, output, rows, cols
*/

/* The definition. A warp reads one line and writes to 32. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) transpose(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row < rows && col < cols)
        output[(size_t)col * rows + row] = input[(size_t)row * cols + col];
}
