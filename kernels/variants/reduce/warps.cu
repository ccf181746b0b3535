/* bench 1
op: reduce
what: one warp per row, eight rows per block, four loads in flight in each lane
from: two_steps
dtype: {input: [f32, f16, bf16], output: f32}
let:
  v: select(cols * size(input) % 16 == 0, 16 / size(input), 1)
define:
  ELEMENT_T: type(input)
  VEC: v
  MAX: what == 'max'
steps:
  - kernel: reduce_warps
    grid: ceil(rows, 8)
    block: 256
    args: input, output, rows, cols / v
*/

/* What changed from two_steps: rows are not cut. If rows are many and short, each is enough for a warp, so nothing goes through shared memory, and there is no
 * barrier and no launch to join parts. One long row would use only one warp of the chip: for that there are parts. */
#include "element/element.cuh"

__device__ __forceinline__ float joined(float a, float b)
{
    return MAX ? fmaxf(a, b) : a + b;
}

extern "C" __global__ void __launch_bounds__(256) reduce_warps(const ELEMENT_T *input, float *output, int rows, int vectors)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const ELEMENT_T *x = input + (size_t)row * vectors * VEC;
    float own[4] = {MAX ? LEAST : 0, MAX ? LEAST : 0, MAX ? LEAST : 0, MAX ? LEAST : 0}; /* four sums, so that an addition does not wait for the one before it */
    int i = lane;
    for (; i + 96 < vectors; i += 128) {
        pack<ELEMENT_T, VEC> p[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            p[k] = load_pack<ELEMENT_T, VEC>(x + (size_t)(i + 32 * k) * VEC);
#pragma unroll
        for (int j = 0; j < VEC; j++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                own[k] = joined(own[k], to_f32(p[k].item[j]));
    }
    for (; i < vectors; i += 32) {
        pack<ELEMENT_T, VEC> p = load_pack<ELEMENT_T, VEC>(x + (size_t)i * VEC);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            own[j % 4] = joined(own[j % 4], to_f32(p.item[j]));
    }
    own[0] = joined(joined(own[0], own[1]), joined(own[2], own[3]));
#pragma unroll
    for (int to = 16; to > 0; to /= 2)
        own[0] = joined(own[0], __shfl_xor_sync(~0u, own[0], to));
    if (lane == 0)
        output[row] = own[0];
}
