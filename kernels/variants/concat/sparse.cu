/* bench 1
op: concat
what: the channels of both of the marked pixels only - one warp per word of the mask
like: add/sparse
let:
  v: select(c % v_max == 0 and k % v_max == 0, v_max, select(c % 2 == 0 and k % 2 == 0, 2, 1))
  lanes: select(LANES == 'auto', min(32, pow2(ceil(k, v))), LANES)
steps:
  - kernel: sparse_concat
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, second, mask_in, mask_second, mask_out, output, c, k, h, w, words
*/

/* The two masks are ORed; where only one is marked the channels of the other are zeros that must be written: its reader looks at one mask for all channels. */
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_concat(const ELEMENT_T *input, const ELEMENT_T *second, const unsigned *mask_in, const unsigned *mask_second, unsigned *mask_out, ELEMENT_T *output, int C, int K, int H, int W,
              int words)
{
    int index = blockIdx.x * 8 + threadIdx.y;
    if (index >= H * words)
        return; /* a whole warp */
    size_t word = (size_t)blockIdx.y * H * words + index, first = ((size_t)blockIdx.y * H + index / words) * W + index % words * 32;
    unsigned in_first = mask_in[word], in_second = mask_second[word], marks = in_first | in_second;
    if (threadIdx.x == 0)
        mask_out[word] = marks;
    each_vector<VEC>(marks, K, [&](int x, int k) {
        pack<ELEMENT_T, VEC> v;
        bool left = k < C;
        if ((left ? in_first : in_second) >> x & 1)
            v = load_pack<ELEMENT_T, VEC>(left ? input + (first + x) * C + k : second + (first + x) * (K - C) + k - C);
        else
#pragma unroll
            for (int j = 0; j < VEC; j++)
                v.item[j] = from_f32<ELEMENT_T>(0.0f);
        store_pack<ELEMENT_T, VEC>(output + (first + x) * K + k, v);
    });
}
