/* bench 1
op: conv2d
what: depthwise on tensor cores, NHWC - 16 pixels by 8 channels times a diagonal matrix of the weights of two taps; each warp has its own lines in shared memory
from: depthwise_rows
needs: groups == c and k == c and c % 8 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648 and live <= 16
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  EIGHTS: {values: [auto, 1, 2, 4], default: auto}             # of channels, a warp
  ROWS: {values: [auto, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64], default: auto}         # lines of outputs a warp goes down
  AHEAD: {values: [2, 4, 6, 8, 12], default: 6}                # lines of input on their way
  WARPS: {values: [1, 2, 4, 8], default: 4}
  RESIDENT: {values: [1, 2, 3, 4, 5, 6, 8], default: 2}        # blocks of an SM, at least: bounds the registers
let:
  live: floor((r - 1) * dilation_y, stride_y) + 1              # lines of outputs that one line of the input belongs to
  eights: select(EIGHTS != 'auto', EIGHTS, select(4 * (r * s + 4 * live) <= 100 and c > 16, 4, select(2 * (r * s + 4 * live) <= 120 and c > 8, 2, 1)))
  parts_k: ceil(c, 8 * eights)
  window: 15 * stride_x + (s - 1) * dilation_x + 1             # pixels of a line
  tiles_x: ceil(q, 16)
  all: parts_k * tiles_x * n
  slots: max(1, floor(2048, WARPS * (60 + eights * (r * s + 4 * live))))   # blocks of an SM at once, by their registers
  rows: select(ROWS != 'auto', ROWS, fit_rows)
  parts: ceil(p, rows)
  smem: WARPS * (AHEAD + 1) * window * eights * 16
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
    least: max(ceil(ceil(all * ceil(p, fit_rows), WARPS), sm_count), slots) * ((fit_rows - 1) * stride_y + (r - 1) * dilation_y + 5)   # blocks of an SM, at least as many as it holds; lines, and a start that is worth four
where:
  - cc >= 80
  - smem <= smem_per_block_optin
  - eights * (r * s + 4 * live) <= 190                         # registers: weights and sums
define:
  INPUT_T: type(input)
  EIGHTS_FIT: eights
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise_diagonal
    grid: ceil(all * parts, WARPS)
    block: 32 * WARPS
    smem: smem
    args: input, filter, bias, output, h, w, p, q, pad_top, pad_left, parts_k, tiles_x, rows, parts, n
*/

/* What changed from depthwise_rows: tensor cores multiply, as in depthwise_mma_nchw. There a row of the product is a line of one plane; here adjacent values in memory are
 * channels, which have nothing in common. So the left operand is 16 pixels by 8 channels under one tap, beside it the same under the next tap, and the right one has the
 * weights of both taps on the diagonals of two 8 x 8 matrices. One product in eight counts, at 16 times the rate: still twice the FMA pipe, and no value is converted.
 *
 *  - A lane of a quad has 2 * EIGHTS adjacent channels of its pixel, and the products take channels in such an order that these are the lane's: one load from shared memory is
 *    a fragment of EIGHTS products, and a lane's results are adjacent again.
 *  - A weight is a register for each tap and eight of channels, with zeros in three lanes of four.
 *  - cp.async loads lines into a ring of each warp's own, AHEAD of them in flight: no barrier, and no register waits.
 *
 * Cost: c must be a multiple of 8. Zero weights times an infinity are NaN, also in the outputs of the seven channels beside it. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y, WINDOW = 15 * STRIDE_X + (S - 1) * DILATION_X + 1;
constexpr int PIXEL = 16 * EIGHTS_FIT, LINE = WINDOW * PIXEL, OWN = 2 * EIGHTS_FIT; /* bytes, bytes, channels of a lane */

extern __shared__ __align__(16) unsigned char shared[];

/* Words of one pixel: two channels of each eight. */
static __device__ __forceinline__ void load_pixel(unsigned to[EIGHTS_FIT], unsigned at)
{
    if constexpr (EIGHTS_FIT == 1)
        to[0] = load_shared(at);
    else if constexpr (EIGHTS_FIT == 2) {
        float2 v = load_shared_2(at);
        to[0] = __float_as_uint(v.x);
        to[1] = __float_as_uint(v.y);
    } else {
        float v[4];
        load_shared_4(v, at);
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[j] = __float_as_uint(v[j]);
    }
}

