/* bench 1
op: pool_average
what: the mean of the windows with a change - one warp per word of the output's mask
like: add/sparse
needs: c * h * w < 2147483648 and h * ceil(w, 32) < 67108864
let:
  words: ceil(q, 32)
define:
  DIVISOR: select(count_include_pad == 0, 2, ceil_mode)    # by how many taps the mean divides (element/tensor.cuh)
  PAD_BOTTOM: pad_bottom
  PAD_RIGHT: pad_right
specialise: [r, s, stride_y, stride_x, pad_top, pad_left, dilation_y, dilation_x]
steps:
  - kernel: sparse_pool_average
    grid: ceil(p * words, 8), n
    block: 32, 8
    args: input, mask_in, mask_out, output, c, h, w, p, q, words
*/

/* The mean is linear: the mean of the changes is the change of the mean, and nothing has to be stored. Each lane asks the mask about one output's window. */
#include "element/tensor.cuh"
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_pool_average(const ELEMENT_T *input, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int H, int W, int P, int Q,
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
    output += ((size_t)blockIdx.y * P + p) * Q * C;
    each_vector<VEC>(marks, C, [&](int column, int c) {
        float sum[VEC] = {0.0f};
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                int y = p * STRIDE_Y - PAD_TOP + r * DILATION_Y, x = (q0 + column) * STRIDE_X - PAD_LEFT + s * DILATION_X;
                if (!pixel_marked(mask_in, y, x, H, W))
                    continue; /* no change there */
                pack<ELEMENT_T, VEC> v = load_pack<ELEMENT_T, VEC>(input + ((size_t)y * W + x) * C + c);
#pragma unroll
                for (int j = 0; j < VEC; j++)
                    sum[j] += to_f32(v.item[j]);
            }
        pack<ELEMENT_T, VEC> out;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            out.item[j] = from_f32<ELEMENT_T>(sum[j] / mean_of(p * STRIDE_Y - PAD_TOP, (q0 + column) * STRIDE_X - PAD_LEFT, H, W));
        store_pack<ELEMENT_T, VEC>(output + (size_t)(q0 + column) * C + c, out);
    });
}
