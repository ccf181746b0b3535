/* bench 1
op: conv2d
what: depthwise - a thread goes down the image with PX columns of outputs, its weights and sums in registers; every line of the input is loaded once
from: depthwise
needs: groups == c and c * h * w < 2147483648 and k * p * q < 2147483648 and n * k * p * q < 2147483648 and r * s <= 121
layout: {input: [NHWC, NCHW], filter: RSCK, output: same}
dtype: {input: [f32, f16, bf16, i8], filter: same, output: [same, f32], bias: f32, accumulate: [f32, i32]}
math: [f32, tf32, f16_acc32, bf16_acc32, i8_acc32]
epilogue: [bias, relu, leaky_relu, prelu]
params:
  PX: {values: [auto, 1, 2, 4, 8], default: auto}              # neighbouring outputs of a line
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a thread goes down
  VEC: {values: [auto, 1, 2, 4], default: auto}                # NHWC: channels of a thread
  BLOCK: {values: [64, 128, 256], default: 128}
  RESIDENT: {values: [1, 3, 4, 5, 6, 8], default: 3}           # blocks of an SM, at least: bounds the registers
  STEP: {values: [auto, 1, 2, 3, 4, 5, 7], default: auto}      # lines of outputs that the loop goes down at once
  WHOLE: {values: [auto, 0, 1], default: auto}                 # a strip inside the image is loaded without a question for each of its vectors
let:
  nhwc: layout(input) == NHWC
  wide: select(k != c, 1, select(k % 4 == 0, 4, select(k % 2 == 0, 2, 1)))
  held: floor(60, r * s)                           # channels whose weights fit into registers
  vec: select(not nhwc, 1, select(VEC != 'auto', VEC, min(wide, 4 / size(input), select(held >= 4, 4, select(held >= 2, 2, 1)))))
  px: select(PX != 'auto', PX, select(stride_x > 1 or live * vec * 4 > 64, 2, 4))
  live: floor((r - 1) * dilation_y, stride_y) + 1  # lines of outputs that one line of the input belongs to
  step: select(STEP != 'auto', STEP, select(nhwc, select(live <= 3, 2, select(live <= 5, 3, min(live, 7))), select(live == 5, 2, 3)))
  grain: select(nhwc, 1, select(w % 4 == 0 and px * stride_x % 4 == 0, 4, select(w % 2 == 0 and px * stride_x % 2 == 0, 2, 1)))
  shift: grain * ceil(pad_left, grain) - pad_left  # columns that are loaded before the first one that counts
  strip: grain * ceil(shift + (px - 1) * stride_x + (s - 1) * dilation_x + 1, grain)
  strips: ceil(q, px)
  line: select(nhwc, strips * k / vec, strips * n * k)
  all: line * select(nhwc, n, 1)
  slots: max(1, min(floor(2048, BLOCK), floor(65536, BLOCK * (30 + vec * (live * px + r * s) + 2 * strip * select(nhwc, vec, 1)))))   # blocks of an SM at once, by their registers
  rows: select(ROWS != 'auto', ROWS, fit_rows)
  parts: ceil(p, rows)
candidates:
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
    least: max(ceil(ceil(all * ceil(p, fit_rows), BLOCK), sm_count), slots) * ((fit_rows - 1) * stride_y + (r - 1) * dilation_y + 5)   # blocks of an SM, at least as many as it holds; lines, and a start that is worth four
where:
  - vec == 1 or nhwc and k == c and k % vec == 0
  - vec * (live * px + r * s + 2 * strip) <= 232
  - strip <= 32 * grain                              # bits of a word
define:
  NHWC: nhwc
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  CHANNELS: vec
  PIXELS: px
  GRAIN: grain
  SHIFT: shift
  STEP_ROWS: step
  WHOLE_STRIP: select(WHOLE == 'auto', nhwc and size(input) == 2, WHOLE)
  STORED: select(nhwc or q % 2 == 1 or px == 1, 1, select(q % 4 == 0 and px % 4 == 0, 4, 2))
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, k, r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_rows
    grid: ceil(select(nhwc, line, line * parts), BLOCK), select(nhwc, parts, 1), select(nhwc, n, 1)
    block: BLOCK
    args: input, filter, bias, output, h, w, p, q, pad_top, pad_left, strips, rows, parts, n
*/

