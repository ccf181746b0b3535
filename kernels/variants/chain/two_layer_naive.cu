/* bench 1
op: chain
what: the definition of two sparse layers in a row - a block computes 32 adjacent outputs, and first what they need of the first layer
needs:
  - runs == 2 and straight == 1 and plain == 1 and back == 0 and width > 0
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - width * h * w < 2147483648
layout: {input: NHWC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], filter: same, bias: f32, output: same, accumulate: f32}
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [1, 32]}
params:
  THREADS: {values: [64, 128, 256], default: 128}
let:
  smem: 3 * 34 * width * size(input)
where:
  - smem <= smem_per_block_optin
define:
  TYPE: type(input)
  C: width
steps:
  - kernel: conv_two
    grid: ceil(q, 32), p, n
    block: THREADS
    smem: smem
    args: input, filter, bias, links, mask_in, mask_out, output, h, w
*/

/* The rules of a single sparse layer (conv2d/sparse_naive), applied twice: the first layer's output is computed where a marked input is under its filter and is
 * zero elsewhere, even with a bias; the second layer's is computed where one of those outputs is under its filter. Values between the layers are rounded to the
 * type in which they would be stored. A warp computes three rows of 34 pixels of the first layer for 32 outputs, so it does more than three times the necessary
 * work: chain/two_layer has larger tiles. */
#include "element/element.cuh"
#include "element/mask_bits.cuh"

extern __shared__ __align__(16) unsigned char space[];
static __shared__ bool active[3][34]; /* of the first layer */

/* One output channel of a layer at the middle of 3 x 3 pixels; pixel(r, s): its first channel, or NULL where there is nothing. */
template <typename PIXEL> static __device__ float convolve(const TYPE *filter, PIXEL pixel)
{
    float sum = 0.0f;
    for (int tap = 0; tap < 9; tap++) {
        const TYPE *from = pixel(tap / 3, tap % 3);
        for (int c = 0; from && c < C; c++)
            sum += to_f32(from[c]) * to_f32(filter[c * 9 + tap]);
    }
    return sum;
}
static __device__ TYPE ending(float x, const float *bias, const float *link, int k)
{
    x += bias[k];
    return from_f32<TYPE>(x < 0.0f ? x * link[4] : x);
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_two(const TYPE *input, const TYPE *filter, const float *bias, const float *links, const unsigned *mask_in, unsigned *mask_out, TYPE *output, int H, int W)
{
    int words = gridDim.x, x0 = blockIdx.x * 32, y0 = blockIdx.y;
    TYPE(*between)[34][C] = reinterpret_cast<TYPE(*)[34][C]>(space);
    input += (size_t)blockIdx.z * H * W * C;
    output += ((size_t)blockIdx.z * H + y0) * W * C;
    mask_in += (size_t)blockIdx.z * H * words;

    for (int i = threadIdx.x; i < 3 * 34; i += THREADS) {
        int y = y0 - 1 + i / 34, x = x0 - 1 + i % 34;
        unsigned any = 0;
        for (int r = -1; r <= 1; r++)
            any |= mask_bits(mask_in, y + r, x - 1, H, words) & 7;
        active[i / 34][i % 34] = any && y >= 0 && y < H && x >= 0 && x < W;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 3 * 34 * C; i += THREADS) {
        int k = i % C, x = i / C % 34, y = i / C / 34;
        if (active[y][x])
            between[y][x][k] = ending(convolve(filter + k * C * 9, [&](int r, int s) {
                                          int v = y0 + y + r - 2, u = x0 + x + s - 2;
                                          return mask_bits(mask_in, v, u, H, words) & 1 ? input + ((size_t)v * W + u) * C : nullptr;
                                      }), bias, links, k);
    }
    __syncthreads();

    unsigned word = 0;
    for (int x = 0; x < 32 && x0 + x < W; x++)
        for (int tap = 0; tap < 9; tap++)
            word |= (unsigned)active[tap / 3][x + tap % 3] << x;
    if (threadIdx.x == 0)
        mask_out[((size_t)blockIdx.z * H + y0) * words + blockIdx.x] = word;
    for (int i = threadIdx.x; i < 32 * C; i += THREADS) {
        int k = i % C, x = i / C;
        if (word >> x & 1)
            output[(size_t)(x0 + x) * C + k] = ending(convolve(filter + (C + k) * C * 9, [&](int r, int s) { return active[r][x + s] ? between[r][x + s] : nullptr; }),
                                                      bias + C, links + 8, k);
    }
}
