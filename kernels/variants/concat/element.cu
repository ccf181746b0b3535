/* bench 1
op: concat
what: the channels of input, then those of second, one thread per element; any layout, every pixel
needs: k * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
define:
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
steps:
  - kernel: concat_elements
    grid: ceil(k * h * w, 256), n
    block: 256
    args: input, second, output, c, k, h, w
*/

/* The definition, dense. */
#include "element/element.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256)
concat_elements(const ELEMENT_T *input, const ELEMENT_T *second, ELEMENT_T *output, int C, int K, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output image */
    if (i >= K * H * W)
        return;
    int k = NHWC ? i % K : i / (H * W), pixel = NHWC ? i / K : i % (H * W), y = pixel / W, x = pixel % W;
    size_t n = blockIdx.y, image = (size_t)H * W;
    output[n * K * image + i] = k < C ? input[n * C * image + at(k, y, x, C, H, W)] : second[n * (K - C) * image + at(k - C, y, x, K - C, H, W)];
}