/* What changed from depthwise: no thread reads anything twice. There a thread computes two lines of outputs and reads r + 1 lines of input for them, and the weights again
 * for each line. Here it keeps the weights, and the sums of all lines of outputs to which the current line of the input belongs, and goes down ROWS lines. After STEP lines
 * of outputs the sums move up by as many; in between the compiler knows every index.
 *
 *  - While a line is multiplied, the next one is loaded into registers: PX + s - 1 loads per thread.
 *  - NCHW: a thread's columns begin at a multiple of PX, and lines at a multiple of 4, 2 or 1 elements (GRAIN); so a line is loaded as vectors of that size, each of which is
 *    wholly inside or outside the image.
 *  - 8-bit whole numbers are multiplied as f32: the products of up to 121 taps are exact, and so is their sum.
 *  - It computes tf32 layers in f32: tensor cores would save no work here, and f32 is more accurate.
 *
 * Its bottleneck is the FMA pipe for 7x7 (49 products for 8 bytes of f32), DRAM below. */
#include "element/element.cuh"
#include "element/epilogue.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, GROUP = STEP_ROWS * STRIDE_Y, TAPS = R * S;
constexpr int STRIP = (SHIFT + (PIXELS - 1) * STRIDE_X + (S - 1) * DILATION_X + GRAIN) / GRAIN; /* vectors of a line */
constexpr bool EXACT = sizeof(INPUT_T) == 1; /* sums of whole numbers, to which the bias is added last */
constexpr int UNIT = NHWC ? CHANNELS : GRAIN;

struct yes {
    __device__ constexpr operator bool() const { return true; }
};
struct no {
    __device__ constexpr operator bool() const { return false; }
};

static __device__ __forceinline__ float value_of(signed char x) { return (float)x; }
template <typename T> static __device__ __forceinline__ float value_of(T x) { return to_f32(x); }

/* What the taps of one line look at. */
struct strip {
    pack<INPUT_T, UNIT> piece[STRIP];
    /* columns: bit i, vector i lies in the image. Mostly all do. */
    __device__ __forceinline__ void load(const INPUT_T *line, unsigned columns)
    {
        if (WHOLE_STRIP && columns == (1ull << STRIP) - 1) {
#pragma unroll
            for (int i = 0; i < STRIP; i++)
                piece[i] = load_pack<INPUT_T, UNIT>(line + i * (NHWC ? C : GRAIN));
        } else {
#pragma unroll
            for (int i = 0; i < STRIP; i++)
                if (columns >> i & 1)
                    piece[i] = load_pack<INPUT_T, UNIT>(line + i * (NHWC ? C : GRAIN));
                else
                    piece[i].word = {};
        }
    }
    /* Column x, counted from the first that counts. */
    __device__ __forceinline__ float at(int x, int channel) const
    {
        return NHWC ? value_of(piece[x].item[channel]) : value_of(piece[(x + SHIFT) / GRAIN].item[(x + SHIFT) % GRAIN]);
    }
};

static __device__ __forceinline__ void load_weights(float weights[TAPS][CHANNELS], const INPUT_T *filter)
{
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
        pack<INPUT_T, CHANNELS> w = load_pack<INPUT_T, CHANNELS>(filter + t * K);
#pragma unroll
        for (int v = 0; v < CHANNELS; v++)
            weights[t][v] = value_of(w.item[v]);
    }
}

/* A line under one row of the filter. */
static __device__ __forceinline__ void add_line(float sum[PIXELS][CHANNELS], const strip &line, const float (*weights)[CHANNELS])
{
#pragma unroll
    for (int s = 0; s < S; s++)
#pragma unroll
        for (int x = 0; x < PIXELS; x++)
#pragma unroll
            for (int v = 0; v < CHANNELS; v++)
                sum[x][v] += line.at(x * STRIDE_X + s * DILATION_X, v) * weights[s][v];
}

static __device__ __forceinline__ void store(const float sum[PIXELS][CHANNELS], const float *biases, OUTPUT_T *to, int k, int left)
{
    if (NHWC) {
#pragma unroll
        for (int x = 0; x < PIXELS; x++) {
            pack<OUTPUT_T, CHANNELS> out;
#pragma unroll
            for (int v = 0; v < CHANNELS; v++)
                out.item[v] = from_f32<OUTPUT_T>(activate_channel(EXACT ? sum[x][v] + biases[v] : sum[x][v], k + v));
            if (x < left)
                store_pack<OUTPUT_T, CHANNELS>(to + x * K, out);
        }
    } else {
#pragma unroll
        for (int x = 0; x < PIXELS; x += STORED) {
            pack<OUTPUT_T, STORED> out;
#pragma unroll
            for (int v = 0; v < STORED; v++)
                out.item[v] = from_f32<OUTPUT_T>(activate_channel(EXACT ? sum[x + v][0] + biases[0] : sum[x + v][0], k));
            if (x < left)
                store_pack<OUTPUT_T, STORED>(to + x, out);
        }
    }
}

