/* bench 1
op: layout
what: NCHW <-> NHWC at copy speed - a thread turns a square of 16-byte vectors in registers, shared memory only deals them out
from: convert_tiled
needs: layout != to and c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
params:
  TILE: {values: [16384, 32768], default: 16384}       # bytes of a block's tile
let:
  v: 16 / size(input)                                  # elements of a vector: a thread's square is v x v
  whole: c % v == 0 and h * w % v == 0                 # every vector is aligned, in both layouts
  chunks: max(1, min(8, pow2(ceil(c, v))))             # of 16 bytes: the channels of a tile
  pixels: TILE / (16 * chunks)                         # of a tile
  # Too many channels for one tile; and from 48 on, where pixels are whole vectors, squares are ahead of elements.
  shifted: 128 * c > 49152 or c % v == 0 and c >= 48
define:
  ELEMENT_T: type(input)
  FROM_NHWC: layout == NHWC
  CHUNKS: chunks
  PIXELS: pixels
steps:
  - kernel: convert
    grid: ceil(h * w, pixels) * ceil(c, chunks * v), n
    block: 256
    smem: TILE
    args: input, output, c, h * w
    when: whole
  - variant: layout/convert_flat
    when: not whole and not shifted
  - variant: layout/convert_shifted
    when: not whole and shifted
*/

/* What changed from convert_tiled: all accesses have 16 bytes. There a thread read single elements from shared memory, two of a bank's four bytes, and packed
 * eight into a store. Here a thread reads V vectors of V elements, a square, transposes it in registers (one byte permutation a word for 2-byte types, none for
 * 4-byte ones) and stores V vectors.
 *
 *  - Tiles are long: 64 channels by 128 pixels of 2-byte elements. In NCHW that is 256 bytes of a plane at a time instead of 128; planes are megabytes apart, and
 *    DRAM is faster with long accesses.
 *  - The copy into shared memory is asynchronous, so a block has its whole tile in flight at once and needs no registers for it.
 *  - Vector L of the tile lies at place L ^ (its square's number mod 8): the eight lanes of a phase, one square apart, read eight different groups of banks.
 *
 * Cost: the shape must allow 16 bytes everywhere. Where c or h * w is no multiple of V the head runs convert_flat instead, or for many channels convert_shifted.
 * Measured on an H200, 64 channels of 720 x 1280 in f16 to NHWC, cold: 0.98 x a device copy. */
#include "element/element.cuh"
#include "tensor_core/mma.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T), COLUMNS = PIXELS / V; /* squares side by side */
constexpr int VECTORS = CHUNKS * PIXELS, SQUARES = CHUNKS * COLUMNS;
constexpr int SPAN = FROM_NHWC ? CHUNKS * V : COLUMNS * V; /* from the vectors of one square to those of the next that lies across */

extern __shared__ __align__(16) unsigned char tile[];

/* Place of vector L of the tile, in bytes. */
static __device__ __forceinline__ int place(int L) { return (L ^ (L / SPAN % 8)) * 16; }

extern "C" __global__ void __launch_bounds__(256) convert(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int C, int HW)
{
    int tiles_c = (C + CHUNKS * V - 1) / (CHUNKS * V);
    int c0 = blockIdx.x % tiles_c * (CHUNKS * V), p0 = blockIdx.x / tiles_c * PIXELS;
    input += (size_t)blockIdx.y * C * HW;
    output += (size_t)blockIdx.y * C * HW;
    unsigned shared = shared_address(tile);

#pragma unroll
    for (int L = threadIdx.x; L < VECTORS; L += 256) { /* in the order of the input */
        int c = c0 + (FROM_NHWC ? L % CHUNKS * V : L / COLUMNS), p = p0 + (FROM_NHWC ? L / CHUNKS : L % COLUMNS * V);
        if (c < C && p < HW)
            copy_async_16(shared + place(L), input + (FROM_NHWC ? (size_t)p * C + c : (size_t)c * HW + p), true);
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

#pragma unroll
    for (int i = threadIdx.x; i < SQUARES; i += 256) { /* in the order of the output */
        int chunk = FROM_NHWC ? i / COLUMNS : i % CHUNKS, column = FROM_NHWC ? i % COLUMNS : i / CHUNKS;
        int c = c0 + chunk * V, p = p0 + column * V;
        if (c >= C || p >= HW)
            continue;
        pack<ELEMENT_T, V> in[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            in[j] = *reinterpret_cast<const pack<ELEMENT_T, V> *>(tile + place(FROM_NHWC ? (column * V + j) * CHUNKS + chunk : (chunk * V + j) * COLUMNS + column));
#pragma unroll
        for (int j = 0; j < V; j++) {
            pack<ELEMENT_T, V> out;
#pragma unroll
            for (int e = 0; e < V; e++)
                out.item[e] = in[e].item[j];
            store_pack<ELEMENT_T, V>(output + (FROM_NHWC ? (size_t)(c + j) * HW + p : (size_t)(p + j) * C + c), out);
        }
    }
}
