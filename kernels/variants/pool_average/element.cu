/* bench 1
op: pool_average
what: the mean of each window, one thread per output element; any layout
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
define:
  MEAN: 1                                          # 0: the largest
  DIVISOR: select(count_include_pad == 0, 2, ceil_mode)    # by how many taps the mean divides (element/tensor.cuh)
  PAD_BOTTOM: pad_bottom
  PAD_RIGHT: pad_right
  NHWC: layout(input) == NHWC
  ELEMENT_T: type(input)
specialise: [r, s, stride_y, stride_x, pad_top, pad_left, dilation_y, dilation_x]
steps:
  - kernel: pool_elements
    grid: ceil(c * p * q, 256), n
    block: 256
    args: input, output, c, h, w, p, q
*/

/* The definition. Neighbouring outputs load the same inputs again, from L1. */
#include "element/element.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256)
pool_elements(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int P, int Q)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output image */
    if (i >= C * P * Q)
        return;
    int c = NHWC ? i % C : i / (P * Q), pixel = NHWC ? i / C : i % (P * Q);
    size_t image = (size_t)blockIdx.y * C * H * W;
    float value = MEAN ? 0.0f : LEAST;
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
            int y = pixel / Q * STRIDE_Y - PAD_TOP + r * DILATION_Y, x = pixel % Q * STRIDE_X - PAD_LEFT + s * DILATION_X;
            if (y < 0 || y >= H || x < 0 || x >= W)
                continue;
            size_t e = image + at(c, y, x, C, H, W);
            value = MEAN ? value + to_f32(input[e]) : fmaxf(value, to_f32(input[e]));
        }
    output[(size_t)blockIdx.y * C * P * Q + i] = from_f32<ELEMENT_T>(MEAN ? value / mean_of(pixel / Q * STRIDE_Y - PAD_TOP, pixel % Q * STRIDE_X - PAD_LEFT, H, W) : value);
}
