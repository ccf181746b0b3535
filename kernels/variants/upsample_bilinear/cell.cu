/* bench 1
op: upsample_bilinear
what: one thread per vector of the square between four input pixels - loaded once, block * block outputs made from them
from: warp
needs: block <= 8 and c * (h + 1) * (w + 1) * block < 2147483648
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
params:
  WIDE: {values: [2, 4, 16], default: 4}                # the block from which on a cell is divided
let:
  nhwc: layout(input) == NHWC
  v_max: 16 / size(input)
  cells: nhwc and c % v_max == 0                       # a thread has a whole cell; else a vector of a line
  columns: cells and block >= WIDE                     # or of a pixel in each of a cell's lines
  planes: select(nhwc, 1, c)
  line: select(nhwc, w * block * c, w * block)         # of the output: what vectors must divide
  v: select(line % v_max == 0, v_max, select(line % 4 == 0, 4, select(line % 2 == 0, 2, 1)))
  items: select(columns, c / v * (h + 1) * w * block, select(cells, c / v * (h + 1) * (w + 1), planes * (h + 1) * (line / v)))
define:
  COLUMNS: columns
  CELLS: cells
  CHANNELS: select(nhwc and not cells, c, 1)           # that are neighbours in a line
  ELEMENT_T: type(input)
  VEC: v
specialise: [block]
steps:
  - kernel: bilinear_cell
    grid: ceil(items, 256), n
    block: 256
    args: input, output, c, h, w, items
*/

/* What changed from warp: the thread owns not an output pixel but a cell, the square between the centres of four input pixels. All block * block outputs inside it are
 * made of the same four corners, with weights that are constants of the compiler: the corners are loaded once, and no position is worked out in floating point.
 * There is one row and one column of cells more than pixels; at the edges corners coincide, and half of the outputs lie outside. The mean is taken along one axis first: two
 * instructions for a pair of corners, where four weights would be seven.
 *
 * Consecutive threads have consecutive vectors of 16 bytes of NHWC channels. In NCHW, and in NHWC if the channels are no whole vectors, they follow the line of the output:
 * a thread computes a vector of it, which is the upper side of one or more cells, and the same vector of the block - 1 lines below; it reads two short pieces of two input
 * lines, in NCHW as one vector and the elements on its two sides. */
#include "element/element.cuh"

using vec = pack<ELEMENT_T, VEC>;

/* From the nearer side: the difference of a large far value and a small near one is rounded as the large one is, and may count for half at most. */
static __device__ __forceinline__ float mix_near(float near, float far, float share) { return fmaf(share, far - near, near); }
static __device__ __forceinline__ float mix(float a, float b, float share) { return share <= 0.5f ? mix_near(a, b, share) : fmaf(share - 1, b - a, b); }
constexpr float share_of(int place) { return (place + 0.5f) / BLOCK; } /* of the farther side, for the output at this place in a cell */

static __device__ __forceinline__ void cell(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int H, int W)
{
    int c = i % (C / VEC) * VEC, x = i / (C / VEC) % (W + 1), y = i / (C / VEC) / (W + 1); /* the cell's lower right corner is pixel (y, x) */
    vec corner[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int row = min(max(y - 1 + j / 2, 0), H - 1), column = min(max(x - 1 + j % 2, 0), W - 1);
        corner[j] = load_pack<ELEMENT_T, VEC>(input + ((size_t)row * W + column) * C + c);
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++) {
        int p = y * BLOCK - BLOCK / 2 + dy;
        if (p < 0 || p >= H * BLOCK)
            continue;
        float left[VEC], right[VEC];
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            left[e] = mix(to_f32(corner[0].item[e]), to_f32(corner[2].item[e]), share_of(dy));
            right[e] = mix(to_f32(corner[1].item[e]), to_f32(corner[3].item[e]), share_of(dy));
        }
#pragma unroll
        for (int dx = 0; dx < BLOCK; dx++) {
            int q = x * BLOCK - BLOCK / 2 + dx;
            float out[VEC];
#pragma unroll
            for (int e = 0; e < VEC; e++)
                out[e] = mix(left[e], right[e], share_of(dx));
            if (q >= 0 && q < W * BLOCK)
                store_pack<ELEMENT_T, VEC>(output + ((size_t)p * W * BLOCK + q) * C + c, rounded<ELEMENT_T>(out));
        }
    }
}

