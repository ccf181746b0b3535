/* bench 1
op: layout
what: NCHW <-> NHWC of any size by 16-byte vectors on both sides - rows that begin at any element are loaded aligned, and shifted in registers
from: convert
needs: layout != to and c * h * w < 2147483648
dtype: {input: [f32, f16, bf16], output: same}
params:
  PIXELS: {values: [auto, 64, 128, 192], default: auto}   # of a tile
  CHANNELS: {values: [32, 64], default: 64}            # of a tile, about
let:
  v: 16 / size(input)
  rows: select(layout == NCHW, c, h * w)               # of the input matrix [rows][cols] that is to be turned
  cols: select(layout == NCHW, h * w, c)
  pixels: select(PIXELS == 'auto', select(size(input) == 2, 192, 128), PIXELS)
  channels: v * ceil(ceil(c, max(1, floor(c + CHANNELS / 2, CHANNELS))), v)
  tile_rows: select(layout == NCHW, channels, pixels)
  tile_cols: select(layout == NCHW, pixels, channels)
  images: n == 1 or rows * cols % v == 0               # all of them begin at whole vectors
  in_vectors: tile_cols / v + 1
  out_vectors: tile_rows / v + 1
define:
  ELEMENT_T: type(input)
  TILE_ROWS: tile_rows
  TILE_COLS: tile_cols
  IN_ALIGNED: images and cols % v == 0
  OUT_ALIGNED: images and rows % v == 0
steps:
  - kernel: convert_shifted
    grid: ceil(cols, tile_cols) * ceil(rows, tile_rows), n
    block: 256
    smem: 16 * ((tile_rows + v) * in_vectors + tile_cols * out_vectors + tile_cols / v)
    args: input, output, rows, cols, n * rows * cols
*/

/* What changed from convert: a row of either matrix may begin at any element. With an odd number of pixels every plane of NCHW has another offset in its first 16 bytes,
 * and convert's squares do not fit. Moving one element at a time (convert_tiled, convert_flat) is limited by the number of instructions, 0.4 to 0.7 of a copy.
 *
 *  - In: a tile's part of a row is copied from the start of an aligned vector, up to V - 1 elements before the tile, one vector more than the tile has.
 *  - Squares: a thread reads two adjacent vectors of each of V rows, shifts the tile's V elements out of them, transposes the square, and leaves V vectors of the output
 *    in shared memory, still aligned to the tile. A shift by a number that the compiler does not know is three selections: by 4, 2 and 1 elements.
 *  - Out: the vectors of an output row that begin in the tile, at any offset: again two adjacent vectors and a shift. The last one needs up to V - 1 elements of the next
 *    tile, so V more rows are loaded than the tile has. Single elements move only where a whole row of the output begins or ends.
 *
 * Cost: V of TILE_ROWS + V rows are loaded twice (from L2), and everything passes shared memory twice more than in convert.
 * Measured on an H200, cold, 64 channels of 719 x 1279 in f16 to NCHW: 0.89 x a device copy (older code, reports/gallery/movement-h200.md). */
#include "element/element.cuh"
#include "tensor_core/mma.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T);
constexpr int IN_VECTORS = TILE_COLS / V + 1, OUT_VECTORS = TILE_ROWS / V + 1;
constexpr int SQUARES_R = TILE_ROWS / V + (OUT_ALIGNED ? 0 : 1), SQUARES_C = TILE_COLS / V;
constexpr int LOADED = IN_ALIGNED ? TILE_COLS / V : IN_VECTORS, STORED = TILE_ROWS / V;

extern __shared__ __align__(16) uint4 shared[];

/* Vector i of input row r, and of output row r: rows of V skip a vector, so that squares side by side lie in different banks. */
static __device__ __forceinline__ uint4 *in_at(int r, int i) { return shared + r * IN_VECTORS + i; }
static __device__ __forceinline__ uint4 *out_at(int r, int i) { return shared + (TILE_ROWS + V) * IN_VECTORS + r * OUT_VECTORS + r / V + i; }

/* Elements `by` .. `by` + V - 1 of two vectors. */
static __device__ __forceinline__ uint4 shifted(const uint4 *from, int by)
{
    uint4 low = from[0], high = from[1];
    unsigned w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    int words = sizeof(ELEMENT_T) == 4 ? by : by / 2;
#pragma unroll
    for (int i = 0; i < 6; i++)
        w[i] = words & 2 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 5; i++)
        w[i] = words & 1 ? w[i + 1] : w[i];
    if (sizeof(ELEMENT_T) == 2)
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[i] = __funnelshift_r(w[i], w[i + 1], by % 2 * 16);
    return make_uint4(w[0], w[1], w[2], w[3]);
}

extern "C" __global__ void __launch_bounds__(256)
convert_shifted(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int rows, int cols, long long all)
{
    int tiles_c = (cols + TILE_COLS - 1) / TILE_COLS, r0 = blockIdx.x / tiles_c * TILE_ROWS, c0 = blockIdx.x % tiles_c * TILE_COLS;
    long long image = (long long)blockIdx.y * rows * cols;
    auto in_shift = [&](int r) { return IN_ALIGNED ? 0 : (int)((image + (long long)(r0 + r) * cols + c0) % V); };

    int last = min(SQUARES_R * V, rows - r0);
#pragma unroll 4
    for (int i = threadIdx.x; i < last * LOADED; i += 256) {
        int r = i / LOADED, at = i % LOADED;
        long long from = image + (long long)(r0 + r) * cols + c0 - in_shift(r) + at * V, left = (all - from) * (long long)sizeof(ELEMENT_T);
        copy_async_16_of(shared_address(in_at(r, at)), input + (left > 0 ? from : 0), left >= 16 ? 16 : left > 0 ? (unsigned)left : 0);
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    for (int i = threadIdx.x; i < SQUARES_R * SQUARES_C; i += 256) {
        int c = i % SQUARES_C, r = i / SQUARES_C;
        if (r * V >= last)
            break;
        pack<ELEMENT_T, V> in[V];
#pragma unroll
        for (int k = 0; k < V; k++) {
            int row = min(r * V + k, last - 1); /* what lies behind the last row is not stored */
            in[k].word = IN_ALIGNED ? *in_at(row, c) : shifted(in_at(row, c), in_shift(row));
        }
#pragma unroll
        for (int k = 0; k < V; k++) {
            pack<ELEMENT_T, V> out;
#pragma unroll
            for (int e = 0; e < V; e++)
                out.item[e] = in[e].item[k];
            *out_at(c * V + k, r) = out.word;
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < TILE_COLS * STORED; i += 256) {
        int c = i / STORED, at = i % STORED;
        if (c0 + c >= cols)
            break;
        long long row = image + (long long)(c0 + c) * rows + r0; /* output row c0 + c from the tile's first element on */
        int skipped = OUT_ALIGNED ? 0 : (int)((V - row % V) % V), first = skipped + at * V;
        const ELEMENT_T *own = reinterpret_cast<const ELEMENT_T *>(out_at(c, 0));
        if (r0 + first + V <= rows)
            *reinterpret_cast<uint4 *>(output + row + first) = OUT_ALIGNED ? *out_at(c, at) : shifted(out_at(c, at), skipped);
        else
            for (int e = first; e < first + V && r0 + e < rows; e++)
                output[row + e] = own[e];
        if (!OUT_ALIGNED && r0 == 0 && at == 0)
            for (int e = 0; e < skipped && e < rows; e++)
                output[row + e] = own[e];
    }
}
