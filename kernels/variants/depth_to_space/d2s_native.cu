/* bench 1
op: depth_to_space
what: one pass at copy speed - whole vectors in and out, the permutation happens in registers or, for short runs of channels, in shared memory
from: d2s_transpose_1pass
needs: block <= 8 and c * h * w < 2147483648     # a thread holds a block of channels in registers
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
params:
  TILE: {values: [8192, 16384, 32768], default: 16384}     # bytes of a tile of NHWC, where it takes one
  STRIP: {values: [4096, 8192, 16384], default: 8192}    # bytes of the lines that a block makes or takes, in NCHW of any width
let:
  nhwc: layout(input) == NHWC
  co: c / (block * block)
  # Elements that lie side by side in the input and stay so in the output, or (NCHW) pixels of a row: the vector must divide them.
  run: select(nhwc, select(mode == DCR, block * co, co), w)
  v_max: 16 / size(input)
  # NHWC CRD: a thread holds block * block vectors, at most 128 bytes of them: more registers cost more in occupancy than wider stores give.
  cap: select(nhwc and mode == CRD, max(1, floor(128, block * block * size(input))), v_max)
  v: select(run % v_max == 0 and cap >= v_max, v_max, select(run % 4 == 0 and cap >= 4, 4, select(run % 2 == 0 and cap >= 2, 2, 1)))
  # NHWC: neighbours that do not fill sectors of 32 bytes, as in the last shuffle to 3 channels, or fill few, go through a tile in shared memory.
  short: nhwc and (run * size(input) % 32 != 0 or (mode == CRD and block >= 4)) and 16 * c * size(input) <= 98304
  pixels: max(8, floor(TILE, 8 * c * size(input)) * 8)     # of a tile, in one row
  line_in: w * c * size(input)
  line_out: w * block * co * size(input)
  items: select(nhwc, select(mode == DCR, h * w * c / v, h * w * (co / v)), h * (w / v) * co * block)
  # NCHW of a width that vectors do not divide: strips of rows in shared memory.
  strips: not nhwc and v < v_max and n * c / block < 65536
  px: select(block <= 3, 4, select(block == 4, 2, 1))
  strip: px * ceil(w, px * ceil(w, 128 * px))            # pixels: strips of a row are alike
  rows: max(1, min(h, floor(STRIP, strip * block * size(input))))
  pitch_deep: ceil(strip + 2 * v_max, v_max) * v_max + w % v_max
  plane: ceil(rows * pitch_deep + 2 * v_max, v_max) * v_max
  pitch_line: ceil(strip * block + 2 * v_max, v_max) * v_max + block * block * w % v_max
define:
  NHWC: nhwc
  CRD: mode == CRD
  ELEMENT_T: type(input)
  VEC: v
  CHANNELS: c
  PIXELS: pixels
  DEEP_BYTES: select(line_in % 16 == 0, 16, select(line_in % 8 == 0, 8, select(line_in % 4 == 0, 4, size(input))))
  LINE_BYTES: select(line_out % 16 == 0, 16, select(line_out % 8 == 0, 8, select(line_out % 4 == 0, 4, size(input))))
  STRIPS: strips
  WIDTH: w
  STRIP_PIXELS: strip
  ROWS: rows
  PX: px
  PLANE: plane
  PITCH_DEEP: pitch_deep
  PITCH_LINE: pitch_line
specialise: [block]
steps:
  - kernel: d2s_tiles
    when: short
    grid: ceil(w, pixels) * h, n
    block: 256
    smem: 2 * pixels * c * size(input) + 160 * block
    args: input, output, h, w
  - kernel: d2s_native
    when: not short and not strips
    grid: ceil(items, 256), n
    block: 256
    args: input, output, c, h, w, items
  - kernel: d2s_strips
    when: strips
    grid: ceil(w, strip) * ceil(h, rows), n * c / block
    block: 128
    smem: (block * plane + rows * pitch_line + 2 * v_max) * size(input)
    args: input, output, c, h, n * c * h * w
*/

/* What changed from the transpose chain: there is no transpose. Element (c, y, x) of the output, with dy = y mod r and dx = x mod r, is
 *     DCR  input channel C' * (r * dy + dx) + c         CRD  input channel c * r * r + r * dy + dx
 * of pixel (y / r, x / r), so one gather does it. What makes it fast is that a thread never handles single elements:
 *
 *   NHWC DCR  for one dy the r * C' channels of a pixel are r * C' neighbours of an output row: a copy of segments, 16 bytes per thread.
 *   NHWC CRD  a thread reads the r * r * VEC neighbours that make VEC channels of r * r output pixels, and stores r * r vectors.
 *   NHWC with short runs: stores of less than a sector cost a whole one each, and runs that a thread stores far apart cost nearly as much (a quarter of the time at r = 4,
 *             half at r = 8). A block takes a tile of pixels of a row to shared memory and permutes it there: movement/shuffle_tile.cuh.
 *   NCHW      a thread reads VEC pixels of the r planes that share an output row and interleaves them: r * VEC neighbours. Stored by the thread itself, a
 *             warp's vectors would lie r apart, two or three stores to a sector, 6 % of the time on an H200; so the warp deals its vectors out anew through
 *             shared memory, and each of its stores is one piece.
 *
 * All indices into a thread's block are constants: the permutation costs register moves (prmt for 2-byte types). VEC shrinks to what the shape's alignment allows. If whole
 * vectors do not divide a width in NCHW, such as an odd one, a thread would have only 2 to 8 bytes: then pieces of rows go through shared memory, with the same offset from a
 * multiple of 16 bytes as in global memory: movement/shuffle_strip.cuh. */
