/* bench 1
op: layout
what: NCHW <-> NHWC of any size - a tile has all channels, so in NHWC it is contiguous; vectors on both sides follow the addresses, not the tile
from: convert
needs: layout != to and c * h * w < 2147483648 and c * size(input) <= 2048
dtype: {input: [f32, f16, bf16], output: same}
params:
  TILE: {values: [auto, 4096, 8192, 16384, 32768], default: auto}  # bytes of a block's tile, about
  THREADS: {values: [auto, 64, 128, 256], default: auto}
let:
  v: 16 / size(input)
  few: layout == NHWC and 16 * c <= 128
  many: layout == NHWC and 16 * c > 256
  tile: select(TILE != 'auto', TILE, select(few, 4096, select(many or c > 80, 16384, 8192)))
  threads: select(THREADS != 'auto', THREADS, select(few, 64, select(many, 256, 128)))
  # Of a tile: whole lines of 128 bytes of a plane, or whole vectors.
  pixels: min(4096, select(tile >= 128 * c or c > 80 and 128 * c <= 49152, max(1, floor(tile, 128 * c)) * (128 / size(input)), max(v, floor(tile, 16 * c) * v)))
  image: c * h * w
define:
  ELEMENT_T: type(input)
  FROM_NHWC: layout == NHWC
  CHANNELS: c
  PIXELS: pixels
  BLOCK_THREADS: threads
  ALIGNED: h * w % v == 0 and (n == 1 or image % v == 0)   # planes begin at whole vectors
steps:
  - kernel: convert_flat
    grid: ceil(h * w, pixels), n
    block: threads
    smem: ceil((pixels + 2 * v) * c * size(input) + 32, 128) * 128
    args: input, output, h * w, n * image
*/

/* What changed from convert: neither channels nor pixels need be whole vectors, and images and planes may begin at any element.
 *
 *  - A tile of PIXELS pixels with all their channels is contiguous in NHWC, wherever a pixel begins. In shared
 *    memory it has the layout of NHWC and the same offset from a multiple of 16 bytes: so 16 bytes move at once.
 *  - A plane of NCHW begins at any element. Its vectors are aligned to 16 bytes, so the first and the last of a tile cross its edge.
 *    To NCHW a tile stores the vectors that begin in it, and has loaded V - 1 pixels more than its own. To NHWC it loads every
 *    vector that overlaps it, and ignores the pixels beyond its edges. Single elements move only where a plane or the tensor ends.
 *  - Between the two, single elements move: 2 or 4 bytes of shared memory at a time. Lanes take four channels of eight vectors: 128 bytes of each plane.
 *  - Tiles are small. If a tensor is one wave of blocks, all of them load, then transpose, then store; the smaller the tile, the sooner the first of them stores. But a tile's part of a plane should be whole lines of 128 bytes: 66
 *    channels to NCHW ran at 0.94 of a copy with 128 pixels per tile and 0.77 with 120.
 *
 * Measured on an H200, f16, cold: 3 channels of 1440 x 2560 to NCHW 0.91 x a device copy of the same bytes (older code, reports/gallery/movement-h200.md). At odd sizes it is as fast as the copy. Back from 66 channels it is slower,
 * more so with blocks of 256 threads and 64 registers each: it waits for loads, 4 vectors per thread and no others until these are stored. To try next: two tiles a block, one in flight while the other is stored. */
#include "element/element.cuh"
#include "tensor_core/mma.cuh"

constexpr int SIZE = sizeof(ELEMENT_T), V = 16 / SIZE;
constexpr int LANES_C = CHANNELS < 4 ? CHANNELS : 4, CHUNKS = (CHANNELS + LANES_C - 1) / LANES_C;
constexpr int COLUMNS = PIXELS / V;                       /* vectors of a plane that begin in a tile */

/* Neighbouring vectors of a plane lie CHANNELS vectors apart, and that number's factors of 2 take them to the same banks: bits from above are added to a vector's place. */
constexpr int twos(int n) { return n % 2 ? 0 : 1 + twos(n / 2); }
constexpr int ABOVE = twos(CHANNELS) > 3 ? twos(CHANNELS) : 3, MASK = (1 << (twos(CHANNELS) < 3 ? twos(CHANNELS) : 3)) - 1;

extern __shared__ __align__(128) unsigned char tile[];

/* Element i of the tile. */
static __device__ __forceinline__ ELEMENT_T *at(int i)
{
    unsigned byte = i * SIZE;
    return reinterpret_cast<ELEMENT_T *>(tile + (byte ^ (byte >> ABOVE & MASK << 4)));
}

/* Vector number i of the planes: its channel, and the pixel of the tile at which it begins. `first`: element where the tile's pixels begin in plane 0. */
struct piece {
    int c, j, p;
    __device__ __forceinline__ piece(int i, int columns, unsigned first, unsigned HW)
    {
        c = i % LANES_C + i / (LANES_C * columns) * LANES_C;
        j = i / LANES_C % columns;
        int over = ALIGNED ? 0 : (first + c * HW) % V; /* elements from the address before, a multiple of 16 bytes, to the tile's own */
        p = j * V + (FROM_NHWC ? (V - over) % V : -over);
    }
};

