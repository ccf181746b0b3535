/* bench 1
op: concat
what: the channels of input, then those of second, one thread per vector of elements; any layout, every pixel
from: element
needs: k * h * w < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
let:
  nhwc: layout(input) == NHWC
  run: select(nhwc, 1, h * w)               # elements that lie together for each channel
  v_16: 16 / size(input)
  v_8: 8 / size(input)
  v: select(c * run % v_16 == 0 and k * run % v_16 == 0, v_16, select(c * run % v_8 == 0 and k * run % v_8 == 0, v_8, 1))
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: concat_packs
    grid: ceil(k * h * w / v, 256), n
    block: 256
    args: input, second, output, c * run / v, k * run / v, k * h * w / v
*/

/* What changed from element: up to 16 bytes per thread. The output is rows of K vectors, the first C of which are a row of the input: pixels (NHWC), or whole images
 * (NCHW). */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256)
concat_packs(const ELEMENT_T *input, const ELEMENT_T *second, ELEMENT_T *output, int C, int K, int vectors)
{
    int i = blockIdx.x * 256 + threadIdx.x, rows = vectors / K; /* in the output image */
    if (i >= vectors)
        return;
    int at = i % K;
    size_t row = (size_t)blockIdx.y * rows + i / K;
    const ELEMENT_T *from = at < C ? input + (row * C + at) * VEC : second + (row * (K - C) + at - C) * VEC;
    store_pack<ELEMENT_T, VEC>(output + ((size_t)blockIdx.y * vectors + i) * VEC, load_pack<ELEMENT_T, VEC>(from));
}
