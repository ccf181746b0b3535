/* bench 1
op: add
what: input + second of the marked pixels only - one warp per word of the mask
needs: k * h * w < 2147483648
layout: {input: NHWC, output: same, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], output: same}
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [1, 1]}
params:
  LANES: {values: [auto, 32], default: auto}       # of a pixel; 32 is one warp per pixel, as DeltaCNN has it; auto: as many as its channels need
let:
  v_max: 16 / size(input)
  v: select(c % v_max == 0, v_max, select(c % 2 == 0, 2, 1))
  lanes: select(LANES == 'auto', min(32, pow2(ceil(c, v))), LANES)
  words: ceil(w, 32)
define:
  ELEMENT_T: type(input)
  VEC: v
  PIXEL_LANES: lanes
steps:
  - kernel: sparse_add
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, second, mask_in, mask_second, mask_out, output, c, k, h, w, words
*/

/* A residual connection of changes. The two masks are ORed; a pixel that only one of them has is the other's 0, and is not read. */
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_add(const ELEMENT_T *input, const ELEMENT_T *second, const unsigned *mask_in, const unsigned *mask_second, unsigned *mask_out, ELEMENT_T *output, int C, int K, int H, int W,
           int words)
{
    int index = blockIdx.x * 8 + threadIdx.y;
    if (index >= H * words)
        return; /* a whole warp */
    size_t word = (size_t)blockIdx.y * H * words + index, first = ((size_t)blockIdx.y * H + index / words) * W + index % words * 32;
    unsigned in_first = mask_in[word], in_second = mask_second[word], marks = in_first | in_second;
    if (threadIdx.x == 0)
        mask_out[word] = marks;
    each_vector<VEC>(marks, C, [&](int x, int c) {
        size_t e = (first + x) * C + c;
        pack<ELEMENT_T, VEC> u, v;
        bool left = in_first >> x & 1, right = in_second >> x & 1;
        if (left)
            u = load_pack<ELEMENT_T, VEC>(input + e);
        if (right)
            v = load_pack<ELEMENT_T, VEC>(second + e);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            v.item[j] = from_f32<ELEMENT_T>((left ? to_f32(u.item[j]) : 0.0f) + (right ? to_f32(v.item[j]) : 0.0f));
        store_pack<ELEMENT_T, VEC>(output + e, v);
    });
}
