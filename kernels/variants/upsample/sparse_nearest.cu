/* bench 1
op: upsample
what: nearest, marked pixels only - one warp per word of the mask, its lanes over the channels of one pixel or of several
like: add/sparse
from: nearest_warp
needs: h * w < 67108864
mask: {tile: [block, block]}
specialise: [block]
steps:
  - kernel: sparse_nearest
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, mask_in, mask_out, output, c, h, w, words
*/

/* What changed from nearest_warp: the work is the mask's. A warp takes a word of it, 32 pixels side by side. Their copies are BLOCK words of BLOCK rows of the
 * output's mask, all its own: each lane asks for one bit, the ballot is a word. Then it takes the marked pixels: with 32 lanes a pixel one after another, with
 * fewer 32 / PIXEL_LANES at a time. Every value is read once and stored BLOCK * BLOCK times; what is not marked costs nothing. */
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_nearest(const ELEMENT_T *input, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int H, int W, int words)
{
    int index = blockIdx.x * 8 + threadIdx.y, lane = threadIdx.x, n = blockIdx.y;
    if (index >= H * words)
        return;
    int y = index / words, word = index % words, Q = W * BLOCK, words_out = (Q + 31) / 32;
    unsigned marks = mask_in[(size_t)n * H * words + index];
    mask_out += ((size_t)n * H + y) * BLOCK * words_out + word * BLOCK;
#pragma unroll 1
    for (int i = 0; i < BLOCK && word * BLOCK + i < words_out; i++) {
        unsigned bits = __ballot_sync(~0u, marks >> ((i * 32 + lane) / BLOCK) & 1);
        for (int dy = lane; dy < BLOCK; dy += 32)
            mask_out[(size_t)dy * words_out + i] = bits;
    }
    input += (((size_t)n * H + y) * W + word * 32) * C;
    output += (((size_t)n * H + y) * BLOCK * Q + word * 32 * BLOCK) * C;
    each_vector<VEC>(marks, C, [&](int x, int c) {
        pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + x * C + c);
#pragma unroll
        for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll
            for (int dx = 0; dx < BLOCK; dx++)
                store_pack<ELEMENT_T, VEC>(output + ((size_t)dy * Q + x * BLOCK + dx) * C + c, v);
    });
}
