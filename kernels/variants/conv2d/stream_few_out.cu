/* bench 1
op: conv2d
what: tensor cores for up to 8 output channels - every pixel is read once, from global memory straight into a fragment; taps are columns of the product
from: mma_few_out
needs:
  - stride == 1 and dilation == 1 and groups == 1 and k <= 8 and c % (16 * splits) == 0 and r <= 5 and s <= 5
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
claims: cc == 90 and n * p * q >= 61440
params:
  PIXELS: {values: [auto, 16, 32, 48], default: auto}    # of an image row that a warp reads; s - 1 fewer outputs come of it
  AHEAD: {values: [auto, 1, 2, 3, 4, 6], default: auto}  # rows on their way
  WARPS: {values: [4, 6, 8], default: 4}                 # of a block
  SPLITS: {values: [auto, 1, 2, 4], default: auto}       # warps that share the channels of a strip; the others are side by side
  PER_SM: {values: [auto, 1, 2, 3], default: auto}       # blocks an SM
let:
  columns: select(k <= 4, ceil(s, 2), s)           # blocks of 8: k = 3 takes two taps each
  pixels: select(PIXELS == 'auto', strip, PIXELS)
  ahead: select(AHEAD == 'auto', deep, AHEAD)
  splits: select(SPLITS == 'auto', share, SPLITS)
  own: c / splits                                  # channels of a warp
  weights: r * columns * own / 8                   # registers, and so on
  sums: r * columns * pixels / 4
  rows: ahead * pixels * own / 64
  per_sm: select(PER_SM == 'auto', select(splits > 1 and own % 32 == 0 and weights + sums + rows <= 128, 3, 2), PER_SM)
  outputs: floor(WARPS, splits) * (pixels - s + 1)     # of a block in a row
  strips: ceil(q, outputs)
  rows_all: n * strips * p
  blocks: min(rows_all, per_sm * sm_count)
  rows_block: ceil(rows_all, blocks)
candidates:
  size:     # of what a warp holds in registers
    rows:
      tall:   {when: r > 3 and r * columns * c <= 480, share: 1, strip: 16, deep: "select(c <= 16, 6, 1)"}
      tiny:   {when: c <= 16 and k <= 4, share: 1, strip: 48, deep: 6}
      little: {when: c <= 16, share: 1, strip: 32, deep: 6}
      half:   {when: c <= 48 + 16 * (1 - has(residual)) and k <= 4, share: 1, strip: 32, deep: 3}
      much:   {when: r * columns * c <= 480, share: 1, strip: 16, deep: 3}
      two:    {when: r * columns * c <= 960, share: 2, strip: 16, deep: 3}
      four:   {share: 4, strip: 16, deep: 3}
where:
  - weights <= 60 and weights + sums + rows <= 192
  - WARPS % splits == 0 and (splits == 1 or r <= 3) # more rows of sums beside what splits need are spilled
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  FOLLOWS: follows                                 # begins before the layer before it ends
  SPLIT: splits
  BLOCKS_SM: per_sm
  TYPE: type(input)
  FRAGMENTS: pixels / 16
  ROWS_AHEAD: ahead
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
specialise: [c, k, r, s]
steps:
  - kernel: conv_stream_few_out
    grid: ceil(rows_all, rows_block)
    block: 32 * WARPS
    attributes: {pdl: follows}
    args: input, filter, bias, residual, output, h, w, p, q, pad_top, strips, rows_all, rows_block
*/

