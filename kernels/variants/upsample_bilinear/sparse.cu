/* bench 1
op: upsample_bilinear
what: only the output pixels that a marked input reaches - one warp per word of the output's mask
like: upsample/sparse_nearest
from: warp
needs: h * w * block * block < 268435456 and c * h * w < 2147483648
mask: {tile: [1, 1]}
let:
  words: ceil(q, 32)
steps:
  - kernel: sparse_bilinear
    grid: ceil(p * words, 8), n
    block: 32, 8
    args: input, mask_in, mask_out, output, c, h, w, words
*/

/* What changed from warp: each lane first reads the mask for the four inputs of one output; the ballot is a word of the output's mask. Only active outputs are
 * computed, PIXEL_LANES lanes for each, and only marked inputs are read: the others are a change of 0. */
#include "movement/marked_pixels.cuh"

struct place {
    int low, high; /* the two inputs, the edge repeated */
    float share;   /* of the second */
};
static __device__ __forceinline__ place place_of(int output, int size)
{
    float at = (output + 0.5f) / BLOCK - 0.5f, low = floorf(at);
    return {max((int)low, 0), min((int)low + 1, size - 1), at - low};
}

extern "C" __global__ void __launch_bounds__(256)
sparse_bilinear(const ELEMENT_T *input, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int H, int W, int words)
{
    int index = blockIdx.x * 8 + threadIdx.y, P = H * BLOCK, Q = W * BLOCK;
    if (index >= P * words)
        return; /* a whole warp */
    int p = index / words, q0 = index % words * 32, q = q0 + threadIdx.x;
    mask_in += (size_t)blockIdx.y * H * ((W + 31) / 32);
    place rows = place_of(p, H), columns = place_of(min(q, Q - 1), W);
    bool active = q < Q && (pixel_marked(mask_in, rows.low, columns.low, H, W) || pixel_marked(mask_in, rows.low, columns.high, H, W) ||
                            pixel_marked(mask_in, rows.high, columns.low, H, W) || pixel_marked(mask_in, rows.high, columns.high, H, W));
    unsigned marks = __ballot_sync(~0u, active);
    if (threadIdx.x == 0)
        mask_out[(size_t)blockIdx.y * P * words + index] = marks;
    input += (size_t)blockIdx.y * C * H * W;
    output += ((size_t)blockIdx.y * P + p) * Q * C;
    each_vector<VEC>(marks, C, [&](int column, int c) {
        place across = place_of(q0 + column, W);
        float sum[2][VEC] = {{0.0f}}; /* of the upper and the lower row */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int y = i / 2 ? rows.high : rows.low, x = i % 2 ? across.high : across.low;
            if (!pixel_marked(mask_in, y, x, H, W))
                continue;
            float weight = i % 2 ? across.share : 1 - across.share;
            pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + ((size_t)y * W + x) * C + c);
#pragma unroll
            for (int j = 0; j < VEC; j++)
                sum[i / 2][j] += weight * to_f32(v.item[j]);
        }
        pack<ELEMENT_T, VEC> out;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            out.item[j] = from_f32<ELEMENT_T>((1 - rows.share) * sum[0][j] + rows.share * sum[1][j]);
        store_pack<ELEMENT_T, VEC>(output + (size_t)(q0 + column) * C + c, out);
    });
}
