/* bench 1
op: gather
what: mine
define:
  ELEMENT: type(table)
steps:
  - kernel: gather
    grid: n
    block: 64
    args: table, index, y, cols, n
*/
#include <cuda_fp16.h>
extern "C" __global__ void gather(const ELEMENT *table, const int *index, ELEMENT *y, int cols, int n)
{
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = table[(size_t)index[blockIdx.x] * cols + i];
}