/* Half of the pixels: one of the lane, all its channels. */
static __device__ __forceinline__ void store(const float sum[EIGHTS_FIT][4], int first, INPUT_T *to, int k, int left)
{
    pack<unsigned, EIGHTS_FIT> out; /* two channels each */
#pragma unroll
    for (int j = 0; j < EIGHTS_FIT; j++)
        if (EPI_SLOPE == 0 && !EPI_PRELU)
            out.item[j] = relu_of<INPUT_T>(two_of<INPUT_T>(sum[j][first], sum[j][first + 1]));
        else
            out.item[j] = two_of<INPUT_T>(activate_channel(sum[j][first], k + 2 * j), activate_channel(sum[j][first + 1], k + 2 * j + 1));
    if (left > 0)
        store_pack<unsigned, EIGHTS_FIT>(reinterpret_cast<unsigned *>(to), out);
}

/* The lines of a warp's window, from top to bottom, on their way to shared memory; zeros for those that are not there. */
struct line_copies {
    static constexpr int APART = 32 / EIGHTS_FIT; /* pixels that the warp copies at once */
    const INPUT_T *image;
    int lane, source, y, bottom, step;
    unsigned inside;
    __device__ __forceinline__ line_copies(const INPUT_T *image, int lane, int x0, int y0, int lines, int channels, int H, int W)
        : image(image), lane(lane), source((y0 * W + x0 + lane / EIGHTS_FIT) * C + lane % EIGHTS_FIT * 8), y(y0), bottom(max(0, min(H, y0 + lines))), step(W * C), inside(0)
    {
        for (int i = 0; i * APART < WINDOW; i++) {
            int x = x0 + i * APART + lane / EIGHTS_FIT;
            inside |= (unsigned)(x >= 0 && x < W && lane % EIGHTS_FIT * 8 < channels) << i;
        }
    }
    __device__ __forceinline__ void next(unsigned to)
    {
        unsigned own = (unsigned)y < (unsigned)bottom ? inside : 0;
#pragma unroll
        for (int i = 0; i * APART < WINDOW; i++)
            if ((i + 1) * APART <= WINDOW || lane < WINDOW % APART * EIGHTS_FIT)
                copy_async_16(to + (i * 32 + lane) * 16, own >> i & 1 ? image + source + i * APART * C : image, own >> i & 1);
        copy_async_commit();
        source += step;
        asm volatile("" : "+r"(source)); /* else the compiler keeps multiples of the step for all unrolled lines */
        y++;
    }
};

/* Column lane / 4, rows 2 * (lane % 4) and the next of every eight and tap. channels: of the image, from the warp's first on. */
static __device__ __forceinline__ void load_weights(unsigned weights[EIGHTS_FIT][R * S], const INPUT_T *filter, int lane, int channels)
{
#pragma unroll
    for (int j = 0; j < EIGHTS_FIT; j++) {
        int column = lane / 4, k = column / 2 * OWN + 2 * j + column % 2;
        bool diagonal = column / 2 == lane % 4 && k < channels;
#pragma unroll
        for (int t = 0; t < R * S; t++) {
            unsigned one = diagonal ? reinterpret_cast<const unsigned short *>(filter)[t * C + k] : 0;
            weights[j][t] = column % 2 ? one << 16 : one;
        }
    }
}