/* `all` is the tensor, of `end` elements; the tile's own begin at `start`. */
static __device__ __forceinline__ void take_flat(const ELEMENT_T *all, long long start, int elements, long long end)
{
    int over = start % V, vectors = (over + elements + V - 1) / V;
    const ELEMENT_T *from = all + start - over;
    long long left = (end - start + over) * SIZE;
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += BLOCK_THREADS)
        copy_async_16_of(shared_address(at(i * V)), from + i * V, left - i * 16 >= 16 ? 16 : (unsigned)(left - i * 16));
    copy_async_commit();
    copy_async_wait<0>();
}
static __device__ __forceinline__ void give_planes(ELEMENT_T *all, long long image, int p0, int over, int HW)
{
    long long first = image + p0;
#pragma unroll 2
    for (int i = threadIdx.x; i < COLUMNS * LANES_C * CHUNKS; i += BLOCK_THREADS) {
        piece v(i, COLUMNS, (unsigned)first, HW);
        if (v.c >= CHANNELS)
            continue;
        ELEMENT_T *to = all + first + (size_t)v.c * HW + v.p;
        int from = over + v.p * CHANNELS + v.c, left = HW - p0 - v.p;
        if (left >= V) {
            pack<ELEMENT_T, V> out;
#pragma unroll
            for (int e = 0; e < V; e++)
                out.item[e] = *at(from + e * CHANNELS);
            store_pack<ELEMENT_T, V>(to, out);
        } else {
            for (int e = 0; e < left; e++)
                to[e] = *at(from + e * CHANNELS);
        }
        if (!ALIGNED && p0 == 0 && v.j == 0)
            for (int e = -v.p; e < min(0, left); e++) /* before the plane's first whole vector */
                to[e] = *at(from + e * CHANNELS);
    }
}

constexpr int ORIGIN = V * CHANNELS; /* of a tile that is filled from planes: what hangs over comes before */

static __device__ __forceinline__ void take_planes(const ELEMENT_T *all, long long image, int p0, int over, int HW, int pixels, long long end)
{
    constexpr int columns = COLUMNS + (ALIGNED ? 0 : 1), items = columns * LANES_C * CHUNKS, each = (items + BLOCK_THREADS - 1) / BLOCK_THREADS;
    constexpr int batches = (each + 3) / 4, BATCH = (each + batches - 1) / batches; /* vectors that a thread has on their way */
    long long first = image + p0;
    for (int begin = threadIdx.x; begin < items; begin += BLOCK_THREADS * BATCH) {
        pack<ELEMENT_T, V> in[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            piece v(begin + k * BLOCK_THREADS, columns, (unsigned)first, HW);
            if (v.c < CHANNELS && v.p < pixels && first + (long long)v.c * HW + v.p + V <= end)
                in[k] = load_pack<ELEMENT_T, V>(all + first + (long long)v.c * HW + v.p);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            piece v(begin + k * BLOCK_THREADS, columns, (unsigned)first, HW);
            int to = ORIGIN + over + v.p * CHANNELS + v.c;
            long long from = first + (long long)v.c * HW + v.p;
            if (v.c >= CHANNELS || v.p >= pixels)
                continue;
            if (from + V <= end) {
#pragma unroll
                for (int e = 0; e < V; e++)
                    *at(to + e * CHANNELS) = in[k].item[e];
            } else {
                for (int e = 0; from + e < end; e++)
                    *at(to + e * CHANNELS) = all[from + e];
            }
        }
    }
}
static __device__ __forceinline__ void give_flat(ELEMENT_T *to, int over, int elements)
{
    int skipped = min((V - over) % V, elements), vectors = (elements - skipped) / V, rest = (elements - skipped) % V;
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += BLOCK_THREADS)
        *reinterpret_cast<uint4 *>(to + skipped + i * V) = *reinterpret_cast<const uint4 *>(at(ORIGIN + over + skipped + i * V)); /* as a pack it becomes four stores */
    if (threadIdx.x < skipped)
        to[threadIdx.x] = *at(ORIGIN + over + threadIdx.x);
    if (threadIdx.x < rest)
        to[skipped + vectors * V + threadIdx.x] = *at(ORIGIN + over + skipped + vectors * V + threadIdx.x);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1024 / BLOCK_THREADS) convert_flat(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int HW, long long end)
{
    int p0 = blockIdx.x * PIXELS, pixels = min(PIXELS, HW - p0);
    long long image = (long long)blockIdx.y * CHANNELS * HW, start = image + (long long)p0 * CHANNELS; /* start: of the tile, in NHWC */
    if (FROM_NHWC)
        take_flat(input, start, min(PIXELS + (ALIGNED ? 0 : V - 1), HW - p0) * CHANNELS, end);
    else
        take_planes(input, image, p0, start % V, HW, pixels, end);
    __syncthreads();
    if (FROM_NHWC)
        give_planes(output, image, p0, start % V, HW);
    else
        give_flat(output + start, start % V, pixels * CHANNELS);
}