/* A vector of an output pixel in each of the lines whose cells have pixel row y below them: neighbours store neighbours, where a large cell's own thread would store far apart. */
static __device__ __forceinline__ void column(const ELEMENT_T *input, ELEMENT_T *output, int i, int C, int H, int W)
{
    int per_line = W * BLOCK * (C / VEC), c = i % (C / VEC) * VEC, q = i % per_line / (C / VEC), y = i / per_line;
    int cell = (q + BLOCK / 2) / BLOCK, place = (q + BLOCK / 2) % BLOCK;
    bool turned = place >= BLOCK / 2; /* the right pixel is the nearer one */
    int near = turned ? min(cell, W - 1) : max(cell - 1, 0), far = turned ? max(cell - 1, 0) : min(cell, W - 1);
    float share = ((turned ? BLOCK - 1 - place : place) + 0.5f) / BLOCK, side[2][VEC]; /* side: upper and lower */
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const ELEMENT_T *row = input + (size_t)(j ? min(y, H - 1) : max(y - 1, 0)) * W * C + c;
        vec a = load_pack<ELEMENT_T, VEC>(row + near * C), b = load_pack<ELEMENT_T, VEC>(row + far * C);
#pragma unroll
        for (int e = 0; e < VEC; e++)
            side[j][e] = mix_near(to_f32(a.item[e]), to_f32(b.item[e]), share);
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++) {
        int p = y * BLOCK - BLOCK / 2 + dy;
        float out[VEC];
#pragma unroll
        for (int e = 0; e < VEC; e++)
            out[e] = mix(side[0][e], side[1][e], share_of(dy));
        if (p >= 0 && p < H * BLOCK)
            store_pack<ELEMENT_T, VEC>(output + ((size_t)p * W * BLOCK + q) * C + c, rounded<ELEMENT_T>(out));
    }
}

/* The input pixels that output pixels q .. q + VEC - 1 of a line lie between: MIDDLE of them and one to each side. */
constexpr int MIDDLE = CHANNELS == 1 && BLOCK < VEC ? VEC / BLOCK : 0;
struct columns {
    float of[MIDDLE + 2];
    __device__ __forceinline__ void load(const ELEMENT_T *row, int x, int W) /* x: the first but one; W is a multiple of MIDDLE */
    {
        if (MIDDLE > 0) {
            pack<ELEMENT_T, MIDDLE ? MIDDLE : 1> v = load_pack<ELEMENT_T, MIDDLE ? MIDDLE : 1>(row + x);
#pragma unroll
            for (int j = 0; j < MIDDLE; j++)
                of[j + 1] = to_f32(v.item[j]);
        }
        of[0] = to_f32(row[max(x - 1, 0)]);
        of[MIDDLE + 1] = to_f32(row[min(x + MIDDLE, W - 1)]);
    }
};

/* A vector of the lines whose cells have pixel row y below them: `share` and the two means along the row. */
static __device__ __forceinline__ void line(const ELEMENT_T *input, ELEMENT_T *output, int i, int H, int W)
{
    int vectors = W * BLOCK * CHANNELS / VEC, first = i % vectors * VEC, y = i / vectors % (H + 1), plane = i / vectors / (H + 1); /* first: element of the line */
    const ELEMENT_T *above = input + ((size_t)plane * H + max(y - 1, 0)) * W * CHANNELS, *below = input + ((size_t)plane * H + min(y, H - 1)) * W * CHANNELS;
    float upper[VEC], lower[VEC];
    if (MIDDLE > 0) {
        columns a, b;
        a.load(above, first / BLOCK, W);
        b.load(below, first / BLOCK, W);
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            int cell = (e + BLOCK / 2) / BLOCK;
            upper[e] = mix(a.of[cell], a.of[cell + 1], share_of((e + BLOCK / 2) % BLOCK));
            lower[e] = mix(b.of[cell], b.of[cell + 1], share_of((e + BLOCK / 2) % BLOCK));
        }
    } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
            int q = (first + e) / CHANNELS, c = (first + e) % CHANNELS, cell = (q + BLOCK / 2) / BLOCK, place = (q + BLOCK / 2) % BLOCK;
            int left = max(cell - 1, 0) * CHANNELS + c, right = min(cell, W - 1) * CHANNELS + c;
            bool turned = place >= BLOCK / 2;
            int near = turned ? right : left, far = turned ? left : right;
            float share = ((turned ? BLOCK - 1 - place : place) + 0.5f) / BLOCK;
            upper[e] = mix_near(to_f32(above[near]), to_f32(above[far]), share);
            lower[e] = mix_near(to_f32(below[near]), to_f32(below[far]), share);
        }
    }
#pragma unroll
    for (int dy = 0; dy < BLOCK; dy++) {
        int p = y * BLOCK - BLOCK / 2 + dy;
        if (p < 0 || p >= H * BLOCK)
            continue;
        float out[VEC];
#pragma unroll
        for (int e = 0; e < VEC; e++)
            out[e] = mix(upper[e], lower[e], share_of(dy));
        store_pack<ELEMENT_T, VEC>(output + ((size_t)plane * H * BLOCK + p) * W * BLOCK * CHANNELS + first, rounded<ELEMENT_T>(out));
    }
}

extern "C" __global__ void __launch_bounds__(256) bilinear_cell(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, int W, int items)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= items)
        return;
    input += (size_t)blockIdx.y * C * H * W;
    output += (size_t)blockIdx.y * C * H * W * BLOCK * BLOCK;
    if (COLUMNS)
        column(input, output, i, C, H, W);
    else if (CELLS)
        cell(input, output, i, C, H, W);
    else
        line(input, output, i, H, W);
}
