/* bench 1
op: conv2d
what: depthwise on tensor cores, NCHW - a line of a plane times a band matrix of its filter; operands straight from global memory
from: depthwise_rows
needs: groups == c and c * h * w < 2147483648 and k * p * q < 2147483648 and n * k * p * q < 2147483648 and r * deep <= 48 and live <= 16
layout: {input: NCHW, filter: RSCK, output: NCHW}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  ACROSS: {values: [auto, 2, 4, 8, 16], default: auto}         # eights of outputs side by side; 16 / ACROSS parts of the image one below another
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a warp goes down
  AHEAD: {values: [1, 2, 3, 4, 6], default: 2}                 # lines of input on their way
  WARPS: {values: [1, 2, 4, 8], default: 4}
  RESIDENT: {values: [1, 4, 5, 6, 8], default: 1}              # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  grain: select(w % 2 == 0, 2, 1)
  shift: grain * ceil(pad_left, grain) - pad_left              # columns that are loaded before the first one that counts
  deep: ceil(shift + 7 * stride_x + (s - 1) * dilation_x + 1, 16)
  across: select(ACROSS == 'auto', fit, ACROSS)
  tiles_x: ceil(q, 8 * across)
  below: 16 / across
  planes: tiles_x * n * k
  slots: max(1, min(floor(64, WARPS), floor(2048, WARPS * (40 + 4 * live + deep * (2 * r + 4 * AHEAD)))))   # blocks of an SM at once, by their registers
  rows: select(ROWS != 'auto', ROWS, fit_rows)
  parts: ceil(p, rows * below)
candidates:
  shape:
    rows:
      line:    {fit: 16}
      half:    {fit: 8}
      quarter: {fit: 4}
      eighth:  {fit: 2}
    least: ceil(q, 8 * fit) * ceil(p, 128 / fit) * select(fit == 16, 5, 6)   # what the warps cover, of 128 by 8 outputs each; lines that follow one another cost less
  height:
    rows:
      r4:  {fit_rows: 4}
      r6:  {fit_rows: 6}
      r8:  {fit_rows: 8}
      r12: {fit_rows: 12}
      r16: {fit_rows: 16}
      r20: {fit_rows: 20}
      r24: {fit_rows: 24}
      r32: {fit_rows: 32}
      r48: {fit_rows: 48}
      r64: {fit_rows: 64}
    least: max(ceil(ceil(planes * ceil(p, fit_rows * below), WARPS), sm_count), slots) * ((fit_rows - 1) * stride_y + (r - 1) * dilation_y + 5)   # blocks of an SM, at least as many as it holds; lines, and a start that is worth four
where:
  - cc >= 80
define:
  INPUT_T: type(input)
  GRAIN: grain
  SHIFT: shift
  DEEP: deep
  ACROSS_FIT: across
  PAIRS: q % 2 == 0
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_bands
    grid: ceil(planes * parts, WARPS)
    block: 32 * WARPS
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top, pad_left, tiles_x, rows, parts, n
*/

/* What changed from depthwise_rows: tensor cores multiply. 7x7 in f16 is 49 products for 4 bytes, more than the FMA pipe computes while DRAM delivers the bytes. One line of a plane times one row
 * of the filter is a matrix product: row m of the left operand is the 16 columns of input under outputs 8 m to 8 m + 7, and column n of the right one is the row of the filter, moved down by n. Of
 * 16 x 8 products 8 s count, 44 % for seven taps, at 16 times the rate.
 *
 *  - A lane's registers of a fragment are pairs of adjacent columns, and those of a warp 64 consecutive columns: four loads of 128 bytes, from global memory straight into the operands. Results
 *    have the same layout.
 *  - A band matrix is 2 registers for a row of the filter. It is built once and kept.
 *  - A line of the input belongs to `live` lines of outputs, whose sums are in registers, as in depthwise_rows; the sum to which a line adds repeats after `live` lines. AHEAD lines are in flight.
 *  - 16 groups of eight outputs need not be adjacent: ACROSS of them are, the others are the same columns of parts of the image further down.
 *
 * Cost: the elements beside the band are zeros times inputs, so an infinity or NaN of the input spreads to its group of eight outputs. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;
constexpr int common(int a, int b) { return b == 0 ? a : common(b, a % b); }
constexpr int UNROLLED = PERIOD / common(PERIOD, AHEAD) * AHEAD; /* lines, after which registers have the same roles again */
constexpr bool LEVEL = ACROSS_FIT == 16; /* both halves of the rows of a product are in the same lines */

