/* bench 1
op: upsample_bilinear
what: one warp per output pixel, lanes over its channels; positions and weights are computed once a pixel
like: upsample/nearest_warp
from: element
needs: h * w * block * block < 268435456 and c * h * w < 2147483648
steps:
  - kernel: bilinear_warp
    grid: ceil(h * w * block * block, 8), n
    block: 32, 8
    args: input, output, c, h, w, block
*/

/* What changed from element: the four input pixels are four contiguous pieces of memory, and the lanes of a warp read each together: whole vectors, and the
 * divisions once per pixel. It needs channels: with 64 of them in 2-byte types and 16 bytes per lane, 8 lanes work and 24 are idle; and adjacent pixels load the
 * same four pieces again. `cell` avoids both. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) bilinear_warp(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int factor)
{
    int pixel = blockIdx.x * 8 + threadIdx.y, Q = W * factor;
    if (pixel >= H * factor * Q)
        return;
    float y = (pixel / Q + 0.5f) / factor - 0.5f, x = (pixel % Q + 0.5f) / factor - 0.5f;
    int y0 = (int)floorf(y), x0 = (int)floorf(x);
    float down = y - y0, across = x - x0;
    int top = max(y0, 0), bottom = min(y0 + 1, H - 1), left = max(x0, 0), right = min(x0 + 1, W - 1);
    input += (size_t)blockIdx.y * H * W * C;
    output += ((size_t)blockIdx.y * H * factor * Q + pixel) * C;
    for (int c = threadIdx.x * VEC; c < C; c += 32 * VEC) {
        pack<ELEMENT_T, VEC> corner[4], out;
#pragma unroll
        for (int i = 0; i < 4; i++)
            corner[i] = load_pack<ELEMENT_T, VEC>(input + ((size_t)(i / 2 ? bottom : top) * W + (i % 2 ? right : left)) * C + c);
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            float upper = (1 - across) * to_f32(corner[0].item[e]) + across * to_f32(corner[1].item[e]);
            float lower = (1 - across) * to_f32(corner[2].item[e]) + across * to_f32(corner[3].item[e]);
            out.item[e] = from_f32<ELEMENT_T>((1 - down) * upper + down * lower);
        }
        store_pack<ELEMENT_T, VEC>(output + c, out);
    }
}
