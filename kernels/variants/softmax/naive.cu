/* bench 1
op: softmax
what: one thread per row, three passes over it
dtype: {input: [f32, f16, bf16], output: same}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: softmax
    grid: ceil(rows, 128)
    block: 128
    args: input, output, rows, cols
*/

/* The definition: the row's maximum, the sum of its powers, the quotients. A warp's 32 threads have 32 rows, so each of its loads touches 32
 * lines for 32 elements; and the row is loaded three times. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(128) softmax(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows)
        return;
    const ELEMENT_T *x = input + (size_t)row * cols;
    ELEMENT_T *y = output + (size_t)row * cols;
    float most = LEAST, sum = 0;
    for (int i = 0; i < cols; i++)
        most = fmaxf(most, to_f32(x[i]));
    for (int i = 0; i < cols; i++)
        sum += expf(to_f32(x[i]) - most);
    for (int i = 0; i < cols; i++)
        y[i] = from_f32<ELEMENT_T>(expf(to_f32(x[i]) - most) / sum);
}