/* What a lane has of one line. */
struct window {
    pack<INPUT_T, 2> two[DEEP][4]; /* of one product: low columns of rows 0 to 7 and 8 to 15, then high columns */
    /* inside: bits of what lies in the image, for each of two. */
    __device__ __forceinline__ void load(const INPUT_T *const line[2], const unsigned inside[2])
    {
#pragma unroll
        for (int i = 0; i < DEEP * 4; i++) {
            int half = i % 2, x = i / 2 * 8;
            pack<INPUT_T, 2> &to = two[i / 4][i % 4];
            if constexpr (GRAIN == 2) {
                if (inside[half] >> x / 4 & 1)
                    to = load_pack<INPUT_T, 2>(line[half] + x);
                else
                    to.word = 0;
            } else {
#pragma unroll
                for (int e = 0; e < 2; e++)
                    to.item[e] = inside[half] >> (x / 4 + e) & 1 ? line[half][x + e] : from_f32<INPUT_T>(0.0f);
            }
        }
    }
};

/* Element (column of the window, output) of the band of row r. */
static __device__ __forceinline__ INPUT_T band(const INPUT_T *filter, int r, int column, int output, int k, int K)
{
    int along = column - SHIFT - output * STRIDE_X, s = along / DILATION_X;
    return along >= 0 && along % DILATION_X == 0 && s < S ? filter[(r * S + s) * K + k] : from_f32<INPUT_T>(0.0f);
}

static __device__ __forceinline__ void load_bands(unsigned weights[R][DEEP][2], const INPUT_T *filter, int lane, int k, int K)
{
#pragma unroll
    for (int j = 0; j < R * DEEP * 2; j++) {
        pack<INPUT_T, 2> two;
#pragma unroll
        for (int e = 0; e < 2; e++)
            two.item[e] = band(filter, j / (2 * DEEP), j % (2 * DEEP) * 8 + lane % 4 * 2 + e, lane / 4, k, K);
        weights[j / (2 * DEEP)][j / 2 % DEEP][j % 2] = two.word;
    }
}

/* Line u of those unrolled is added to all outputs that it belongs to: also above the first and below the last one, which nobody stores. */
static __device__ __forceinline__ void add_line(float sum[LIVE][4], int u, const window &now, const unsigned weights[R][DEEP][2], const float biases[2])
{
#pragma unroll
    for (int r = 0; r < R; r++) {
        int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y, own = reach / STRIDE_Y % LIVE;
        if (reach % STRIDE_Y)
            continue;
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            unsigned a[4] = {now.two[d][0].word, now.two[d][1].word, now.two[d][2].word, now.two[d][3].word};
            if (r == 0 && d == 0)
                multiply_16x8x16_from<INPUT_T>(sum[own], a, weights[0][0], biases);
            else
                multiply_16x8x16<INPUT_T>(sum[own], a, weights[r][d]);
        }
    }
}

static __device__ __forceinline__ void store(const float sum[2], INPUT_T *to, int k, int left)
{
    pack<INPUT_T, 2> two;
    if (EPI_SLOPE == 0 && !EPI_PRELU)
        two.word = relu_of<INPUT_T>(two_of<INPUT_T>(sum[0], sum[1]));
    else
        two.word = two_of<INPUT_T>(activate_channel(sum[0], k), activate_channel(sum[1], k));
    if (PAIRS) {
        if (left > 0)
            store_pack<INPUT_T, 2>(to, two);
    } else {
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (e < left)
                to[e] = two.item[e];
    }
}

