/* bench 1
op: space_to_depth
what: one pass at copy speed - d2s_native with loads and stores exchanged
needs: block <= 8 and c * h * w < 2147483648     # a thread holds a block of channels in registers
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
params:
  TILE: {values: [8192, 16384, 32768], default: 16384}     # bytes of a tile of NHWC, where it takes one
  STRIP: {values: [4096, 8192, 16384], default: 8192}    # bytes of the lines that a block makes or takes, in NCHW of any width
let:
  nhwc: layout(input) == NHWC
  # The deep tensor, here the output: channels and size.
  deep: c * block * block
  hd: h / block
  wd: w / block
  # Elements that lie side by side in both tensors, or (NCHW) pixels of a row of the deep one: the vector must divide them.
  run: select(nhwc, select(mode == DCR, block * c, c), wd)
  v_max: 16 / size(input)
  # NHWC: only whole runs of sectors are moved by the threads that load them; the rest goes through a tile in shared memory.
  short: nhwc and (run * size(input) % 32 != 0 or mode == CRD) and 16 * deep * size(input) <= 98304
  pixels: max(8, floor(TILE, 8 * deep * size(input)) * 8)  # of a tile, in one row of the deep tensor
  line_deep: wd * deep * size(input)
  line: wd * block * c * size(input)
  # NHWC CRD: a thread holds block * block vectors, at most 256 bytes of them.
  cap: select(nhwc and mode == CRD, max(1, floor(256, block * block * size(input))), v_max)
  v: select(run % v_max == 0 and cap >= v_max, v_max, select(run % 4 == 0 and cap >= 4, 4, select(run % 2 == 0 and cap >= 2, 2, 1)))
  items: select(nhwc, select(mode == DCR, hd * wd * deep / v, hd * wd * (c / v)), hd * (wd / v) * c * block)
  # NCHW of a width that vectors do not divide: strips of rows in shared memory.
  strips: not nhwc and v < v_max and n * deep / block < 65536
  px: select(block <= 3, 4, select(block == 4, 2, 1))
  strip: px * ceil(wd, px * ceil(wd, 128 * px))            # pixels: strips of a row are alike
  rows: max(1, min(hd, floor(STRIP, strip * block * size(input))))
  pitch_deep: ceil(strip + 2 * v_max, v_max) * v_max + wd % v_max
  plane: ceil(rows * pitch_deep + 2 * v_max, v_max) * v_max
  pitch_line: ceil(strip * block + 2 * v_max, v_max) * v_max + block * block * wd % v_max
define:
  NHWC: nhwc
  CRD: mode == CRD
  ELEMENT_T: type(input)
  VEC: v
  CHANNELS: deep
  PIXELS: pixels
  DEEP_BYTES: select(line_deep % 16 == 0, 16, select(line_deep % 8 == 0, 8, select(line_deep % 4 == 0, 4, size(input))))
  LINE_BYTES: select(line % 16 == 0, 16, select(line % 8 == 0, 8, select(line % 4 == 0, 4, size(input))))
  STRIPS: strips
  WIDTH: wd
  STRIP_PIXELS: strip
  ROWS: rows
  PX: px
  PLANE: plane
  PITCH_DEEP: pitch_deep
  PITCH_LINE: pitch_line
specialise: [block]
steps:
  - kernel: s2d_tiles
    when: short
    grid: ceil(wd, pixels) * hd, n
    block: 256
    smem: 2 * pixels * deep * size(input) + 160 * block
    args: input, output, hd, wd
  - kernel: s2d_native
    when: not short and not strips
    grid: ceil(items, 256), n
    block: 256
    args: input, output, deep, hd, wd, items
  - kernel: s2d_strips
    when: strips
    grid: ceil(wd, strip) * ceil(hd, rows), n * deep / block
    block: 128
    smem: (block * plane + rows * pitch_line + 2 * v_max) * size(input)
    args: input, output, deep, hd, n * deep * hd * wd
*/

/* The inverse of depth_to_space/d2s_native, in both modes and both layouts: each thread has the same vectors, and loads become stores; that file describes them. Short
 * runs of NHWC, and all of CRD, go through the same tile in the other direction (movement/shuffle_tile.cuh): a thread that gathers from r * r places for one store reads
 * sectors that adjacent threads read again, at 0.2 to 0.7 of a copy. The composition of the two is the identity, which is the test of both. */
#include "element/element.cuh"

#define RR (BLOCK * BLOCK)

using vec = pack<ELEMENT_T, VEC>;

