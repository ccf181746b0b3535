/* bench 1
op: pointwise
what: bias, residual, activation of the marked pixels only - one warp per word of the mask
from: epilogue
needs: c * h * w < 2147483648
layout: {input: NHWC, output: same, residual: same, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, residual, relu, leaky_relu, prelu, silu, sigmoid, tanh, gelu, gelu_tanh, hard_swish, elu, clip]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [1, 1]}
params:
  LANES: {values: [auto, 32], default: auto}       # of a pixel; 32 is one warp per pixel, as DeltaCNN has it; auto: as many as its channels need
let:
  v_max: 16 / size(input)
  v: select(c % v_max == 0, v_max, select(c % 2 == 0, 2, 1))
  lanes: select(LANES == 'auto', min(32, pow2(ceil(c, v))), LANES)
  words: ceil(w, 32)
define:
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  VEC: v
  PIXEL_LANES: lanes
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), c, 0)
  EPI_ACTIVATION: activation(epilogue)
  EPI_LOW: low(epilogue)
  EPI_HIGH: high(epilogue)
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: sparse_epilogue
    grid: ceil(h * words, 8), n
    block: 32, 8
    args: input, residual, bias, mask_in, mask_out, output, c, h, w, words
*/

/* What changed from epilogue: the mask, as in upsample/sparse_nearest. A warp takes a word of the mask, which is its output's too, numbers the marked pixels and
 * gives PIXEL_LANES lanes to each. It adds the residual where the input is marked; if the residual of a layer had a mask of its own, the two would have to be ORed
 * first. */
#include "element/elu.cuh"
#include "element/epilogue.cuh"
#include "movement/marked_pixels.cuh"

extern "C" __global__ void __launch_bounds__(256)
sparse_epilogue(const INPUT_T *input, const INPUT_T *residual, const float *bias, const unsigned *mask_in, unsigned *mask_out, OUTPUT_T *output, int C, int H, int W,
                int words)
{
    int index = blockIdx.x * 8 + threadIdx.y, lane = threadIdx.x;
    if (index >= H * words)
        return;
    size_t word = (size_t)blockIdx.y * H * words + index;
    unsigned marks = mask_in[word];
    if (lane == 0)
        mask_out[word] = marks;
    size_t first = (((size_t)blockIdx.y * H + index / words) * W + index % words * 32) * C;
    each_vector<VEC>(marks, C, [&](int column, int c) {
        size_t e = first + (size_t)column * C + c;
        pack<INPUT_T, VEC> x = load_pack<INPUT_T, VEC>(input + e), add;
        if (EPI_RESIDUAL)
            add = load_pack<INPUT_T, VEC>(residual + e);
        pack<OUTPUT_T, VEC> y;
#pragma unroll
        for (int j = 0; j < VEC; j++) {
            float sum = to_f32(x.item[j]);
            if (EPI_BIAS)
                sum += bias[c + j];
            if (EPI_RESIDUAL)
                sum = branch(sum) + to_f32(add.item[j]);
            y.item[j] = from_f32<OUTPUT_T>(activate_channel(sum, c + j));
        }
        store_pack<OUTPUT_T, VEC>(output + e, y);
    });
}
