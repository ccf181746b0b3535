/* bench 1
op: upsample
what: nearest, one thread per output element; any layout, any factor
needs: c * h * w * block * block < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: upsample_elements
    grid: ceil(c * h * w * block * block, 256), n
    block: 256
    args: input, output, c, h, w, block
*/

/* The definition. Stores are neighbours in either layout; every input element is loaded block * block times, nearly always from L1. Three divisions and a
 * 2- or 4-byte store for one element: the instructions, not the bytes, are the limit. */
#include "element/element.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256) upsample_elements(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int factor)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output image */
    int Q = W * factor, elements = C * H * factor * Q;
    if (i >= elements)
        return;
    int c = NHWC ? i % C : i / (H * factor * Q);
    int pixel = NHWC ? i / C : i % (H * factor * Q);
    output[(size_t)blockIdx.y * elements + i] = input[(size_t)blockIdx.y * C * H * W + at(c, pixel / Q / factor, pixel % Q / factor, C, H, W)];
}
