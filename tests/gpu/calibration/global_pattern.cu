/* bench 1
op: layout
what: a copy whose lanes read and write global memory by a pattern - neighbours, a stride apart, shifted by one, scattered
needs: c == 1 and h * w % 4096 == 0 and pow2(h * w) == h * w
dtype: {input: f32, output: f32}
params:
  WORDS: [1, 2, 4]
  STRIDE: [1, 2, 4, 8, 32, 0, 99]    # 0: shifted by one; 99: scattered
steps:
  - kernel: global_pattern
    grid: h * w / (256 * WORDS)
    block: 256
    args: input, output, h * w / WORDS
*/
#include "vector.cuh"

/* A permutation of 0 ... n - 1, n a power of two. */
__device__ unsigned place(unsigned i, unsigned n)
{
    if (STRIDE == 0)
        return (i + 1) & (n - 1);
    if (STRIDE == 99)
        return i * 2654435761u & (n - 1);
    return (i * STRIDE & (n - 1)) + i / (n / (STRIDE ? STRIDE : 1));
}

extern "C" __global__ void __launch_bounds__(256) global_pattern(const VECTOR_T *input, VECTOR_T *output, int n)
{
    unsigned at = place(blockIdx.x * 256 + threadIdx.x, n);
    output[at] = input[at];
}
