/* bench 1
op: upsample
what: nearest, one warp per input pixel as in DeltaCNN - a warp reads its pixel's mark, lanes over the channels
like: sparse_nearest
from: nearest_warp
needs: 32 % block == 0
params:
  LANES: null
  WARPS: {values: [2, 4, 8, 16, 32], default: 2}   # pixels of a block
  EARLY: {values: [0, 1], default: 1}              # a block without a marked pixel ends at once
let:
  lanes: 32
steps:
  - kernel: delta_nearest
    grid: ceil(w, WARPS), h, n
    block: 32, WARPS
    args: input, mask_in, mask_out, output, c, h, w, words
*/

/* What changed from nearest_warp: the mask. Among the pixels whose copies share a word of the output's mask, the first one's warp writes that word, in BLOCK rows; then each
 * warp copies its pixel if it is marked. EARLY tests the whole block first, by a barrier and a vote of all warps: it can only save the work of a warp without a mark, one load
 * of the mask and one test. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS)
delta_nearest(const ELEMENT_T *input, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int H, int W, int words)
{
    int x = blockIdx.x * WARPS + threadIdx.y, y = blockIdx.y, n = blockIdx.z, lane = threadIdx.x, Q = W * BLOCK, words_out = (Q + 31) / 32;
    unsigned marks = x < W ? mask_in[((size_t)n * H + y) * words + x / 32] : 0;
    if (x < W && x % (32 / BLOCK) == 0) {
        unsigned word = __ballot_sync(~0u, marks >> (x % 32 + lane / BLOCK) & 1);
        if (lane < BLOCK)
            mask_out[(((size_t)n * H + y) * BLOCK + lane) * words_out + x / (32 / BLOCK)] = word;
    }
    bool marked = marks >> (x % 32) & 1;
#if EARLY
    if (!__syncthreads_or(marked))
        return;
#endif
    if (!marked)
        return;
    input += (((size_t)n * H + y) * W + x) * C;
    output += (((size_t)n * H + y) * BLOCK * Q + (size_t)x * BLOCK) * C;
    for (int c = lane * VEC; c < C; c += 32 * VEC) {
        pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + c);
#pragma unroll
        for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll
            for (int dx = 0; dx < BLOCK; dx++)
                store_pack<ELEMENT_T, VEC>(output + ((size_t)dy * Q + dx) * C + c, v);
    }
}
