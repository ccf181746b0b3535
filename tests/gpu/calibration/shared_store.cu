/* bench 1
op: layout
what: a copy through shared memory whose lanes write and read it a stride apart, 4, 8 or 16 bytes each
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  WORDS: [1, 2, 4]
  STRIDE: [1, 2, 3, 4, 5, 8, 16, 17]
steps:
  - kernel: shared_store
    grid: h * w / (32 * WORDS)
    block: 32
    args: input, output
*/
#include "vector.cuh"

extern "C" __global__ void __launch_bounds__(32) shared_store(const VECTOR_T *input, VECTOR_T *output)
{
    __shared__ VECTOR_T pool[32 * STRIDE];
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    pool[lane * STRIDE] = input[i];
    __syncthreads(); /* not kept in a register */
    output[i] = pool[lane * STRIDE];
}
