/* bench 1
op: layout
what: a copy whose lanes read shared memory by a pattern, 4, 8 or 16 bytes each - for the rule of banks
needs: c == 1 and h * w % 4096 == 0
dtype: {input: f32, output: f32}
params:
  WORDS: [1, 2, 4]
  PATTERN: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
steps:
  - kernel: shared_load
    grid: h * w / (32 * WORDS)
    block: 32
    args: input, output, 0
*/

/* What is read is added with a factor of zero that only the launch knows: the copy stays a copy, and no load can be left out. */
#include "vector.cuh"

__device__ int place(int lane)
{
    switch (PATTERN) {
    case 0: return lane;
    case 1: return lane * 2;
    case 2: return lane * 3;
    case 3: return lane * 4;
    case 4: return lane * 8;
    case 5: return lane * 16;
    case 6: return lane * 32;
    case 7: return lane / 2;
    case 8: return lane / 4;
    case 9: return lane % 16;
    case 10: return lane % 8;
    case 11: return (lane * 5) % 32;
    case 12: return (lane % 16) * 2;
    case 13: return (lane % 8) * 4 + lane / 8;
    case 14: return lane * 17 % 1024;
    default: return 0;
    }
}

extern "C" __global__ void __launch_bounds__(32) shared_load(const VECTOR_T *input, VECTOR_T *output, float zero)
{
    __shared__ VECTOR_T pool[1024];
    int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    VECTOR_T x = input[i];
    for (int k = 0; k < 1024; k += 32)
        pool[k + lane] = x;
    __syncthreads();
    output[i] = add_scaled(x, pool[place(lane)], zero);
}
