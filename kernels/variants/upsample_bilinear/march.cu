/* bench 1
op: upsample_bilinear
what: a thread goes down a column of vectors of the output - of two rows of the input it keeps the mean along the row, so each is loaded and mixed once
from: cell
needs: block <= 16 and c * (h + 1) * w * block < 2147483648 and (layout(input) == NCHW and w * block % (16 / size(input)) == 0 or layout(input) == NHWC and c % (16 / size(input)) == 0)
layout: {input: [NHWC, NCHW], output: same}
dtype: {input: [f32, f16, bf16], output: same}
params:
  ROWS: {values: [auto, 1, 2, 4, 8], default: auto}    # of cells, that a thread goes down
let:
  nhwc: layout(input) == NHWC
  v: 16 / size(input)
  vectors: w * block * select(nhwc, c, 1) / v          # of a line of the output
  rows: select(ROWS != 'auto', ROWS, select(block > 2, 1, select(nhwc, 4, 2)))
  groups: ceil(h + 1, rows)
define:
  NHWC: nhwc
  ELEMENT_T: type(input)
  VECTORS: vectors
  GROUPS: groups
  GROUP_ROWS: rows
  CHANNELS: select(nhwc, c, 1)
  WIDTH: w
specialise: [block]
steps:
  - kernel: bilinear_march
    grid: ceil(vectors * groups * select(nhwc, 1, c), 256), n
    block: 256
    args: input, output, select(nhwc, 1, c), h
*/

/* What changed from cell: there a thread needed four divisions by run-time numbers to find its position, and interpolated every row of the input twice, for the cells above it and below. Here the
 * shape's numbers are constants, and a thread goes down: it keeps the last row's mean, loads the next row while it stores the lines between, and interpolates each row along itself once. 64
 * channels x2: 72 instructions of a warp (PTX, counted by emu) for 512 bytes moved in place of 83, in NCHW 67 in place of 78. Threads follow the line of the output in both layouts, so a warp
 * stores 512 contiguous bytes, where cell's were a pixel apart.
 *
 * The fewer rows a thread goes down, the fewer lines of the image are open at a time: 1, 2, 4, 8 and 16 rows of 64 channels x2 ran at 0.84, 0.97, 0.99, 0.96 and 0.94 of the control `copy` in
 * NHWC, 0.90, 1.02, 0.99, 0.94 and 0.92 in NCHW; from x4 on one row is best (x4 1.02, x8 0.98; cell 1.01, 0.96). Stores that bypass L2 (.cs) gained 2 % at 8 rows, nothing at 4. cell was 0.95 and
 * 0.92 of the control (H200, f16, cold).
 *
 * Cost: only whole vectors; `strip` takes the rest. A kernel is compiled for each width. */
#include "element/element.cuh"

constexpr int V = 16 / sizeof(ELEMENT_T);
using vec = pack<ELEMENT_T, V>;

/* Not share * (b - a) + a: with a large share of a small b the difference errs by more than the two products may. */
static __device__ __forceinline__ float mix(float a, float b, float share) { return fmaf(share, b, fmaf(-share, a, a)); }
constexpr float share_of(int place) { return (place + 0.5f) / BLOCK; } /* of the farther side, for the output at this place in a cell */

