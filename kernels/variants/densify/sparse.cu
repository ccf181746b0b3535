/* bench 1
op: densify
what: stored + input of the marked pixels only - one warp per word of the mask
like: add/sparse
steps:
  - kernel: sparse_densify
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, stored, mask_in, mask_out, output, c, k, h, w, words
*/

/* DeltaCNN's densify: a consumer that needs the whole image gets the state plus the changes. A network returns `stored` as `output` too; here they are two, so
 * that the row can run again. */
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_densify(const ELEMENT_T *input, const ELEMENT_T *stored, const unsigned *mask_in, unsigned *mask_out, ELEMENT_T *output, int C, int K, int H, int W,
               int words)
{
    int index = blockIdx.x * 8 + threadIdx.y;
    if (index >= H * words)
        return; /* a whole warp */
    size_t word = (size_t)blockIdx.y * H * words + index, first = ((size_t)blockIdx.y * H + index / words) * W + index % words * 32;
    unsigned marks = mask_in[word];
    if (threadIdx.x == 0)
        mask_out[word] = marks;
    each_vector<VEC>(marks, C, [&](int x, int c) {
        size_t e = (first + x) * C + c;
        pack<ELEMENT_T, VEC> u = load_pack<ELEMENT_T, VEC>(input + e), v = load_pack<ELEMENT_T, VEC>(stored + e);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            u.item[j] = from_f32<ELEMENT_T>(to_f32(v.item[j]) + to_f32(u.item[j]));
        store_pack<ELEMENT_T, VEC>(output + e, u);
    });
}
