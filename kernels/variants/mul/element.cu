/* bench 1
op: mul
what: input * second, one thread per vector of elements; any layout
like: add/element
steps:
  - kernel: multiply_elements
    grid: ceil(elements / v, 256)
    block: 256
    args: input, other, output, elements / v
*/

/* The definition; DRAM is the limit. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) multiply_elements(const ELEMENT_T *input, const ELEMENT_T *other, ELEMENT_T *output, long long vectors)
{
    long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * VEC;
    if (i >= vectors * VEC)
        return;
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(input + i), y = load_pack<ELEMENT_T, VEC>(other + i);
#pragma unroll
    for (int j = 0; j < VEC; j++)
        x.item[j] = from_f32<ELEMENT_T>(to_f32(x.item[j]) * to_f32(y.item[j]));
    store_pack<ELEMENT_T, VEC>(output + i, x);
}
