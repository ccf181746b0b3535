/* bench 1
op: softmax
what: one block per row that stays in registers between maximum, sum and quotients
from: online
dtype: {input: [f32, f16, bf16], output: same}
params:
  THREADS: {values: [128, 256, 512, 1024], default: 256}
let:
  v: select(cols * size(input) % 16 == 0, 16 / size(input), 1)
  held: ceil(cols / v, THREADS)
where:
  - held * v <= 64
define:
  ELEMENT_T: type(input)
  VEC: v
  HELD: held
steps:
  - kernel: softmax
    grid: rows
    block: THREADS
    args: input, output, cols / v
*/

/* What changed from online: a thread keeps its part of the row, so that every element is loaded once and its power computed once. The maximum of the
 * whole row is known before the sum begins, so the sum is never rescaled. It supports rows of up to 64 elements per thread. */
#include "element/element.cuh"

constexpr float LOG2_E = 1.44269504f;
/* The unit for special functions by itself: what expf does around it keeps digits that 16 bits do not hold, and costs as much as everything else here. */
__device__ __forceinline__ float power_of_2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Of all threads, in all threads. */
template <bool MAX> __device__ __forceinline__ float of_block(float own)
{
    __shared__ float of_warp[THREADS / 32];
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
        float other = __shfl_xor_sync(~0u, own, lane);
        own = MAX ? fmaxf(own, other) : own + other;
    }
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = own;
    __syncthreads();
    own = of_warp[0];
#pragma unroll
    for (int i = 1; i < THREADS / 32; i++)
        own = MAX ? fmaxf(own, of_warp[i]) : own + of_warp[i];
    return own;
}

extern "C" __global__ void __launch_bounds__(THREADS, HELD * VEC <= 16 ? 2048 / THREADS : 1) softmax(const ELEMENT_T *input, ELEMENT_T *output, int vectors)
{
    const ELEMENT_T *x = input + (size_t)blockIdx.x * vectors * VEC;
    ELEMENT_T *y = output + (size_t)blockIdx.x * vectors * VEC;
    float held[HELD][VEC], most = LEAST, sum = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int at = i * THREADS + threadIdx.x;
        pack<ELEMENT_T, VEC> p;
        if (at < vectors)
            p = load_pack<ELEMENT_T, VEC>(x + (size_t)at * VEC);
#pragma unroll
        for (int j = 0; j < VEC; j++) {
            held[i][j] = at < vectors ? to_f32(p.item[j]) : LEAST;
            most = fmaxf(most, held[i][j]);
        }
    }
    most = of_block<true>(most) * LOG2_E;
#pragma unroll
    for (int i = 0; i < HELD * VEC; i++) {
        held[i / VEC][i % VEC] = power_of_2(fmaf(held[i / VEC][i % VEC], LOG2_E, -most)); /* of LEAST it is 0 */
        sum += held[i / VEC][i % VEC];
    }
    float scale = 1 / of_block<false>(sum);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int at = i * THREADS + threadIdx.x;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            held[i][j] *= scale;
        if (at < vectors)
            store_pack<ELEMENT_T, VEC>(y + (size_t)at * VEC, rounded<ELEMENT_T, VEC>(held[i]));
    }
}