/* Line u of a period, at `pixel` in shared memory, is added to all outputs that it belongs to: also above the first and below the last one, which nobody stores. */
static __device__ __forceinline__ void add_line(float sum[LIVE][EIGHTS_FIT][4], int u, unsigned pixel, const unsigned weights[EIGHTS_FIT][R * S],
                                                const float biases[EIGHTS_FIT][2])
{
#pragma unroll
    for (int s = 0; s < S; s += 2) {
        unsigned a[2][2][EIGHTS_FIT]; /* tap, half of the pixels */
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (s + j / 2 < S)
                load_pixel(a[j / 2][j % 2], pixel + ((s + j / 2) * DILATION_X + j % 2 * 8 * STRIDE_X) * PIXEL);
#pragma unroll
        for (int r = 0; r < R; r++) {
            int reach = u + (LIVE - 1) * STRIDE_Y - r * DILATION_Y, own = reach / STRIDE_Y % LIVE;
            if (reach % STRIDE_Y)
                continue;
#pragma unroll
            for (int j = 0; j < EIGHTS_FIT; j++) {
                unsigned pixels[4] = {a[0][0][j], a[0][1][j], a[1][0][j], a[1][1][j]};
                const unsigned *own_weights = weights[j] + r * S + s;
                if (r == 0 && S == 1)
                    for (int e = 0; e < 4; e++)
                        sum[own][j][e] = biases[j][e % 2];
                if (s == S - 1)
                    multiply_16x8x8<INPUT_T>(sum[own][j], pixels, own_weights[0]);
                else if (r == 0 && s == 0)
                    multiply_16x8x16_from<INPUT_T>(sum[own][j], pixels, own_weights, biases[j]);
                else
                    multiply_16x8x16<INPUT_T>(sum[own][j], pixels, own_weights);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, RESIDENT)
conv_depthwise_diagonal(const INPUT_T *__restrict__ input, const INPUT_T *__restrict__ filter, const float *__restrict__ bias, INPUT_T *__restrict__ output, int H, int W,
                        int P, int Q, int pad, int pad_x, int parts_k, int tiles_x, int rows, int parts, int images)
{
    int i = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32, n = i / parts_k / tiles_x / parts;
    if (n >= images)
        return;
    int first_k = i % parts_k * (8 * EIGHTS_FIT), p0 = i / parts_k / tiles_x % parts * rows, q0 = i / parts_k % tiles_x * 16;
    int x0 = q0 * STRIDE_X - pad_x, y0 = p0 * STRIDE_Y - pad, channels = C - first_k, own_k = first_k + lane % 4 * OWN;
    input += (size_t)n * C * H * W + first_k;
    output += (size_t)n * C * P * Q + own_k;
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
    unsigned ring = shared_address(shared) + threadIdx.x / 32 * ((AHEAD + 1) * LINE), end = ring + (AHEAD + 1) * LINE;
    line_copies copies(input, lane, x0, y0, lines, channels, H, W);
#pragma unroll
    for (int a = 0; a < AHEAD; a++)
        copies.next(ring + a * LINE);

    unsigned weights[EIGHTS_FIT][R * S];
    load_weights(weights, filter + first_k, lane, channels);
    float biases[EIGHTS_FIT][2], sum[LIVE][EIGHTS_FIT][4];
#pragma unroll
    for (int v = 0; v < OWN; v++)
        biases[v / 2][v % 2] = EPI_BIAS && own_k + v < C ? bias[own_k + v] : 0.0f;
#pragma unroll
    for (int j = 0; j < (LIVE) * EIGHTS_FIT * 4; j++)
        sum[j / (EIGHTS_FIT * 4)][j / 4 % EIGHTS_FIT][j % 4] = 0.0f;

    unsigned slot = ring, freed = end - LINE;
    unsigned own_pixel = lane / 4 * STRIDE_X * PIXEL + lane % 4 * (OWN * 2);
    int to = (p0 * Q + q0 + lane / 4) * C;
    int left = own_k < C ? Q - q0 - lane / 4 : 0;
    for (int from = 0; from < lines; from += PERIOD) {
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if (from + u >= lines)
                break;
            copy_async_wait<AHEAD - 1>();
            __syncwarp(); /* the line is there, and no lane reads the one before any more */
            copies.next(freed);
            add_line(sum, u, slot + own_pixel, weights, biases);
            freed = slot;
            slot = slot + LINE == end ? ring : slot + LINE;
            int reach = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y, own = reach / STRIDE_Y % LIVE;
            if (reach % STRIDE_Y || from / STRIDE_Y + reach / STRIDE_Y < LIVE - 1) /* no output ends here */
                continue;
            store(sum[own], 0, output + to, own_k, left);
            store(sum[own], 2, output + to + 8 * C, own_k, left - 8);
            to += Q * C;
            asm volatile("" : "+r"(to));
        }
    }
}
