/* bench 1
op: add
what: input + second, one thread per vector of elements; any layout, every pixel
dtype: {input: [f32, f16, bf16], output: same}
let:
  other: second
  elements: n * c * h * w
  v: select(elements * size(input) % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: sum_elements
    grid: ceil(elements / v, 256)
    block: 256
    args: input, other, output, elements / v
*/

/* The definition, dense: what the sparse variant saves is measured against this. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) sum_elements(const ELEMENT_T *input, const ELEMENT_T *other, ELEMENT_T *output, long long vectors)
{
    long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * VEC;
    if (i >= vectors * VEC)
        return;
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(input + i), y = load_pack<ELEMENT_T, VEC>(other + i);
#pragma unroll
    for (int j = 0; j < VEC; j++) {
        float u = to_f32(x.item[j]), v = to_f32(y.item[j]);
        x.item[j] = from_f32<ELEMENT_T>(u + v);
    }
    store_pack<ELEMENT_T, VEC>(output + i, x);
}