/* What changed from mma_few_out: the taps of a filter row moved from the depth of the product to its columns. There a pixel was a row
 * of nine products, shifted each time, and was loaded 18 times for 4 output rows. Nsight Compute showed that neither DRAM nor tensor
 * cores were busy at 64 channels (43 and 29 %); the two warps of a scheduler spent a third of their time waiting for ldmatrix and a
 * third for products. Here a pixel is multiplied once: by all taps and output channels at the same time, 3 * 3 = 9 of 16 columns.
 *
 *  - Column (s, k) of pixel x is its contribution to output x - s. The sum over s is computed afterwards, over adjacent rows of the fragment: a shuffle a tap, once a row of
 *    outputs, not once for every 16 channels.
 *  - A warp goes down a strip. An image row adds to R rows of outputs, whose sums stay in registers; one is finished each time. So no pixel is read twice, and nothing is
 *    shared: there is no shared memory and no barrier, and only the last S - 1 pixels of a strip belong to the next one, too (L1).
 *  - The depth may be any permutation of the channels: lane t of a quad loads eight adjacent ones, 16 bytes, and uses them as columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of two
 *    products. A fragment is a plain load, ROWS_AHEAD rows before its use.
 *
 * Cost: S - 1 of every 16 to 48 rows of the product are unused, and R - 1 image rows at the top of a block's share are read twice. A warp has up to 254 registers, so eight
 * warps fit an SM, and ROWS_AHEAD decides how many bytes are in flight: one row ahead gives 0.82 of a copy at 64 channels, three rows of 32 pixels 0.92. More than 4 output
 * channels take a block of columns for each tap; with 64 channels the registers are too few (`weights`), and mma_few_out is faster.
 *
 * With more input channels the weights do not fit either: then SPLIT warps go down the same strip, and each reads its share of
 * the channels. Each sums an output row over the taps as before, and has one number for each of its lane's outputs, 256 bytes a
 * warp for the 2 KiB that it has read. The warps write them to shared memory and synchronise at a named barrier; one of them in
 * turn adds them and stores. Two buffers: the reader of row i reads before it arrives for row i + 1, and row i + 2 is written
 * after that barrier. Measured on an H200, cold: 64 -> 3 at 1440 x 2560 132.4 us, 4.4 x cuDNN's best; mma_few_out 187.5 us. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int TAPS = K <= 4 ? 2 : 1;                 /* of a filter row in 8 columns: column 2 t + e is channel t, tap e; or channel 2 t + e */
constexpr int COLUMNS = (S + TAPS - 1) / TAPS;
constexpr int OUTPUTS = FRAGMENTS * 16 - S + 1;      /* of a warp, in a row */
constexpr int SHARE = C / SPLIT, GROUPS = WARPS / SPLIT; /* channels of a warp; warps side by side */
constexpr int DEPTHS = SHARE / 16;
constexpr int OWN = 3 - TAPS;                        /* output channels of a lane */
constexpr int HALVES = 2 * FRAGMENTS;                /* of 8 pixels: a lane's are lane / 4 of each */
constexpr int ROUND = ROWS_AHEAD % R == 0 ? ROWS_AHEAD : R % ROWS_AHEAD == 0 ? R : ROWS_AHEAD * R; /* rows until sums and loads are in the same registers again */

/* What a lane holds of one image row: the left operands of FRAGMENTS * DEPTHS products. */
struct image_row {
    unsigned a[FRAGMENTS][DEPTHS][4];
};

/* Channels of this lane in products 2 i and 2 i + 1: 16 bytes at 32 i + 8 t. An odd last product has 8 bytes at 4 t. */
static __device__ __forceinline__ int own_channel(int depth)
{
    int t = threadIdx.x % 4;
    return depth + 1 == DEPTHS && depth % 2 == 0 ? depth * 16 + t * 4 : depth / 2 * 32 + t * 8 + depth % 2 * 4;
}

