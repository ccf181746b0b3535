/* bench 1
what: im2col - each filter tap of every pixel written out in memory, then the matrix product of k1conv
like: k1conv
from: k1conv
needs:
  - groups == 1 and n * c * r * s * p * q < 2147483648 and c * h * w < 2147483648 and n * k * p * q < 2147483648
let:
  depth: c * r * s
  pixels: p * q
scratch:
  columns: f32[n * depth * pixels]
steps:
  - kernel: write_columns
    grid: ceil(n * depth * pixels, 256)
    block: 256
    args: input, columns, n * depth * pixels, c, h, w, r, s, p, q, stride_y, stride_x, pad_top, pad_left, dilation_y, dilation_x
  - kernel: tile_product
    grid: ceil(n * pixels, MB * MT), channels / (NB * NT)
    block: MB * NB
    args: columns, weights, bias, output, n, depth, k, pixels, channels
*/

/* What changed from k1conv: any filter, stride, pad and dilation, for r * s times the input's bytes, written once and read once for every block of channels. */
#include "dense/tile_product.cuh"

extern "C" __global__ void __launch_bounds__(256) write_columns(const float *input, float *columns, int count, int C, int H, int W, int R, int S, int P, int Q, int stride_y,
                                                                int stride_x, int pad_y, int pad_x, int dilation_y, int dilation_x)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count)
        return;
    int pixel = i % (P * Q), tap = i / (P * Q) % (R * S), plane = i / (P * Q) / (R * S); /* of all images */
    int y = pixel / Q * stride_y - pad_y + tap / S * dilation_y, x = pixel % Q * stride_x - pad_x + tap % S * dilation_x;
    bool inside = y >= 0 && y < H && x >= 0 && x < W;
    columns[i] = inside ? input[((size_t)plane * H + y) * W + x] : 0.0f;
}
