/* bench 1
op: transpose
what: a tile of 64 x 64, whose elements of 16 bits move in pairs on both sides
from: tiled
needs: rows % 2 == 0 and cols % 2 == 0
dtype: {input: [f16, bf16], output: same}
steps:
  - kernel: transpose_pairs
    grid: ceil(cols, 64), ceil(rows, 64)
    block: 32, 8
    args: input, output, rows / 2, cols / 2
*/

/* What changed from tiled: there a warp that loads 32 elements of 2 bytes reads half a line. Here a lane loads a pair, so a warp reads a whole line; two words from two consecutive
 * rows hold a 2 x 2 block, which, transposed, is a pair each of two rows of the result. A row of the tile is 33 words: each bank serves two lanes for the two rows that a lane
 * reads. */

/* rows, cols: in pairs. */
extern "C" __global__ void __launch_bounds__(256) transpose_pairs(const unsigned *input, unsigned *output, int rows, int cols)
{
    __shared__ unsigned tile[64][33];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 64 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 64; i += 8)
        if (row + i < 2 * rows && col < cols)
            tile[threadIdx.y + i][threadIdx.x] = input[(size_t)(row + i) * cols + col];
    __syncthreads();
    col = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        if (row + i >= cols || col >= rows)
            continue;
        unsigned upper = tile[2 * threadIdx.x][threadIdx.y + i], lower = tile[2 * threadIdx.x + 1][threadIdx.y + i];
        output[(size_t)(2 * (row + i)) * rows + col] = __byte_perm(upper, lower, 0x5410);
        output[(size_t)(2 * (row + i) + 1) * rows + col] = __byte_perm(upper, lower, 0x7632);
    }
}