/* own: this lane's pixel 0 of the row; inside: bit h tells whether its pixel of half h lies in the image. */
static __device__ __forceinline__ void load_row(image_row &row, const TYPE *own, unsigned inside)
{
#pragma unroll
    for (int h = 0; h < HALVES; h++)
#pragma unroll
        for (int d = 0; d < DEPTHS; d += 2) {
            const TYPE *from = own + h * 8 * C + own_channel(d);
            bool valid = inside >> h & 1;
            unsigned(*a)[4] = row.a[h / 2];
            if (d + 1 < DEPTHS) {
                uint4 v = valid ? *reinterpret_cast<const uint4 *>(from) : make_uint4(0, 0, 0, 0);
                a[d][h % 2] = v.x;
                a[d][h % 2 + 2] = v.y;
                a[d + 1][h % 2] = v.z;
                a[d + 1][h % 2 + 2] = v.w;
            } else {
                uint2 v = valid ? *reinterpret_cast<const uint2 *>(from) : make_uint2(0, 0);
                a[d][h % 2] = v.x;
                a[d][h % 2 + 2] = v.y;
            }
        }
}

/* Right operands: column lane / 4 of each block of 8, for every filter row and depth. */
static __device__ __forceinline__ void load_weights(uint2 held[R][COLUMNS][DEPTHS], const TYPE *filter, int first)
{
    int column = threadIdx.x % 32 / 4;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int b = 0; b < COLUMNS; b++)
#pragma unroll
            for (int d = 0; d < DEPTHS; d++) {
                int s = TAPS == 2 ? 2 * b + column % 2 : b, k = TAPS == 2 ? column / 2 : column;
                held[r][b][d] = s < S && k < K ? *reinterpret_cast<const uint2 *>(filter + ((k * R + r) * S + s) * C + first + own_channel(d)) : make_uint2(0, 0);
            }
}

/* Sums of one output row: [half][block of columns][a lane's two columns]. */
struct sums {
    float of[FRAGMENTS][COLUMNS][4];
};

static __device__ __forceinline__ void multiply(sums &sum, const image_row &row, const uint2 held[COLUMNS][DEPTHS])
{
#pragma unroll
    for (int d = 0; d < DEPTHS; d++)
#pragma unroll
        for (int f = 0; f < FRAGMENTS; f++)
#pragma unroll
            for (int b = 0; b < COLUMNS; b++) {
                unsigned weights[2] = {held[b][d].x, held[b][d].y};
                multiply_16x8x16<TYPE>(sum.of[f][b], row.a[f][d], weights);
            }
}

/* Channel `own` (0, or 1 where a lane has two) of the outputs of half h: tap s of pixel x + s, which another lane holds, or this lane in the next half. */
static __device__ __forceinline__ float total(const sums &sum, int h, int own)
{
    int lane = threadIdx.x % 32;
    float x = 0;
#pragma unroll
    for (int s = 0; s < S; s++) {
        int b = s / TAPS, e = TAPS == 2 ? s % 2 : own, next = h + 1 < HALVES ? h + 1 : h;
        float here = sum.of[h / 2][b][h % 2 * 2 + e], there = sum.of[next / 2][b][next % 2 * 2 + e];
        x += s == 0 ? here : __shfl_sync(0xffffffff, lane / 4 < s ? there : here, (lane + 4 * s) % 32);
    }
    return x;
}

/* The sums of a warp over its channels go to shared memory. On return those of the other warps of its group are there, too. */
static __device__ __forceinline__ void share_sums(const sums &sum, float *own, int group)
{
#pragma unroll
    for (int i = 0; i < HALVES * OWN; i++)
        own[i * 32] = total(sum, i / OWN, i % OWN);
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(32 * SPLIT) : "memory");
}

