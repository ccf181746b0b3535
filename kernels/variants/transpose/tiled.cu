/* bench 1
op: transpose
what: a tile of 32 x 32 is transposed in shared memory, so that both sides are whole lines
from: naive
dtype: {input: [f32, f16, bf16], output: same}
define:
  ELEMENT_T: type(input)
steps:
  - kernel: transpose
    grid: ceil(cols, 32), ceil(rows, 32)
    block: 32, 8
    args: input, output, rows, cols
*/

/* What changed from naive: a block reads a tile row by row, transposes it in shared memory, and writes it column by column. The tile's rows are one
 * element longer than necessary: 33 is odd, so the 32 elements of a column are in 32 different banks. */
#include "element/element.cuh"

extern "C" __global__ void __launch_bounds__(256) transpose(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    __shared__ ELEMENT_T tile[32][33];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (row + i < rows && col < cols)
            tile[threadIdx.y + i][threadIdx.x] = input[(size_t)(row + i) * cols + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (row + i < cols && col < rows)
            output[(size_t)(row + i) * rows + col] = tile[threadIdx.x][threadIdx.y + i];
}