/* The widest power of two, up to 16 bytes, that divides the elements which a thread writes side by side. */
constexpr int wide(int elements, int widest) { return elements % widest == 0 ? widest : wide(elements, widest / 2); }
constexpr int STORE = wide(RR * VEC, 16 / sizeof(ELEMENT_T));

/* C, H, W are those of the deep tensor. */
static __device__ __forceinline__ void nhwc_dcr(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int W)
{
    int per_row = BLOCK * (C / RR) / VEC; /* vectors of a deep pixel that share dy */
    int j = i % per_row, rest = i / per_row;
    int dy = rest % BLOCK, pixel = rest / BLOCK;
    int x = pixel % W, y = pixel / W;
    store_pack<ELEMENT_T, VEC>(output + (size_t)i * VEC,
                               load_pack<ELEMENT_T, VEC>(input + (((size_t)y * BLOCK + dy) * W + x) * (per_row * VEC) + j * VEC));
}

static __device__ __forceinline__ void nhwc_crd(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int W)
{
    int ci = C / RR, groups = ci / VEC;
    int g = i % groups, pixel = i / groups;
    int x = pixel % W, y = pixel / W;
    vec in[RR];
#pragma unroll
    for (int d = 0; d < RR; d++)
        in[d] = load_pack<ELEMENT_T, VEC>(input + (((size_t)y * BLOCK + d / BLOCK) * W * BLOCK + x * BLOCK + d % BLOCK) * ci + g * VEC);
#pragma unroll
    for (int j = 0; j < RR * VEC / STORE; j++) {
        pack<ELEMENT_T, STORE> out;
#pragma unroll
        for (int e = 0; e < STORE; e++)
            out.item[e] = in[(j * STORE + e) % RR].item[(j * STORE + e) / RR];
        store_pack<ELEMENT_T, STORE>(output + (size_t)pixel * C + g * (RR * VEC) + j * STORE, out);
    }
}

static __device__ __forceinline__ void nchw(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int H, int W)
{
    int ci = C / RR, per_line = W / VEC;
    int x = i % per_line * VEC, rest = i / per_line;
    int y = rest % H;
    rest /= H;
    int dy = rest % BLOCK, c = rest / BLOCK;
    const ELEMENT_T *line = input + (((size_t)c * H + y) * BLOCK + dy) * W * BLOCK + x * BLOCK;
    vec in[BLOCK];
#pragma unroll
    for (int j = 0; j < BLOCK; j++)
        in[j] = load_pack<ELEMENT_T, VEC>(line + j * VEC);
#pragma unroll
    for (int dx = 0; dx < BLOCK; dx++) {
        vec out;
#pragma unroll
        for (int e = 0; e < VEC; e++)
            out.item[e] = in[(e * BLOCK + dx) / VEC].item[(e * BLOCK + dx) % VEC];
        int plane = CRD ? c * RR + BLOCK * dy + dx : ci * (BLOCK * dy + dx) + c;
        store_pack<ELEMENT_T, VEC>(output + ((size_t)plane * H + y) * W + x, out);
    }
}

extern "C" __global__ void __launch_bounds__(256) s2d_native(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int items)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= items)
        return;
    input += (size_t)blockIdx.y * C * H * W;
    output += (size_t)blockIdx.y * C * H * W;
    if (!NHWC)
        nchw(input, output, i, C, H, W);
    else if (CRD)
        nhwc_crd(input, output, i, C, W);
    else
        nhwc_dcr(input, output, i, C, W);
}

#if NHWC
#include "movement/shuffle_tile.cuh"

extern "C" __global__ void __launch_bounds__(256) s2d_tiles(unsigned char *input, unsigned char *output, int H, int W)
{
    int strips = (W + PIXELS - 1) / PIXELS, x = blockIdx.x % strips * PIXELS, y = blockIdx.x / strips;
    size_t row = (size_t)blockIdx.y * H + y, line = (size_t)W * shuffle::LINE * shuffle::SIZE;
    shuffle::tile<false>(output + (row * W + x) * CHANNELS * shuffle::SIZE, input + row * BLOCK * line + (size_t)x * shuffle::LINE * shuffle::SIZE, line, min(PIXELS, W - x));
}
#endif

#if STRIPS
#define SHUFFLE_THREADS 128
#include "movement/shuffle_strip.cuh"

extern "C" __global__ void __launch_bounds__(128) s2d_strips(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, long long end)
{
    shuffle::strip_of_block<false>(input, output, C, H, end);
}
#endif
