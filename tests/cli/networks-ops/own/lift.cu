/* bench 1
op: lift
what: one thread an element, in whatever layout
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same, slope: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: lift
    grid: ceil(n * c * h * w, 128)
    block: 128
    args: input, slope, output, n * c * h * w, c, h * w
*/
#include "element/element.cuh"
extern "C" __global__ void lift(const ELEMENT_T *x, const ELEMENT_T *slope, ELEMENT_T *y, int count, int c, int plane)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= count)
        return;
    float v = to_f32(x[i]), a = to_f32(slope[NHWC ? i % c : i / plane % c]);
    y[i] = from_f32<ELEMENT_T>(v + a * v * fabsf(v));
}