#include "element/element.cuh"

#define RR (BLOCK * BLOCK)

using vec = pack<ELEMENT_T, VEC>;

/* The widest power of two, up to 16 bytes, that divides the elements which a thread reads side by side. */
constexpr int wide(int elements, int widest) { return elements % widest == 0 ? widest : wide(elements, widest / 2); }
constexpr int LOAD = wide(RR * VEC, 16 / sizeof(ELEMENT_T));

static __device__ __forceinline__ void nhwc_dcr(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int W)
{
    int per_row = BLOCK * (C / RR) / VEC; /* vectors of a pixel that share dy */
    int j = i % per_row, rest = i / per_row;
    int dy = rest % BLOCK, pixel = rest / BLOCK;
    int x = pixel % W, y = pixel / W;
    store_pack<ELEMENT_T, VEC>(output + (((size_t)y * BLOCK + dy) * W + x) * (per_row * VEC) + j * VEC, load_pack<ELEMENT_T, VEC>(input + (size_t)i * VEC));
}

static __device__ __forceinline__ void nhwc_crd(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int W)
{
    int co = C / RR, groups = co / VEC;
    int g = i % groups, pixel = i / groups;
    int x = pixel % W, y = pixel / W;
    pack<ELEMENT_T, LOAD> in[RR * VEC / LOAD];
#pragma unroll
    for (int j = 0; j < RR * VEC / LOAD; j++)
        in[j] = load_pack<ELEMENT_T, LOAD>(input + (size_t)pixel * C + g * (RR * VEC) + j * LOAD);
#pragma unroll
    for (int d = 0; d < RR; d++) {
        vec out;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            out.item[j] = in[(j * RR + d) / LOAD].item[(j * RR + d) % LOAD];
        store_pack<ELEMENT_T, VEC>(output + (((size_t)y * BLOCK + d / BLOCK) * W * BLOCK + x * BLOCK + d % BLOCK) * co + g * VEC, out);
    }
}

/* Where vector k of a warp waits: eight lanes write every BLOCK-th, and an even BLOCK would take them to the same banks. */
static __device__ __forceinline__ int spread(int k) { return k ^ (k >> 3 & ((BLOCK & -BLOCK) - 1)); }

/* All lanes of a warp; `valid`: whether item i exists. */
static __device__ __forceinline__ void nchw(const ELEMENT_T *input, ELEMENT_T *output, int i, bool valid, int C, int H, int W)
{
    __shared__ vec dealt[8][32 * BLOCK];
    vec *own = dealt[threadIdx.x / 32];
    int lane = threadIdx.x % 32, per_line = W / VEC, first = -1; /* first: this item's vectors in the output, from there BLOCK neighbours */
    if (valid) {
        int co = C / RR, x = i % per_line, rest = i / per_line;
        int y = rest % H;
        rest /= H;
        int dy = rest % BLOCK, c = rest / BLOCK;
        vec in[BLOCK];
#pragma unroll
        for (int dx = 0; dx < BLOCK; dx++) {
            int plane = CRD ? c * RR + BLOCK * dy + dx : co * (BLOCK * dy + dx) + c;
            in[dx] = load_pack<ELEMENT_T, VEC>(input + ((size_t)plane * H + y) * W + x * VEC);
        }
        first = (((c * H + y) * BLOCK + dy) * per_line + x) * BLOCK;
#pragma unroll
        for (int j = 0; j < BLOCK; j++) {
            vec out;
#pragma unroll
            for (int e = 0; e < VEC; e++)
                out.item[e] = in[(j * VEC + e) % BLOCK].item[(j * VEC + e) / BLOCK];
            own[spread(lane * BLOCK + j)].word = out.word;
        }
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < BLOCK; j++) {
        int k = j * 32 + lane, at = __shfl_sync(0xffffffff, first, k / BLOCK); /* vector k of the warp is the k % BLOCK-th of lane k / BLOCK */
        if (at >= 0)
            reinterpret_cast<decltype(vec::word) *>(output)[at + k % BLOCK] = own[spread(k)].word;
    }
}

extern "C" __global__ void __launch_bounds__(256) d2s_native(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int items)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    input += (size_t)blockIdx.y * C * H * W;
    output += (size_t)blockIdx.y * C * H * W;
    if (!NHWC)
        nchw(input, output, i, i < items, C, H, W);
    else if (i < items && CRD)
        nhwc_crd(input, output, i, C, W);
    else if (i < items)
        nhwc_dcr(input, output, i, C, W);
}

#if NHWC
#include "movement/shuffle_tile.cuh"

extern "C" __global__ void __launch_bounds__(256) d2s_tiles(unsigned char *input, unsigned char *output, int H, int W)
{
    int strips = (W + PIXELS - 1) / PIXELS, x = blockIdx.x % strips * PIXELS, y = blockIdx.x / strips;
    size_t row = (size_t)blockIdx.y * H + y, line = (size_t)W * shuffle::LINE * shuffle::SIZE;
    shuffle::tile<true>(input + (row * W + x) * CHANNELS * shuffle::SIZE, output + row * BLOCK * line + (size_t)x * shuffle::LINE * shuffle::SIZE, line, min(PIXELS, W - x));
}
#endif

#if STRIPS
#define SHUFFLE_THREADS 128
#include "movement/shuffle_strip.cuh"

extern "C" __global__ void __launch_bounds__(128) d2s_strips(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, long long end)
{
    shuffle::strip_of_block<true>(input, output, C, H, end);
}
#endif
