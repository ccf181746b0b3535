/* bench 1
op: softmax
what: one block per row, coalesced loads; maximum and sum in one pass
from: naive
dtype: {input: [f32, f16, bf16], output: same}
params:
  THREADS: {values: [128, 256, 512], default: 256}
let:
  v: select(cols * size(input) % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
steps:
  - kernel: softmax
    grid: rows
    block: THREADS
    args: input, output, cols / v
*/

/* What changed from naive: a block shares a row, so a warp reads whole lines, 16 bytes per thread. And the row is read twice instead of three times: a
 * thread keeps (m, s), the maximum so far and the sum of exp(x - m); if x is larger than m, s is scaled by exp(old m - new m). Two such pairs are
 * joined in the same way, first in the warp by shuffles, then among warps through shared memory. */
#include "element/element.cuh"

struct partial {
    float most, sum;
};
__device__ __forceinline__ partial joined(partial a, partial b)
{
    float most = fmaxf(a.most, b.most);
    return {most, (a.sum > 0 ? a.sum * expf(a.most - most) : 0) + (b.sum > 0 ? b.sum * expf(b.most - most) : 0)};
}

extern "C" __global__ void __launch_bounds__(THREADS) softmax(const ELEMENT_T *input, ELEMENT_T *output, int vectors)
{
    __shared__ partial of_warp[THREADS / 32];
    const ELEMENT_T *x = input + (size_t)blockIdx.x * vectors * VEC;
    ELEMENT_T *y = output + (size_t)blockIdx.x * vectors * VEC;
    partial own = {LEAST, 0};
    for (int i = threadIdx.x; i < vectors; i += THREADS) {
        pack<ELEMENT_T, VEC> p = load_pack<ELEMENT_T, VEC>(x + (size_t)i * VEC);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            own = joined(own, {to_f32(p.item[j]), 1});
    }
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
        own = joined(own, {__shfl_xor_sync(~0u, own.most, lane), __shfl_xor_sync(~0u, own.sum, lane)});
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    partial all = of_warp[0];
#pragma unroll
    for (int i = 1; i < THREADS / 32; i++)
        all = joined(all, of_warp[i]);
    float scale = 1 / all.sum;
    for (int i = threadIdx.x; i < vectors; i += THREADS) {
        pack<ELEMENT_T, VEC> p = load_pack<ELEMENT_T, VEC>(x + (size_t)i * VEC);
        float z[VEC];
#pragma unroll
        for (int j = 0; j < VEC; j++)
            z[j] = expf(to_f32(p.item[j]) - all.most) * scale;
        store_pack<ELEMENT_T, VEC>(y + (size_t)i * VEC, rounded<ELEMENT_T, VEC>(z));
    }
}
