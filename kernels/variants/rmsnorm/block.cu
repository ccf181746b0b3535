/* bench 1
op: rmsnorm
what: one block per row, 16 bytes per thread; the row stays in registers between the two passes
from: naive
dtype: {input: [f32, f16, bf16], output: same, gain: same}
params:
  THREADS: {values: [128, 256, 512], default: 256}
let:
  v: select(cols * size(input) % 16 == 0, 16 / size(input), 1)
  held: ceil(cols / v, THREADS)
where:
  - held * v <= 128
define:
  ELEMENT_T: type(input)
  VEC: v
  HELD: held
steps:
  - kernel: rmsnorm
    grid: rows
    block: THREADS
    args: input, gain, output, cols / v, eps
*/

/* What changed from naive: a block shares a row, so a warp reads whole lines, and keeps what it read for the sum until the products: every element
 * is loaded once. HELD is the number of vectors of a row in a thread: a constant, so that all indices are known and the row stays in registers. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
rmsnorm(const ELEMENT_T *input, const ELEMENT_T *gain, ELEMENT_T *output, int vectors, float eps)
{
    __shared__ float of_warp[THREADS / 32];
    const ELEMENT_T *x = input + (size_t)blockIdx.x * vectors * VEC;
    ELEMENT_T *y = output + (size_t)blockIdx.x * vectors * VEC;
    pack<ELEMENT_T, VEC> held[HELD];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int at = i * THREADS + threadIdx.x;
        if (at < vectors) {
            held[i] = load_pack<ELEMENT_T, VEC>(x + (size_t)at * VEC);
#pragma unroll
            for (int j = 0; j < VEC; j++)
                squares += to_f32(held[i].item[j]) * to_f32(held[i].item[j]);
        }
    }
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2)
        squares += __shfl_xor_sync(~0u, squares, lane);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0;
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++)
        squares += of_warp[i];
    float scale = 1 / sqrtf(squares / ((float)vectors * VEC) + eps);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int at = i * THREADS + threadIdx.x;
        if (at < vectors) {
            pack<ELEMENT_T, VEC> g = load_pack<ELEMENT_T, VEC>(gain + (size_t)at * VEC);
            float z[VEC];
#pragma unroll
            for (int j = 0; j < VEC; j++)
                z[j] = to_f32(held[i].item[j]) * scale * to_f32(g.item[j]);
            store_pack<ELEMENT_T, VEC>(y + (size_t)at * VEC, rounded<ELEMENT_T, VEC>(z));
        }
    }
}
