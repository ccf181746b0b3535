/* bench 1
op: upsample_bilinear
what: one thread a vector of the square between four input pixels - loaded once, block * block outputs made from them
from: warp
needs: block <= 8 and c * (h + 1) * (w + 1) < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  v: select(not nhwc, 1, select(c % v_max == 0, v_max, select(c % 4 == 0, 4, select(c % 2 == 0, 2, 1))))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: v
specialise: [block]
steps:
  - kernel: bilinear_cell
    grid: ceil(c * (h + 1) * (w + 1) / v, 256), n
    block: 256
    args: input, output, c, h, w
*/

/* What changed from warp: the thread owns not an output pixel but a cell, the square between the centres of four input pixels. All block * block outputs inside it are
 * made of the same four corners, with weights that are constants of the compiler: the corners are loaded once, and no position is worked out in floating point.
 * There is one row and one column of cells more than pixels; at the edges corners coincide, and half of the outputs lie outside.
 *
 * Threads follow the channels of NHWC in vectors of 16 bytes; in NCHW they follow the row, and a thread's `block` outputs of a row are written one by one. */
#include "element.cuh"

using vec = pack<ELEMENT_T, VEC>;

extern "C" __global__ void __launch_bounds__(256) bilinear_cell(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= C / VEC * (H + 1) * (W + 1))
        return;
    int c = NHWC ? i % (C / VEC) * VEC : i / ((H + 1) * (W + 1)), cell = NHWC ? i / (C / VEC) : i % ((H + 1) * (W + 1));
    int x = cell % (W + 1), y = cell / (W + 1); /* the cell's lower right corner is pixel (y, x) */
    input += (size_t)blockIdx.y * C * H * W;
    output += (size_t)blockIdx.y * C * H * W * BLOCK * BLOCK;
    vec corner[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int row = min(max(y - 1 + j / 2, 0), H - 1), column = min(max(x - 1 + j % 2, 0), W - 1);
        corner[j] = load_pack<ELEMENT_T, VEC>(input + (NHWC ? ((size_t)row * W + column) * C + c : ((size_t)c * H + row) * W + column));
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll
        for (int dx = 0; dx < BLOCK; dx++) {
            constexpr float step = 1.0f / BLOCK;
            float down = (dy + 0.5f) * step, across = (dx + 0.5f) * step;
            int p = y * BLOCK - BLOCK / 2 + dy, q = x * BLOCK - BLOCK / 2 + dx;
            if (p < 0 || q < 0 || p >= H * BLOCK || q >= W * BLOCK)
                continue;
            vec out;
#pragma unroll
            for (int e = 0; e < VEC; e++) {
                float upper = (1 - across) * to_f32(corner[0].item[e]) + across * to_f32(corner[1].item[e]);
                float lower = (1 - across) * to_f32(corner[2].item[e]) + across * to_f32(corner[3].item[e]);
                out.item[e] = from_f32<ELEMENT_T>((1 - down) * upper + down * lower);
            }
            store_pack<ELEMENT_T, VEC>(output + (NHWC ? ((size_t)p * W * BLOCK + q) * C + c : ((size_t)c * H * BLOCK + p) * W * BLOCK + q), out);
        }
}
