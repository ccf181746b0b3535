/* bench 1
op: dot8
what: dot8   # one line: what is special about this variant
# from: naive                  # the variant that it is based on; reports show the difference
# needs: m % 4 == 0   # shapes that my kernel supports; other shapes become rows with this reason
dtype: {a: [e4m3, e5m2], accumulate: f32}   # the types of my kernel's inputs, outputs and sums
# params:                      # tuning parameters, compiled in under their names
#   TILE: {values: [8, 16], default: 8}
define:   # macros (-D) that my source uses
  A_T: type(a)
let:
  threads: 256   # of a block; change it to the block size of my kernel
steps:
  - kernel: dot8<A_T>
    grid: m
    block: 32
    args: a, b, c, m, n, k   # by name, in the order of my signature
*/
#include <cuda_fp8.h>
template <typename T>
__global__ void dot8(const T *a, const T *b, float *c, int m, int n, int k)
{
    for (int j = threadIdx.x, i = blockIdx.x; j < n; j += blockDim.x) {
        float sum = 0;
        for (int t = 0; t < k; t++)
            sum += float(a[i * k + t]) * float(b[j * k + t]);
        c[i * n + j] = sum;
    }
}
