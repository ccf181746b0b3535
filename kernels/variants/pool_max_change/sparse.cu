/* bench 1
op: pool_max_change
what: max(stored + input) - max(stored) of the windows with a change - one warp per word of the output's mask
like: pool_average/sparse
define:
  DIVISOR: null
  PAD_BOTTOM: null
  PAD_RIGHT: null
steps:
  - kernel: sparse_pool_max_change
    grid: ceil(p * words, 8), n
    block: 32, 8
    args: input, stored, mask_in, mask_out, output, c, h, w, p, q, words
*/

/* A maximum is not linear: the whole window must be known, so all of `stored` under it is read, and of the changes those that are marked. */
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_pool_max_change(const ELEMENT_T *input, const ELEMENT_T *stored, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int H, int W, int P, int Q,
                       int words)
{
    int index = blockIdx.x * 8 + threadIdx.y;
    if (index >= P * words)
        return; /* a whole warp */
    int p = index / words, q0 = index % words * 32, q = q0 + threadIdx.x;
    mask_in += (size_t)blockIdx.y * H * ((W + 31) / 32);
    bool active = false;
    for (int r = 0; r < R && q < Q; r++)
        for (int s = 0; s < S; s++)
            active |= pixel_marked(mask_in, p * STRIDE_Y - PAD_TOP + r * DILATION_Y, q * STRIDE_X - PAD_LEFT + s * DILATION_X, H, W);
    unsigned marks = __ballot_sync(~0u, active);
    if (threadIdx.x == 0)
        mask_out[(size_t)blockIdx.y * P * words + index] = marks;
    input += (size_t)blockIdx.y * C * H * W;
    stored += (size_t)blockIdx.y * C * H * W;
    output += ((size_t)blockIdx.y * P + p) * Q * C;
    each_vector<VEC>(marks, C, [&](int column, int c) {
        float before[VEC], after[VEC];
#pragma unroll
        for (int j = 0; j < VEC; j++)
            before[j] = after[j] = LEAST;
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                int y = p * STRIDE_Y - PAD_TOP + r * DILATION_Y, x = (q0 + column) * STRIDE_X - PAD_LEFT + s * DILATION_X;
                if (y < 0 || y >= H || x < 0 || x >= W)
                    continue;
                size_t e = ((size_t)y * W + x) * C + c;
                bool marked = pixel_marked(mask_in, y, x, H, W);
                pack<ELEMENT_T, VEC> u, v = load_pack<ELEMENT_T, VEC>(stored + e);
                if (marked)
                    u = load_pack<ELEMENT_T, VEC>(input + e);
#pragma unroll
                for (int j = 0; j < VEC; j++) {
                    float value = to_f32(v.item[j]);
                    before[j] = fmaxf(before[j], value);
                    after[j] = fmaxf(after[j], marked ? value + to_f32(u.item[j]) : value);
                }
            }
        pack<ELEMENT_T, VEC> out;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            out.item[j] = from_f32<ELEMENT_T>(after[j] - before[j]);
        store_pack<ELEMENT_T, VEC>(output + (size_t)(q0 + column) * C + c, out);
    });
}
