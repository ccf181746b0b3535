/* bench 1
op: quantise
what: quantise   # one line: what is special about this variant
# from: naive                  # the variant that it is based on; reports show the difference
# needs: rows % 4 == 0   # shapes that my kernel supports; other shapes become rows with this reason
dtype: {x: f32, accumulate: f32}   # the types of my kernel's inputs, outputs and sums
# params:                      # tuning parameters, compiled in under their names
#   TILE: {values: [8, 16], default: 8}
let:
  threads: 256   # of a block; change it to the block size of my kernel
steps:
  - kernel: quantise
    grid: rows
    block: threads
    args: x, scale, keep, base, y, clamped, counts, rows, cols   # by name, in the order of my signature
*/
#include <cuda_fp8.h>
extern "C" __global__ void quantise(const float *x, const float *scale, const bool *keep, const int64_t *base, __nv_fp8_e4m3 *y, bool *clamped, long long *counts, int rows, int cols)
{
    __shared__ int some;
    if (threadIdx.x == 0)
        some = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = keep[c] ? x[blockIdx.x * cols + c] * scale[blockIdx.x] : 0;
        y[blockIdx.x * cols + c] = __nv_fp8_e4m3(v);
        clamped[blockIdx.x * cols + c] = fabsf(v) > 448;
        if (fabsf(v) > 448)
            atomicAdd(&some, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        counts[blockIdx.x] = ((long long)blockIdx.x << 33) + base[blockIdx.x] + some;
}