/* One addition, of an offset: the compiler would rather keep multiples of the step for all unrolled lines. */
static __device__ __forceinline__ void advance(int &offset, int step)
{
    offset += step;
    asm volatile("" : "+r"(offset));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
conv_depthwise_bands(const INPUT_T *__restrict__ input, const INPUT_T *__restrict__ filter, const float *__restrict__ bias, INPUT_T *__restrict__ output, int C, int H,
                     int W, int K, int P, int Q, int pad, int pad_x, int tiles_x, int rows, int parts, int images)
{
    int i = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32, plane = i / tiles_x / parts, k = plane % K, n = plane / K;
    if (n >= images)
        return;
    input += ((size_t)n * C + k / (K / C)) * H * W;
    output += (size_t)plane * P * Q;
    int first = i / tiles_x % parts * rows * (16 / ACROSS_FIT), end[2], left[2], own_rows[2], y[2];
    if (LEVEL)
        rows = min(rows, P - first);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
    int line[2], to[2];
    unsigned inside[2] = {0, 0};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int m = lane / 4 + half * 8, p = first + m / ACROSS_FIT * rows, q = (i % tiles_x * ACROSS_FIT + m % ACROSS_FIT) * 8;
        int x = q * STRIDE_X - pad_x - SHIFT + lane % 4 * 2;
        y[half] = p * STRIDE_Y - pad;
        end[half] = max(0, min(H, y[half] + lines));
        own_rows[half] = min(rows, P - p);
        left[half] = Q - q - lane % 4 * 2;
        to[half] = p * Q + q + lane % 4 * 2;
        line[half] = y[half] * W + x;
#pragma unroll
        for (int v = 0; v < DEEP * 4; v++)
            inside[half] |= (unsigned)(x + v / 2 * 8 + v % 2 >= 0 && x + v / 2 * 8 + v % 2 < W) << v;
    }

    window next[AHEAD];
    auto load = [&](window &into) {
        bool own[2] = {(unsigned)y[0] < (unsigned)end[0], LEVEL ? (unsigned)y[0] < (unsigned)end[0] : (unsigned)y[1] < (unsigned)end[1]};
        unsigned columns[2] = {own[0] ? inside[0] : 0, own[1] ? inside[1] : 0};
        const INPUT_T *const from[2] = {input + line[0], input + (LEVEL ? line[0] + 64 * STRIDE_X : line[1])};
        into.load(from, columns);
        advance(line[0], W);
        advance(line[1], W);
        y[0]++;
        y[1]++;
    };
#pragma unroll
    for (int a = 0; a < AHEAD; a++)
        load(next[a]);

    unsigned weights[R][DEEP][2];
    load_bands(weights, filter, lane, k, K);
    float biases[2] = {EPI_BIAS ? bias[k] : 0.0f, EPI_BIAS ? bias[k] : 0.0f}, sum[LIVE][4] = {};

    for (int from = 0; from < lines; from += UNROLLED) {
#pragma unroll
        for (int u = 0; u < UNROLLED; u++) {
            if (from + u >= lines)
                break;
            window now = next[u % AHEAD];
            load(next[u % AHEAD]);
            add_line(sum, u, now, weights, biases);
            int reach = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y, own = reach / STRIDE_Y % LIVE, ready = from / STRIDE_Y + reach / STRIDE_Y - (LIVE - 1);
            if (reach % STRIDE_Y || ready < 0) /* no output ends here */
                continue;
            store(sum[own], output + to[0], k, LEVEL || ready < own_rows[0] ? left[0] : 0);
            store(sum[own] + 2, output + (LEVEL ? to[0] + 64 : to[1]), k, LEVEL ? left[0] - 64 : ready < own_rows[1] ? left[1] : 0);
            advance(to[0], Q);
            advance(to[1], Q);
        }
    }
}
