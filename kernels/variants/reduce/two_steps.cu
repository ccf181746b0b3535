/* bench 1
op: reduce
what: a row in parts of PART elements, one block a part; then one block per row joins the parts
from: naive
dtype: {input: [f32, f16, bf16], output: f32}
params:
  PART: {values: [4096, 16384, 65536], default: 16384}
let:
  v: select(cols * size(input) % 16 == 0, 16 / size(input), 1)
  parts: ceil(cols, PART)
define:
  ELEMENT_T: type(input)
  VEC: v
  MAX: what == 'max'
  PART_VECTORS: PART / v
scratch:
  partial: f32[rows * parts]
steps:
  - kernel: reduce_parts
    grid: rows * parts
    block: 256
    args: input, partial, cols / v, parts
  - kernel: reduce_rows
    grid: rows
    block: 256
    args: partial, output, parts
*/

/* What changed from naive: blocks share a row, so one long row keeps the whole chip busy; a warp reads whole lines. A second launch joins the parts,
 * without atomics, so the order of the sum, and with it every bit, is the same in every run. */
#include "element/element.cuh"

__device__ __forceinline__ float joined(float a, float b)
{
    return MAX ? fmaxf(a, b) : a + b;
}

/* Of all threads of a block of 256, in thread 0. */
__device__ __forceinline__ float of_block(float own)
{
    __shared__ float of_warp[8];
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
        own = joined(own, __shfl_xor_sync(~0u, own, lane));
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    own = of_warp[0];
#pragma unroll
    for (int i = 1; i < 8; i++)
        own = joined(own, of_warp[i]);
    return own;
}

extern "C" __global__ void __launch_bounds__(256) reduce_parts(const ELEMENT_T *input, float *partial, int vectors, int parts)
{
    int row = blockIdx.x / parts, part = blockIdx.x % parts, end = min((part + 1) * PART_VECTORS, vectors);
    float own = MAX ? LEAST : 0;
    for (int i = part * PART_VECTORS + threadIdx.x; i < end; i += 256) {
        pack<ELEMENT_T, VEC> p = load_pack<ELEMENT_T, VEC>(input + ((size_t)row * vectors + i) * VEC);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            own = joined(own, to_f32(p.item[j]));
    }
    own = of_block(own);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = own;
}

extern "C" __global__ void __launch_bounds__(256) reduce_rows(const float *partial, float *output, int parts)
{
    float own = MAX ? LEAST : 0;
    for (int i = threadIdx.x; i < parts; i += 256)
        own = joined(own, partial[(size_t)blockIdx.x * parts + i]);
    own = of_block(own);
    if (threadIdx.x == 0)
        output[blockIdx.x] = own;
}
