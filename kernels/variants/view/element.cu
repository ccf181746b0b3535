/* bench 1
op: view
what: one thread per output element, in the order of the output
needs: c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: view_elements
    grid: ceil(k * p * q, 256), n
    block: 256
    args: input, output, c, h * w, k, p * q, first, d2, d3, d4, d5, d6, s1, s2, s3, s4, s5, s6
*/

/* The definition: five divisions an element. Stores are whole lines; how many lines a warp loads depends on the axes. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256)
view_elements(const ELEMENT_T *input, ELEMENT_T *output, int C, int pixels, int K, int to_pixels, int first, int d2, int d3, int d4, int d5, int d6, int s1,
              int s2, int s3, int s4, int s5, int s6)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= K * to_pixels)
        return;
    int rest = NHWC ? i % K * to_pixels + i / K : i, at = first; /* in the order k, p, q; then c, h, w */
    const int size[5] = {d6, d5, d4, d3, d2}, step[5] = {s6, s5, s4, s3, s2};
#pragma unroll
    for (int axis = 0; axis < 5; axis++) {
        at += rest % size[axis] * step[axis];
        rest /= size[axis];
    }
    at += rest * s1;
    output[(size_t)blockIdx.y * K * to_pixels + i] = input[(size_t)blockIdx.y * C * pixels + (NHWC ? at % pixels * C + at / pixels : at)];
}
