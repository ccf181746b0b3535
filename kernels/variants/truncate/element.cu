/* bench 1
op: truncate
what: f(stored + input) - f(stored), one thread per vector of elements; any layout, every pixel
like: add/element
let:
  other: stored
steps:
  - kernel: truncate_elements
    grid: ceil(elements / v, 256)
    block: 256
    args: input, other, output, elements / v, slope
*/

/* The definition, dense and without a mask: every change is passed on. */
#include "element/element.cuh"

static __device__ __forceinline__ float activated(float v, float slope) { return v < 0.0f ? v * slope : v; }

extern "C" __global__ void __launch_bounds__(256) truncate_elements(const ELEMENT_T *input, const ELEMENT_T *other, ELEMENT_T *output, long long vectors, float slope)
{
    long long i = ((long long)blockIdx.x * 256 + threadIdx.x) * VEC;
    if (i >= vectors * VEC)
        return;
    pack<ELEMENT_T, VEC> x = load_pack<ELEMENT_T, VEC>(input + i), y = load_pack<ELEMENT_T, VEC>(other + i);
#pragma unroll
    for (int j = 0; j < VEC; j++) {
        float u = to_f32(x.item[j]), v = to_f32(y.item[j]);
        x.item[j] = from_f32<ELEMENT_T>(activated(v + u, slope) - activated(v, slope));
    }
    store_pack<ELEMENT_T, VEC>(output + i, x);
}
