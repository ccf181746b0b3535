/* bench 1
op: upsample_bilinear
what: one thread a vector of the square between four input pixels - loaded once, block * block outputs made from them
from: warp
needs: block <= 8 and c * (h + 1) * (w + 1) * block < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  run: select(nhwc, c, w * block)                      # what vectors must divide
  v: select(run % v_max == 0, v_max, select(run % 4 == 0, 4, select(run % 2 == 0, 2, 1)))
  items: select(nhwc, c / v * (h + 1) * (w + 1), c * (h + 1) * (w * block / v))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: v
specialise: [block]
steps:
  - kernel: bilinear_cell
    grid: ceil(items, 256), n
    block: 256
    args: input, output, c, h, w, items
*/

/* What changed from warp: the thread owns not an output pixel but a cell, the square between the centres of four input pixels. All block * block outputs inside it are
 * made of the same four corners, with weights that are constants of the compiler: the corners are loaded once, and no position is worked out in floating point.
 * There is one row and one column of cells more than pixels; at the edges corners coincide, and half of the outputs lie outside.
 *
 * Threads follow the channels of NHWC in vectors of 16 bytes. In NCHW they follow the line of the output: a thread makes a vector of it, which is the upper side of
 * one or more cells, and the same vector of the block - 1 lines below; it takes two short pieces of two input lines. */
#include "element.cuh"

using vec = pack<ELEMENT_T, VEC>;

/* The mean of four corners: `down` and `across` are the shares of the lower and of the right ones. */
static __device__ __forceinline__ float mix(float a, float b, float c, float d, float down, float across)
{
    return (1 - down) * ((1 - across) * a + across * b) + down * ((1 - across) * c + across * d);
}

static __device__ __forceinline__ void nhwc(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int H, int W)
{
    int c = i % (C / VEC) * VEC, x = i / (C / VEC) % (W + 1), y = i / (C / VEC) / (W + 1); /* the cell's lower right corner is pixel (y, x) */
    vec corner[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int row = min(max(y - 1 + j / 2, 0), H - 1), column = min(max(x - 1 + j % 2, 0), W - 1);
        corner[j] = load_pack<ELEMENT_T, VEC>(input + ((size_t)row * W + column) * C + c);
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll
        for (int dx = 0; dx < BLOCK; dx++) {
            int p = y * BLOCK - BLOCK / 2 + dy, q = x * BLOCK - BLOCK / 2 + dx;
            if (p < 0 || q < 0 || p >= H * BLOCK || q >= W * BLOCK)
                continue;
            vec out;
#pragma unroll
            for (int e = 0; e < VEC; e++)
                out.item[e] = from_f32<ELEMENT_T>(mix(to_f32(corner[0].item[e]), to_f32(corner[1].item[e]), to_f32(corner[2].item[e]), to_f32(corner[3].item[e]),
                                                      (dy + 0.5f) / BLOCK, (dx + 0.5f) / BLOCK));
            store_pack<ELEMENT_T, VEC>(output + ((size_t)p * W * BLOCK + q) * C + c, out);
        }
}

static __device__ __forceinline__ void nchw(const ELEMENT_T *input, ELEMENT_T *output, int i, int H, int W)
{
    constexpr int COLUMNS = BLOCK <= VEC ? VEC / BLOCK + 2 : 2; /* of the input that a vector lies between */
    int vectors = W * BLOCK / VEC, q = i % vectors * VEC, y = i / vectors % (H + 1), c = i / vectors / (H + 1);
    int x = (q + BLOCK / 2) / BLOCK - 1, first = BLOCK <= VEC ? BLOCK / 2 : (q + BLOCK / 2) % BLOCK; /* first: place of the vector's first pixel in its cell */
    float upper[COLUMNS], lower[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        int column = min(max(x + j, 0), W - 1);
        upper[j] = to_f32(input[((size_t)c * H + max(y - 1, 0)) * W + column]);
        lower[j] = to_f32(input[((size_t)c * H + min(y, H - 1)) * W + column]);
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++) {
        int p = y * BLOCK - BLOCK / 2 + dy;
        if (p < 0 || p >= H * BLOCK)
            continue;
        vec out;
#pragma unroll
        for (int e = 0; e < VEC; e++) { /* a vector shorter than a cell lies inside one */
            int cell = BLOCK <= VEC ? (e + BLOCK / 2) / BLOCK : 0, dx = BLOCK <= VEC ? (e + BLOCK / 2) % BLOCK : first + e;
            out.item[e] = from_f32<ELEMENT_T>(mix(upper[cell], upper[cell + 1], lower[cell], lower[cell + 1], (dy + 0.5f) / BLOCK, (dx + 0.5f) / BLOCK));
        }
        store_pack<ELEMENT_T, VEC>(output + ((size_t)c * H * BLOCK + p) * W * BLOCK + q, out);
    }
}

extern "C" __global__ void __launch_bounds__(256) bilinear_cell(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int items)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= items)
        return;
    input += (size_t)blockIdx.y * C * H * W;
    output += (size_t)blockIdx.y * C * H * W * BLOCK * BLOCK;
    if (NHWC)
        nhwc(input, output, i, C, H, W);
    else
        nchw(input, output, i, H, W);
}
