/* bench 1
op: pointwise
what: one pass over a finished tensor - bias, residual, activation, 16 bytes per load where the shape allows
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same, residual: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
slices: [input, residual, output]
epilogue: [bias, residual, relu, leaky_relu, prelu, silu, sigmoid, tanh, gelu, gelu_tanh, hard_swish, elu, clip]
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  run: select(nhwc, c, h * w)                # a vector must not cross from one channel (NCHW) or pixel (NHWC) to the next
  v: select(run % v_max == 0, v_max, select(run % 2 == 0, 2, 1))
  sliced: nhwc and (pitch(input) != c or pitch(output) != c or has(residual) and pitch(residual) != c)
define:
  NHWC: nhwc
  INPUT_PITCH: select(sliced, pitch(input), 0)         # elements from a pixel to the next; 0: all tensors lie alone
  RESIDUAL_PITCH: select(sliced, pitch(residual), 0)
  OUTPUT_PITCH: select(sliced, pitch(output), 0)
  INPUT_T: type(input)
  FOLLOWS: follows
  OUTPUT_T: type(output)
  VEC: v
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
  - kernel: pointwise_epilogue
    grid: ceil(c * h * w / v, 256), n
    block: 256
    attributes: {pdl: follows}
    args: input, residual, bias, output, c, h * w
*/

/* Completes the variants that fuse less than their layer asks for: the rest of the epilogue costs at least one read and one write of the whole output,
 * which fusing saves. Items are applied in the order bias, residual, activation, as in every network here; a layer that adds its residual after the
 * activation gets this kernel twice.
 *
 * The sum is computed in f32 and rounded once. That is one rounding more than in a fused kernel, because the input was rounded when it was stored. */
#include "element/element.cuh"
#include "element/elu.cuh"
#include "element/epilogue.cuh"

extern "C" __global__ void __launch_bounds__(256)
pointwise_epilogue(const INPUT_T *input, const INPUT_T *residual, const float *bias, OUTPUT_T *output, int C, int pixels)
{
    if (FOLLOWS)
        asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory");
    int i = (blockIdx.x * 256 + threadIdx.x) * VEC; /* in the image */
    if (i >= C * pixels)
        return;
    size_t e = (size_t)blockIdx.y * C * pixels + i, in = e, other = e, out = e;
    if (OUTPUT_PITCH) { /* slices of larger tensors */
        size_t pixel = (size_t)blockIdx.y * pixels + i / C;
        int k = i % C;
        in = pixel * INPUT_PITCH + k, other = pixel * RESIDUAL_PITCH + k, out = pixel * OUTPUT_PITCH + k;
    }
    pack<INPUT_T, VEC> x = load_pack<INPUT_T, VEC>(input + in), add;
    if (EPI_RESIDUAL)
        add = load_pack<INPUT_T, VEC>(residual + other);
    pack<OUTPUT_T, VEC> y;
#pragma unroll
    for (int j = 0; j < VEC; j++) {
        float sum = to_f32(x.item[j]);
        if (EPI_BIAS)
            sum += bias[NHWC ? i % C + j : i / pixels];
        if (EPI_RESIDUAL)
            sum = branch(sum) + to_f32(add.item[j]);
        y.item[j] = from_f32<OUTPUT_T>(activate_channel(sum, NHWC ? i % C + j : i / pixels));
    }
    store_pack<OUTPUT_T, VEC>(output + out, y);
}
