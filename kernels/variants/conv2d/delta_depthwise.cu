/* bench 1
what: delta_tile for depthwise filters - a thread has a channel, marks are read pixel by pixel, nothing is staged
like: delta_tile
needs:
  - groups == c and k == c and r * s <= 49 and c * h * w < 2147483648 and k * p * q < 2147483648
  - math != f16_acc16 or k % 2 == 0          # a thread's two channels are one word
mask: {weights: r * s * k * size(filter)}
params:
  VERY_SPARSE: null
  EDGE: {values: [auto, 2, 3, 4, 5, 6], default: auto}   # output pixels of a tile's side
let:
  tile: select(EDGE == 'auto', select(r * s > 25 or stride > 1, 3, 4), EDGE)
define:
  FEW: null
specialise: [r, s, stride, dilation]
steps:
  - kernel: conv_delta_depthwise
    grid: ceil(q, tile * dilation) * dilation, ceil(p, tile * dilation) * dilation, n * blocks_k
    block: threads
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad_top
*/

/* What changed from delta_tile: only one output channel reads an input channel, so nothing can be
 * shared or staged. A warp's lanes are adjacent channels of the same pixel: a load is coalesced,
 * and all lanes agree whether to make it. Each value serves up to R * S sums in registers. */
#include "sparse/delta_marks.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
conv_delta_depthwise(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, TYPE *output, int H, int W, int K, int P,
                     int Q, int pad)
{
    int k;
    tile at = begin(k, pad);
    mask_in += (size_t)at.n * H * ((W + 31) / 32), mask_out += (size_t)at.n * P * ((Q + 31) / 32);
    if (look(at, mask_in, mask_out, H, W, P, Q, pad) == 0 || k >= K)
        return;
    result to = {bias, output + (size_t)at.n * K * P * Q, k, K, P, Q};
    input += (size_t)at.n * K * H * W + k;

    weight_t w[TAPS];
    sum_t sum[TILE][TILE];
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        w[i] = load_weight(filter + i * K + k);
#pragma unroll
    for (int i = 0; i < TILE * TILE; i++)
        sum[i / TILE][i % TILE] = no_sum();
#pragma unroll
    for (int y = 0; y < HALO_H; y++) {
        weight_t row[HALO_W];
#pragma unroll
        for (int x = 0; x < HALO_W; x++) { /* a row's loads are on their way together */
            int i = y * HALO_W + x;
            row[x] = no_sum();
            if (marks[i / 32] >> (i % 32) & 1)
                row[x] = load_weight(input + ((long long)(at.y + y * DILATION) * W + at.x + x * DILATION) * K);
        }
#pragma unroll
        for (int r = 0; r < R; r++)
            if (y >= r && (y - r) % STRIDE == 0 && (y - r) / STRIDE < TILE)
#pragma unroll
                for (int s = 0; s < S; s++)
#pragma unroll
                    for (int j = 0; j < TILE; j++)
                        sum[(y - r) / STRIDE][j] = multiply_pair(row[j * STRIDE + s], w[r * S + s], sum[(y - r) / STRIDE][j]);
    }
#pragma unroll
    for (int i = 0; i < TILE * TILE; i++)
        if (active[i / 32] >> (i % 32) & 1)
            to.store(at, i / TILE, i % TILE, sum[i / TILE][i % TILE]);
}
