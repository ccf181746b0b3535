/* bench 1
op: upsample
what: nearest, one warp per input pixel, lanes over its channels; a value is read once and stored block * block times
from: nearest_element
needs: h * w < 67108864
layout: {input: NHWC, output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  v_max: 16 / size(input)
  v: select(c % v_max == 0, v_max, select(c % 2 == 0, 2, 1))
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: nearest_warp
    grid: ceil(h * w, 8), n
    block: 32, 8
    args: input, output, c, h * w, w, block
*/

/* What changed from nearest_element: the thread follows the input, not the output. A warp takes one pixel, its lanes take the channels, and each lane stores
 * its vector to all block * block places: one load for block * block stores, and the divisions are paid once per pixel instead of once per
 * element. The loads and stores of a warp are one piece of memory.
 *
 * It wants channels: with 64 of them in 2-byte types and 16 bytes per lane, 8 lanes work and 24 idle. `nearest` gives lanes to pixels as well. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) nearest_warp(const ELEMENT_T *input, ELEMENT_T *output, int C, int pixels, int W, int factor)
{
    int pixel = blockIdx.x * 8 + threadIdx.y;
    if (pixel >= pixels)
        return;
    int y = pixel / W, x = pixel % W, Q = W * factor;
    input += ((size_t)blockIdx.y * pixels + pixel) * C;
    output += (((size_t)blockIdx.y * pixels * factor + (size_t)y * W * factor) * factor + x * factor) * C;
    for (int c = threadIdx.x * VEC; c < C; c += 32 * VEC) {
        pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + c);
        for (int dy = 0; dy < factor; dy++)
            for (int dx = 0; dx < factor; dx++)
                store_pack<ELEMENT_T, VEC>(output + ((size_t)dy * Q + dx) * C + c, v);
    }
}
