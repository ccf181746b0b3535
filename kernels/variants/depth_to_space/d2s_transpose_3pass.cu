/* bench 1
what: convert to the other layout, transpose there, convert back - a graph whose pixel_shuffle exists in one layout only
like: d2s_transpose_1pass
from: d2s_transpose_2pass
let:
  crd: mode == CRD
  # The middle pass works in the other layout: there NHWC input is NCHW. Axes in the order of its output, and their strides.
  pixel: select(nhwc, hw, 1)
  s_c: pixel * select(crd, block * block, 1)
  s_dy: pixel * select(crd, block, co * block)
  s_dx: pixel * select(crd, 1, co)
  s_h: select(nhwc, w, w * c)
  s_w: select(nhwc, 1, c)
scratch:
  turned: input[n * c * h * w]
  shuffled: input[n * c * h * w]
steps:
  - kernel: transpose_2d
    grid: ceil(c * h * w, 256), n
    block: 256
    args: input, turned, select(nhwc, hw, c), select(nhwc, c, hw)
  - kernel: transpose_6d
    grid: ceil(c * h * w, 256), n
    block: 256
    args: turned, shuffled, c * h * w, select(nhwc, s_c, s_h), select(nhwc, h, block), select(nhwc, s_h, s_dy), select(nhwc, block, w), select(nhwc, s_dy, s_w), select(nhwc, w, block), select(nhwc, s_w, s_dx), select(nhwc, block, co), select(nhwc, s_dx, s_c)
  - kernel: transpose_2d
    grid: ceil(c * h * w, 256), n
    block: 256
    args: shuffled, output, select(nhwc, co, hw * block * block), select(nhwc, hw * block * block, co)
*/

/* What changed from two passes: one more pass. This is the cost of a network in NHWC whose only kernel needs NCHW (or the reverse): NHWC -> NCHW,
 * shuffle, NCHW -> NHWC, three reads and three writes of every element, and both conversions transpose the whole image one element a thread.
 * layout/convert does the outer two passes properly; d2s_native makes all of them unnecessary. */
#include "element/element.cuh"

/* [rows][cols] -> [cols][rows] of each image. */
extern "C" __global__ void __launch_bounds__(256) transpose_2d(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows * cols)
        return;
    size_t image = (size_t)blockIdx.y * rows * cols;
    output[image + i] = input[image + (i % rows) * cols + i / rows];
}

/* As in d2s_transpose_1pass. */
extern "C" __global__ void __launch_bounds__(256) transpose_6d(const ELEMENT_T *input, ELEMENT_T *output, int elements, int stride_a, int B, int stride_b, int D,
                                                               int stride_d, int E, int stride_e, int F, int stride_f)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= elements)
        return;
    int f = i % F, rest = i / F;
    int e = rest % E;
    rest /= E;
    int d = rest % D;
    rest /= D;
    int b = rest % B, a = rest / B;
    size_t image = (size_t)blockIdx.y * elements;
    output[image + i] = input[image + a * stride_a + b * stride_b + d * stride_d + e * stride_e + f * stride_f];
}