/* place: element of the row's first output of this strip; all: what the first warp of a group shared, if SPLIT > 1. */
static __device__ __forceinline__ void finish(const sums &sum, const float *all, const float own_bias[2], TYPE *output, const TYPE *residual, size_t place, int room)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < HALVES; h++)
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            int x = h * 8 + lane / 4, k = TAPS == 2 ? lane % 4 : lane % 4 * 2 + own;
            float v = own_bias[own];
            if (SPLIT == 1)
                v = total(sum, h, own) + v;
            for (int i = 0; SPLIT > 1 && i < SPLIT; i++)
                v += all[(i * HALVES * OWN + h * OWN + own) * 32];
            if (x >= room || k >= K)
                continue;
            size_t e = place + x * K + k;
            output[e] = from_f32<TYPE>(activate(EPI_RESIDUAL ? branch(v) + to_f32(residual[e]) : v));
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS_SM)
conv_stream_few_out(const TYPE *__restrict__ input, const TYPE *__restrict__ filter, const float *bias, const TYPE *residual, TYPE *output, int H, int W, int P, int Q,
                    int pad, int strips, int rows_all, int rows_block)
{
    int lane = threadIdx.x % 32, part = threadIdx.x / 32 % SPLIT, group = threadIdx.x / 32 / SPLIT;
    __shared__ float shared[SPLIT > 1 ? 2 : 1][SPLIT > 1 ? WARPS : 1][HALVES * OWN * 32];
    int turn = 0; /* of the buffers, and of the warps that store */
    uint2 held[R][COLUMNS][DEPTHS];
    load_weights(held, filter, part * SHARE);
    float own_bias[2];
#pragma unroll
    for (int own = 0; own < 2; own++) {
        int k = TAPS == 2 ? lane % 4 : lane % 4 * 2 + own;
        own_bias[own] = EPI_BIAS && k < K ? bias[k] : 0.0f;
    }
    if (FOLLOWS) { /* what that layer writes is read behind this: pixels and residuals */
        asm volatile("griddepcontrol.launch_dependents;");
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }

    int end = min(rows_all, (int)(blockIdx.x + 1) * rows_block);
    for (int row = blockIdx.x * rows_block; row < end;) { /* rows of outputs, strip by strip */
        int p = row % P, strip = row / P % strips, image = row / P / strips, count = min(P - p, end - row);
        row += count;
        int q = (strip * GROUPS + group) * OUTPUTS, x = q - pad - PAD_MORE + lane / 4, y = p - pad;
        if (q >= Q)
            continue;
        unsigned inside = 0;
#pragma unroll
        for (int h = 0; h < HALVES; h++)
            inside |= (x + h * 8 >= 0 && x + h * 8 < W ? 1u : 0u) << h;
        const TYPE *next = input + ((long long)image * H * W + (long long)y * W + x) * C + part * SHARE; /* what is loaded next, of image row y */
        int last = min(H, y + count + R - 1), room = min(OUTPUTS, Q - q);
        size_t place = (((size_t)image * P + p) * Q + q) * K;

        image_row ahead[ROWS_AHEAD];
        sums sum[R];
        auto load = [&](image_row &into) {
            load_row(into, next, y >= 0 && y < last ? inside : 0);
            next += (size_t)W * C;
            y++;
        };
#pragma unroll
        for (int i = 0; i < ROWS_AHEAD; i++)
            load(ahead[i]);
#pragma unroll 1
        for (int left = count + R - 1, started = 0; left > 0; started = 1)
#pragma unroll
            for (int i = 0; i < ROUND; i++) { /* row r of the filter on this image row is for the output row that began r rows ago */
                for (int j = 0; j < FRAGMENTS * COLUMNS * 4; j++)
                    sum[i % R].of[j / 4 / COLUMNS][j / 4 % COLUMNS][j % 4] = 0;
#pragma unroll
                for (int r = 0; r < R; r++)
                    multiply(sum[(i + R - r) % R], ahead[i % ROWS_AHEAD], held[r]);
                load(ahead[i % ROWS_AHEAD]);
                if (i >= R - 1 || started) {
                    float *all = shared[turn % 2][group * SPLIT] + lane;
                    if (SPLIT > 1)
                        share_sums(sum[(i + 1) % R], all + part * HALVES * OWN * 32, group);
                    if (SPLIT == 1 || turn % SPLIT == part)
                        finish(sum[(i + 1) % R], all, own_bias, output, residual, place, room);
                    turn += SPLIT > 1;
                    place += (size_t)Q * K;
                }
                if (--left == 0)
                    break;
            }
    }
}
