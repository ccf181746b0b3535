/* bench 1
op: layout
what: NCHW <-> NHWC of any size - a tile has all channels, so in NHWC it is one piece of memory; in NCHW vectors follow the addresses, not the tile
from: convert
needs: layout != to and c * h * w < 2147483648 and c * size(input) <= 2048
dtype: {input: [f32, f16, bf16], output: same}
params:
  TILE: {values: [16384, 24576, 32768], default: 24576}    # bytes of a block's tile, at most
let:
  v: 16 / size(input)
  image: c * h * w * size(input)
  flat: select(n == 1 or image % 16 == 0, 16, select(image % 8 == 0, 8, select(image % 4 == 0, 4, size(input))))   # bytes: where images begin
  pixels: max(v, min(4096, floor(TILE, 16 * c) * v))       # of a tile: whole vectors
define:
  ELEMENT_T: type(input)
  FROM_NHWC: layout == NHWC
  CHANNELS: c
  PIXELS: pixels
  FLAT: flat
  ALIGNED: h * w % v == 0 and (n == 1 or image % 16 == 0)  # planes begin at whole vectors
steps:
  - kernel: convert_flat
    grid: ceil(h * w, pixels), n
    block: 256
    smem: pixels * c * size(input)
    args: input, output, h * w
*/

/* What changed from convert: neither the channels nor the pixels need be whole vectors.
 *
 *  - A tile of PIXELS pixels with all their channels is one piece of NHWC, wherever a pixel begins: it moves 16 bytes a thread.
 *  - A plane of NCHW begins anywhere. Its vectors are cut where the addresses are multiples of 16 bytes, so the first and the last of a tile hang over its edge, and
 *    only there elements move alone.
 *  - In shared memory the tile lies as in NHWC, and an element of a plane's vector is found by itself: 2 or 4 bytes at a time, which is the cost. Lanes take four
 *    channels of eight vectors: 128 bytes of each plane, and, with vector L at place L ^ (a few bits of its pixel), eight different groups of banks.
 *
 * Measured on an H200, cold, 3 channels of 1440 x 2560: 0.90 to 1.04 of a device copy (f16) where convert_tiled, whose tiles of 64 x 64 are nearly empty, has 0.06; with an odd
 * number of pixels 0.65 (to NCHW) and 0.88. Its own limit is not DRAM but the element in shared memory: 32 of them a cycle and SM, half of what DRAM asks for with 2-byte types. */
#include "element.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T), ELEMENTS = PIXELS * CHANNELS;
constexpr int FLAT_V = FLAT / (int)sizeof(ELEMENT_T);
constexpr int LANES_C = CHANNELS < 4 ? CHANNELS : 4;
constexpr int CHUNKS = (CHANNELS + LANES_C - 1) / LANES_C;
constexpr int COLUMNS = PIXELS / V + (ALIGNED ? 0 : 1);   /* vectors of a plane that a tile touches */
constexpr int ITEMS = COLUMNS * LANES_C * CHUNKS;
constexpr int BATCH = 4;                                  /* vectors that a thread has on their way */

/* Pixels of neighbouring vectors lie CHANNELS vectors apart, and that number's factors of 2 take them to the same banks: as many bits of the pixel's vector are added. */
constexpr int ZEROS = CHANNELS % 8 == 0 ? 3 : CHANNELS % 4 == 0 ? 2 : CHANNELS % 2 == 0 ? 1 : 0;

extern __shared__ __align__(16) unsigned char tile[];

/* Element of the tile: channel c of pixel p. */
static __device__ __forceinline__ ELEMENT_T *element(int p, int c)
{
    int i = p * CHANNELS + c;
    return reinterpret_cast<ELEMENT_T *>(tile) + (i ^ (p / V >> (3 - ZEROS) & ((1 << ZEROS) - 1)) * V);
}
/* FLAT bytes at element i. */
static __device__ __forceinline__ ELEMENT_T *flat(int i)
{
    return reinterpret_cast<ELEMENT_T *>(tile) + (i ^ (i / CHANNELS / V >> (3 - ZEROS) & ((1 << ZEROS) - 1)) * V);
}

