/* bench 1
op: mul_channels
what: input * second by channel, one thread per vector of elements; any layout
needs: c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  run: select(nhwc, c, h * w)                # a vector must not cross from one channel (NCHW) or pixel (NHWC) to the next
  v: select(run % (16 / size(input)) == 0, 16 / size(input), 1)
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: multiply_channels
    grid: ceil(c * h * w / v, 256), n
    block: 256
    args: input, second, output, c, h * w
*/

/* The definition; DRAM is the limit. The factors of an image come from L1. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) multiply_channels(const ELEMENT_T *input, const ELEMENT_T *factors, ELEMENT_T *output, int C, int pixels)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * VEC; /* in the image */
    if (i >= C * pixels)
        return;
    size_t e = (size_t)blockIdx.y * C * pixels + i;
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(input + e);
#pragma unroll
    for (int j = 0; j < VEC; j++)
        x.item[j] = from_f32<ELEMENT_T>(to_f32(x.item[j]) * to_f32(factors[blockIdx.y * C + (NHWC ? i % C + j : i / pixels)]));
    store_pack<ELEMENT_T, VEC>(output + e, x);
}
