/* bench 1
op: add_constant
what: one thread per element; any layout
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same, shift: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: add_constant
    grid: ceil(c * h * w, 256), n
    block: 256
    args: input, shift, output, c, h * w
*/

/* The definition. In NHWC the constant is read plane by plane, from L2. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) add_constant(const ELEMENT_T *input, const ELEMENT_T *shift, ELEMENT_T *output, int C, int pixels)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= C * pixels)
        return;
    size_t at = (size_t)blockIdx.y * C * pixels + i;
    output[at] = from_f32<ELEMENT_T>(to_f32(input[at]) + to_f32(shift[NHWC ? i % C * pixels + i / C : i]));
}