/* What a vector of the output needs of one row of the input. */
#if NHWC
struct column {
    int left, right; /* elements of a row */
    float share;
    vec a, b;
    __device__ __forceinline__ column(int i)
    {
        int q = i * V / CHANNELS, c = i * V % CHANNELS, cell = (q + BLOCK / 2) / BLOCK;
        left = max(cell - 1, 0) * CHANNELS + c;
        right = min(cell, WIDTH - 1) * CHANNELS + c;
        share = share_of((q + BLOCK / 2) % BLOCK);
    }
    __device__ __forceinline__ void load(const ELEMENT_T *row)
    {
        a = load_pack<ELEMENT_T, V>(row + left);
        b = load_pack<ELEMENT_T, V>(row + right);
    }
    __device__ __forceinline__ void mean(float (&x)[V]) const
    {
#pragma unroll
        for (int e = 0; e < V; e++)
            x[e] = mix(to_f32(a.item[e]), to_f32(b.item[e]), share);
    }
};
#else
constexpr int MIDDLE = BLOCK <= V ? V / BLOCK : 0, INSIDE = MIDDLE ? MIDDLE : 1; /* pixels of the input under a vector; 0: a part of one */
struct column {
    int x, left, right;
    float share;
    pack<ELEMENT_T, INSIDE> inside;
    ELEMENT_T before, after;
    __device__ __forceinline__ column(int i)
    {
        int cell = (i * V + BLOCK / 2) / BLOCK; /* MIDDLE == 0: all of the vector lies in it */
        x = i * V / BLOCK;
        left = max(MIDDLE ? x - 1 : cell - 1, 0);
        right = min(MIDDLE ? x + MIDDLE : cell, WIDTH - 1);
        share = share_of((i * V + BLOCK / 2) % BLOCK);
    }
    __device__ __forceinline__ void load(const ELEMENT_T *row)
    {
        before = row[left];
        after = row[right];
        if (MIDDLE)
            inside = load_pack<ELEMENT_T, INSIDE>(row + x);
    }
    __device__ __forceinline__ void mean(float (&out)[V]) const
    {
        float in[MIDDLE + 2];
        in[0] = to_f32(before);
        in[MIDDLE + 1] = to_f32(after);
#pragma unroll
        for (int j = 0; j < MIDDLE; j++)
            in[j + 1] = to_f32(inside.item[j]);
#pragma unroll
        for (int e = 0; e < V; e++) {
            int cell = MIDDLE ? (e + BLOCK / 2) / BLOCK : 0;
            out[e] = mix(in[cell], in[cell + 1], MIDDLE ? share_of((e + BLOCK / 2) % BLOCK) : share + (float)e / BLOCK);
        }
    }
};
#endif

extern "C" __global__ void __launch_bounds__(256) bilinear_march(const ELEMENT_T *__restrict__ input, ELEMENT_T *__restrict__ output, int planes, int H)
{
    int i = blockIdx.x * 256 + threadIdx.x, group = i / VECTORS, plane = group / GROUPS;
    if (plane >= planes)
        return;
    i %= VECTORS;
    constexpr int line_in = WIDTH * CHANNELS, line_out = WIDTH * BLOCK * CHANNELS;
    int y = group % GROUPS * GROUP_ROWS, end = min(y + GROUP_ROWS, H + 1); /* cells between rows y - 1 and y of the input */
    size_t first = ((size_t)blockIdx.y * planes + plane) * H;
    const ELEMENT_T *row = input + first * line_in;
    ELEMENT_T *to = output + (first * BLOCK + y * BLOCK) * line_out + i * V - BLOCK / 2 * line_out;
    column in(i);
    float upper[V], lower[V];
    in.load(row + (size_t)max(y - 1, 0) * line_in);
    in.mean(upper);
    in.load(row + (size_t)min(y, H - 1) * line_in);
    for (; y < end; y++) {
        in.mean(lower);
        if (y + 1 < end)
            in.load(row + (size_t)min(y + 1, H - 1) * line_in);
#pragma unroll
        for (int dy = 0; dy < BLOCK; dy++, to += line_out) {
            float out[V];
#pragma unroll
            for (int e = 0; e < V; e++)
                out[e] = mix(upper[e], lower[e], share_of(dy));
            if (dy < BLOCK / 2 ? y > 0 : y < H)
                store_pack<ELEMENT_T, V>(to, rounded<ELEMENT_T>(out));
        }
#pragma unroll
        for (int e = 0; e < V; e++)
            upper[e] = lower[e];
    }
}
