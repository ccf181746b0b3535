/* bench 1
op: variance
what: a thread a row, in two passes
dtype: {input: [f32, bf16], output: f32}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: variance
    grid: rows
    block: 1
    args: input, output, cols
*/
#include "element/element.cuh"
extern "C" __global__ void variance(const ELEMENT_T *in, float *y, int cols)
{
    const ELEMENT_T *x = in + (size_t)blockIdx.x * cols;
    float mean = 0, s = 0;
    for (int i = 0; i < cols; i++)
        mean += to_f32(x[i]);
    mean /= cols;
    for (int i = 0; i < cols; i++)
        s += (to_f32(x[i]) - mean) * (to_f32(x[i]) - mean);
    y[blockIdx.x] = s / cols;
}
