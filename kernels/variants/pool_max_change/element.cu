/* bench 1
op: pool_max_change
what: max(stored + input) - max(stored) of each window, one thread per output element; any layout
like: pool_average/element
define:
  DIVISOR: null
  PAD_BOTTOM: null
  PAD_RIGHT: null
steps:
  - kernel: pool_max_change_elements
    grid: ceil(c * p * q, 256), n
    block: 256
    args: input, stored, output, c, h, w, p, q
*/

/* The definition. Neighbouring outputs load the same inputs again, from L1. */
#include "element/element.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256)
pool_max_change_elements(const ELEMENT_T *input, const ELEMENT_T *stored, ELEMENT_T *output, int C, int H, int W, int P, int Q)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output image */
    if (i >= C * P * Q)
        return;
    int c = NHWC ? i % C : i / (P * Q), pixel = NHWC ? i / C : i % (P * Q);
    size_t image = (size_t)blockIdx.y * C * H * W;
    float before = LEAST, after = LEAST;
    for (int r = 0; r < R; r++)
        for (int s = 0; s < S; s++) {
            int y = pixel / Q * STRIDE_Y - PAD_TOP + r * DILATION_Y, x = pixel % Q * STRIDE_X - PAD_LEFT + s * DILATION_X;
            if (y < 0 || y >= H || x < 0 || x >= W)
                continue;
            size_t e = image + at(c, y, x, C, H, W);
            float stored_value = to_f32(stored[e]);
            before = fmaxf(before, stored_value);
            after = fmaxf(after, stored_value + to_f32(input[e]));
        }
    output[(size_t)blockIdx.y * C * P * Q + i] = from_f32<ELEMENT_T>(after - before);
}
