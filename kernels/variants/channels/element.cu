/* bench 1
op: channels
what: one thread for up to 16 bytes that are contiguous in both tensors
needs: c * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  # A pack of NHWC is whole in both tensors if it divides all that the channels are counted in; of several parts no two channels stay together.
  whole: select(nhwc, select(parts > 1, 1, select(first % v_max == 0 and c % v_max == 0 and k % v_max == 0, v_max, 1)), select(h * w % v_max == 0, v_max, 1))
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VEC: whole
steps:
  - kernel: take_channels
    grid: ceil(k * h * w / whole, 256), n
    block: 256
    args: input, output, c, k, h * w, first, parts
*/

/* The definition, a pack at a time. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256)
take_channels(const ELEMENT_T *input, ELEMENT_T *output, int C, int K, int pixels, int first, int parts)
{
    int i = (blockIdx.x * 256 + threadIdx.x) * VEC; /* in the output image */
    if (i >= K * pixels)
        return;
    size_t n = blockIdx.y;
    int k = NHWC ? i % K : i / pixels, pixel = NHWC ? i / K : i % pixels, c = first + k % parts * (K / parts) + k / parts;
    store_pack<ELEMENT_T, VEC>(output + n * K * pixels + i, load_pack<ELEMENT_T, VEC>(input + n * C * pixels + (NHWC ? (size_t)pixel * C + c : (size_t)c * pixels + pixel)));
}
