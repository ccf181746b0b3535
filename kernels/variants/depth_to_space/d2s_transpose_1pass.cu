/* bench 1
op: depth_to_space
what: reshape + one generic 6-D transpose + reshape, one thread per element
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  # The input as seven numbers: sizes of (n, dy, dx, C', h, w) and their strides; the kernel walks them in the output's order.
  nhwc: layout(input) == NHWC
  co: c / (block * block)
  hw: h * w
  pixel: select(nhwc, 1, hw)                        # stride of a channel
  s_c: pixel * select(mode == CRD, block * block, 1)
  s_dy: pixel * select(mode == CRD, block, co * block)
  s_dx: pixel * select(mode == CRD, 1, co)
  s_h: select(nhwc, w * c, w)
  s_w: select(nhwc, c, 1)
define:
  ELEMENT_T: type(input)
steps:
  - kernel: transpose_6d
    grid: ceil(c * h * w, 256), n
    block: 256
    args: input, output, c * h * w, select(nhwc, s_h, s_c), select(nhwc, block, h), select(nhwc, s_dy, s_h), select(nhwc, w, block), select(nhwc, s_w, s_dy), select(nhwc, block, w), select(nhwc, s_dx, s_w), select(nhwc, co, block), select(nhwc, s_c, s_dx)
*/

/* What a framework runs for pixel_shuffle: view the channels as (r, r, C') or (C', r, r), transpose the six axes so that dy follows h and dx follows w,
 * and view the result as one image again. Both views are free; the transpose is a general library kernel.
 *
 * One pass reads and writes every element once, and its stores are contiguous. Its loads are not: consecutive outputs come from different planes (NCHW)
 * or from channels r * r apart (CRD), so a warp's load touches up to 32 sectors. And it divides five times for every element to find its position: an
 * integer division is some 20 instructions. d2s_native removes both. */
#include "element/element.cuh"

/* Output index i of an image is (((a * B + b) * D + d) * E + e) * F + f; each axis has its stride in the input. The batch is blockIdx.y. */
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