/* One addition, of an offset: the compiler would rather keep multiples of the step for all unrolled lines. */
static __device__ __forceinline__ void advance(int &offset, int step)
{
    offset += step;
    asm volatile("" : "+r"(offset));
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)  
conv_depthwise_rows(const INPUT_T *__restrict__ input, const INPUT_T *__restrict__ filter, const float *__restrict__ bias, OUTPUT_T *__restrict__ output, int H, int W,
                    int P, int Q, int pad, int pad_x, int strips, int rows, int parts, int images)
{
    int i = blockIdx.x * BLOCK + threadIdx.x, across = K / CHANNELS, plane = i / strips / parts;
    int k = NHWC ? i % across * CHANNELS : plane % K, q0 = (NHWC ? i / across : i % strips) * PIXELS;
    int p0 = (NHWC ? blockIdx.y : i / strips % parts) * rows, n = NHWC ? blockIdx.z : plane / K;
    if (q0 >= Q || n >= images)
        return;
    int c = k / (K / C), x0 = q0 * STRIDE_X - pad_x - SHIFT, y0 = p0 * STRIDE_Y - pad;
    int step = NHWC ? W * C : W; /* from line to line */
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;
    int line = (NHWC ? c : c * H * W) + y0 * step + x0 * (NHWC ? C : 1), to = NHWC ? (p0 * Q + q0) * K + k : (k * P + p0) * Q + q0;
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;

    float weights[TAPS][CHANNELS], biases[CHANNELS], first[CHANNELS], sum[LIVE - 1 + STEP_ROWS][PIXELS][CHANNELS];
    load_weights(weights, filter + k);
#pragma unroll
    for (int v = 0; v < CHANNELS; v++)
        biases[v] = EPI_BIAS ? bias[k + v] : 0.0f, first[v] = EXACT ? 0.0f : biases[v];
#pragma unroll
    for (int j = 0; j < (LIVE - 1 + STEP_ROWS) * PIXELS * CHANNELS; j++)
        sum[j / (PIXELS * CHANNELS)][j / CHANNELS % PIXELS][j % CHANNELS] = first[j % CHANNELS];

    unsigned columns = 0;
#pragma unroll
    for (int i = 0; i < STRIP; i++)
        columns |= (unsigned)(x0 + i * (NHWC ? 1 : GRAIN) >= 0 && x0 + i * (NHWC ? 1 : GRAIN) < W) << i;
    int y = y0, bottom = max(0, min(H, y0 + lines));
    strip next;
    auto load = [&] {
        next.load(input + line, (unsigned)y < (unsigned)bottom ? columns : 0);
        advance(line, step);
        y++;
    };
    load();
    /* GROUP lines. all: each of them adds to outputs of this thread only, so that nothing has to be asked. */
    auto group = [&](int from, auto all) {
#pragma unroll
        for (int u = 0; u < GROUP; u++) {
            if (!all && from + u >= lines)
                break;
            strip now = next;
            load();
#pragma unroll
            for (int r = 0; r < R; r++) {
                int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y, own = reach / STRIDE_Y, row = from / STRIDE_Y + own - (LIVE - 1);
                if (reach % STRIDE_Y || (!all && (row < 0 || row >= rows)))
                    continue;
                add_line(sum[own], now, weights + r * S);
                if (r == R - 1) { /* its last line */
                    store(sum[own], biases, output + to, k, Q - q0);
                    advance(to, NHWC ? Q * K : Q);
                }
            }
        }
#pragma unroll
        for (int j = 0; j < LIVE - 1 + STEP_ROWS; j++)
#pragma unroll
            for (int x = 0; x < PIXELS * CHANNELS; x++)
                sum[j][x / CHANNELS][x % CHANNELS] = j < LIVE - 1 ? sum[j + STEP_ROWS][x / CHANNELS][x % CHANNELS] : first[x % CHANNELS];
    };
    for (int from = 0; from < lines; from += GROUP)
        if (from / STRIDE_Y >= LIVE - 1 && from / STRIDE_Y + STEP_ROWS <= rows)
            group(from, yes());
        else
            group(from, no());
}
