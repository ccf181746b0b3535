/* bench 1
op: layout
what: a copy through shared memory that is filled by cp.async, 4, 8 or 16 bytes a lane, neighbours or a stride apart
needs: c == 1 and h * w % 4096 == 0 and cc >= 80
dtype: {input: f32, output: f32}
params:
  WORDS: [1, 2, 4]
  STRIDE: [1, 2, 4, 9]
steps:
  - kernel: copies
    grid: h * w / (32 * WORDS)
    block: 32
    args: input, output
*/
#include "vector.cuh"

extern "C" __global__ void __launch_bounds__(32) copies(const VECTOR_T *input, VECTOR_T *output)
{
    __shared__ VECTOR_T pool[32 * STRIDE];
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    unsigned to = (unsigned)__cvta_generic_to_shared(pool + lane * STRIDE);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(input + i), "n"(4 * WORDS) : "memory");
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    output[i] = pool[lane * STRIDE];
}
