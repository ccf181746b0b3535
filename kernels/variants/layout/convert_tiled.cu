/* bench 1
what: NCHW <-> NHWC through a padded tile in shared memory, 16 bytes per load and store where the shape allows
like: convert_naive
let:
  v_max: 16 / size(input)
  tile: 128 / size(input)                      # 128 bytes each way: 64x64 of 2-byte elements, 32x32 of 4-byte ones
define:
  TILE: tile
  V_LOAD: select(cols % v_max == 0, v_max, select(cols % 2 == 0, 2, 1))
  V_STORE: select(rows % v_max == 0, v_max, select(rows % 2 == 0, 2, 1))
steps:
  - kernel: convert
    grid: ceil(cols, tile) * ceil(rows, tile), n
    block: 256
    args: input, output, rows, cols
*/

/* What changed from convert_naive: a block reads a tile of the matrix row by row, transposes it in shared memory, and writes it column by column, so
 * all accesses to global memory are whole lines of 128 bytes, 16 bytes per thread.
 *
 * A row of the tile takes 33 words of 4 bytes. Eight adjacent lanes write 16 bytes each of one row, four rows at once: word 33 * row + 4 * lane + t.
 * Eight by four lanes read back a column: word 33 * (v * i + t) + j. The odd pitch spreads both over all 32 banks.
 *
 * Cost: every element goes through shared memory once each way, in pieces of 4 bytes in and of one element out, which for 2-byte types is the next
 * limit. If rows or cols are odd, that side uses smaller vectors; the other keeps its own. */
#include "element/element.cuh"

#define PITCH (TILE + 4 / (int)sizeof(ELEMENT_T))

extern "C" __global__ void __launch_bounds__(256) convert(const ELEMENT_T *input, ELEMENT_T *output, int rows, int cols)
{
    __shared__ __align__(4) ELEMENT_T tile[TILE * PITCH];
    int tiles_x = (cols + TILE - 1) / TILE;
    int row0 = blockIdx.x / tiles_x * TILE, col0 = blockIdx.x % tiles_x * TILE;
    input += (size_t)blockIdx.y * rows * cols;
    output += (size_t)blockIdx.y * rows * cols;

    constexpr int loads = TILE / V_LOAD; /* of one row */
#pragma unroll
    for (int i = threadIdx.x; i < TILE * loads; i += 256) {
        int row = i / loads, col = i % loads * V_LOAD;
        if (row0 + row < rows && col0 + col < cols) { /* cols is a multiple of V_LOAD: all of the vector or nothing */
            pack<ELEMENT_T, V_LOAD> v = load_pack<ELEMENT_T, V_LOAD>(input + (size_t)(row0 + row) * cols + col0 + col);
            constexpr int words = sizeof(v) / 4;
            if (words > 0) {
                const unsigned *word = reinterpret_cast<const unsigned *>(&v);
                unsigned *to = reinterpret_cast<unsigned *>(tile + row * PITCH + col);
#pragma unroll
                for (int t = 0; t < words; t++)
                    to[t] = word[t];
            } else {
                tile[row * PITCH + col] = v.item[0];
            }
        }
    }
    __syncthreads();

    constexpr int stores = TILE / V_STORE; /* of one column */
#pragma unroll
    for (int i = threadIdx.x; i < TILE * stores; i += 256) {
        int col = i / stores, row = i % stores * V_STORE;
        if (row0 + row < rows && col0 + col < cols) {
            pack<ELEMENT_T, V_STORE> v;
#pragma unroll
            for (int t = 0; t < V_STORE; t++)
                v.item[t] = tile[(row + t) * PITCH + col];
            store_pack<ELEMENT_T, V_STORE>(output + (size_t)(col0 + col) * rows + row0 + row, v);
        }
    }
}