/* Item i of the planes: channel, and the pixel of the tile at which its vector begins (negative, or past the end, where it hangs over). */
struct piece {
    int c, p;
    __device__ __forceinline__ piece(int i, long long first, int HW) /* first: element where the tile's pixels begin in plane 0 */
    {
        c = i % LANES_C + i / (LANES_C * COLUMNS) * LANES_C;
        p = i / LANES_C % COLUMNS * V - (ALIGNED ? 0 : (int)((first + (long long)c * HW) % V));
    }
};

/* The tile as one piece of NHWC: in, and out. */
static __device__ __forceinline__ void take_flat(const ELEMENT_T *from, int elements)
{
#pragma unroll(BATCH)
    for (int i = threadIdx.x * FLAT_V; i < elements; i += 256 * FLAT_V)
        if (i + FLAT_V <= elements)
            store_pack<ELEMENT_T, FLAT_V>(flat(i), load_pack<ELEMENT_T, FLAT_V>(from + i));
        else
            for (int e = i; e < elements; e++)
                *flat(e) = from[e];
}
static __device__ __forceinline__ void give_flat(ELEMENT_T *to, int elements)
{
#pragma unroll(BATCH)
    for (int i = threadIdx.x * FLAT_V; i < elements; i += 256 * FLAT_V)
        if (i + FLAT_V <= elements)
            store_pack<ELEMENT_T, FLAT_V>(to + i, load_pack<ELEMENT_T, FLAT_V>(flat(i)));
        else
            for (int e = i; e < elements; e++)
                to[e] = *flat(e);
}

/* As pieces of planes; `all` is the tensor, `first` the tile's first element of plane 0. */
static __device__ __forceinline__ void take_planes(const ELEMENT_T *all, long long first, int HW, int pixels)
{
    for (int begin = threadIdx.x; begin < ITEMS; begin += 256 * BATCH) {
        pack<ELEMENT_T, V> v[BATCH];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            piece at(begin + j * 256, first, HW);
            if (begin + j * 256 < ITEMS && at.c < CHANNELS && at.p >= 0 && at.p + V <= pixels)
                v[j] = load_pack<ELEMENT_T, V>(all + first + (size_t)at.c * HW + at.p);
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            piece at(begin + j * 256, first, HW);
            if (begin + j * 256 >= ITEMS || at.c >= CHANNELS)
                continue;
            if (at.p >= 0 && at.p + V <= pixels) {
#pragma unroll
                for (int e = 0; e < V; e++)
                    *element(at.p + e, at.c) = v[j].item[e];
            } else {
#pragma unroll 1
                for (int e = max(0, -at.p); e < min(V, pixels - at.p); e++)
                    *element(at.p + e, at.c) = all[first + (long long)at.c * HW + at.p + e];
            }
        }
    }
}
static __device__ __forceinline__ void give_planes(ELEMENT_T *all, long long first, int HW, int pixels)
{
#pragma unroll(BATCH)
    for (int i = threadIdx.x; i < ITEMS; i += 256) {
        piece at(i, first, HW);
        if (at.c >= CHANNELS)
            continue;
        ELEMENT_T *to = all + first + (long long)at.c * HW + at.p;
        pack<ELEMENT_T, V> v; /* loaded before anything is asked, so that several vectors are on their way */
#pragma unroll
        for (int e = 0; e < V; e++)
            v.item[e] = *element(ALIGNED ? at.p + e : min(max(at.p + e, 0), pixels - 1), at.c);
        if (at.p >= 0 && at.p + V <= pixels) {
            store_pack<ELEMENT_T, V>(to, v);
        } else {
#pragma unroll 1
            for (int e = max(0, -at.p); e < min(V, pixels - at.p); e++)
                to[e] = *element(at.p + e, at.c);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) convert_flat(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int HW)
{
    int p0 = blockIdx.x * PIXELS, pixels = min(PIXELS, HW - p0), elements = pixels * CHANNELS;
    size_t image = (size_t)blockIdx.y * CHANNELS * HW, whole = image + (size_t)p0 * CHANNELS; /* whole: the tile in NHWC */
    long long first = (long long)image + p0;
    if (FROM_NHWC)
        take_flat(input + whole, elements);
    else
        take_planes(input, first, HW, pixels);
    __syncthreads();
    if (FROM_NHWC)
        give_planes(output, first, HW, pixels);
    else
        give_flat(output + whole, elements);
}
