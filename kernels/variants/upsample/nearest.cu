/* bench 1
op: upsample
what: nearest at copy speed - one thread a vector of the input, stored to all its places, in either layout
from: nearest_warp
needs: block <= 8 and c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  run: select(nhwc, c, w)
  v: select(run % v_max == 0, v_max, select(run % 4 == 0, 4, select(run % 2 == 0, 2, 1)))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: v
specialise: [block]
steps:
  - kernel: nearest
    grid: ceil(c * h * w / v, 256), n
    block: 256
    args: input, output, c, h, w
*/

/* What changed from nearest_warp: threads, not warps, own vectors, so no lane idles whatever the number of channels; and NCHW works too: there a thread
 * reads VEC pixels of a row, widens them in registers to block vectors, and stores those to block rows.
 *
 * The traffic is one read and block * block writes of 16 bytes a thread, all neighbours: what is left is the DRAM's own rate of writing. */
#include "element.cuh"

using vec = pack<ELEMENT_T, VEC>;

extern "C" __global__ void __launch_bounds__(256) nearest(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= C * H * W / VEC)
        return;
    size_t image = (size_t)blockIdx.y * C * H * W;
    vec in = load_pack<ELEMENT_T, VEC>(input + image + (size_t)i * VEC);
    output += image * BLOCK * BLOCK;
    if (NHWC) {
        int c = i % (C / VEC) * VEC, pixel = i / (C / VEC);
        int x = pixel % W, y = pixel / W;
        for (int dy = 0; dy < BLOCK; dy++)
            for (int dx = 0; dx < BLOCK; dx++)
                store_pack<ELEMENT_T, VEC>(output + (((size_t)y * BLOCK + dy) * W * BLOCK + x * BLOCK + dx) * C + c, in);
        return;
    }
    int x = i % (W / VEC) * VEC, line = i / (W / VEC); /* line: row of a channel */
    output += (size_t)line * BLOCK * W * BLOCK + x * BLOCK;
#pragma unroll
    for (int j = 0; j < BLOCK; j++) {
        vec out;
#pragma unroll
        for (int e = 0; e < VEC; e++)
            out.item[e] = in.item[(j * VEC + e) / BLOCK];
#pragma unroll
        for (int dy = 0; dy < BLOCK; dy++)
            store_pack<ELEMENT_T, VEC>(output + (size_t)dy * W * BLOCK + j * VEC, out);
    }
}
