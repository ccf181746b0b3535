/* bench 1
op: conv2d
what: depthwise - VEC channels per thread, PX by PY outputs from a strip of the input in registers; no shared memory
from: naive
needs: groups == c and c * h * w < 2147483648 and k * p * q < 2147483648 and n * k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: RSCK, output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
claims: cc == 90 and r * s > 1 and c >= 64 and n * p * q >= 8192
params:
  PX: {values: [1, 2, 4, 8], default: 4}           # neighbouring outputs of a line
  PY: {values: [1, 2, 4], default: 2}              # lines
  VEC: {values: [auto, 1, 2, 4], default: auto}    # neighbouring channels, NHWC only; auto: 4 bytes of them where that is possible
  BLOCK: {values: [64, 128, 256], default: 128}
let:
  nhwc: layout(input) == NHWC
  whole: nhwc and k == c and c % 2 == 0
  vec: select(VEC == 'auto', select(whole and size(input) == 2, 2, 1), VEC)
  strip: (PX - 1) * stride_x + (s - 1) * dilation_x + 1
  strips: ceil(q, PX)
  line: select(nhwc, strips * k / vec, strips)     # threads for PY lines of an image (NHWC) or of a plane
  groups_p: ceil(p, PY)
where:
  - vec == 1 or nhwc and k == c
  - c % vec == 0
  - vec * (PX * PY + strip) + s <= 128             # registers: sums, a strip of input, a row of weights
ablate: [store, bias, maths]
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  NHWC: nhwc
  CHANNELS: vec
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_depthwise
    grid: select(nhwc, ceil(line, BLOCK), ceil(line * groups_p * n * k, BLOCK)), select(nhwc, groups_p, 1), select(nhwc, n, 1)
    block: BLOCK
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top, strips, groups_p, n
*/

/* A depthwise convolution has no channels to sum over: r * s products for each value that is read. At 3x3 in f32 that is 18 FLOP for 8 bytes moved, so DRAM is the limit,
 * and everything else must only not slow it down. Shared memory would be one more copy.
 *
 * What changed from naive: a thread computes PX by PY outputs. It reads each line of the input under them once, as a strip in registers, and every tap of that line takes
 * its operands from there: at 3x3, 4x2 outputs cost 4 x 6 loads instead of 72. In NHWC a thread may have several adjacent channels, so that 16-bit elements move two or
 * four at a time. All taps are unrolled, so a line belongs to output row i if (line - i * stride) is a multiple of the dilation, and the compiler decides that, not the
 * thread.
 *
 * Adjacent lanes are as in naive: channels in NHWC, so that a warp reads adjacent channels of one pixel, and their weights too (hence RSCK); strips of one plane in NCHW,
 * where a warp's reads are PX words apart, and the caches make up for it.
 *
 * What it costs: the halo lines of neighbouring threads are read again (from L1 or L2, mostly), and the borders are checked at every load. k = m * c outputs (a channel
 * multiplier) read the same plane m times. */
#include "element/ablate.cuh"
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

constexpr int STRIP = (PX - 1) * STRIDE_X + (S - 1) * DILATION_X + 1, LINES = (PY - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;

/* What the taps of one line look at: zero outside the image. */
static __device__ __forceinline__ void load_strip(float strip[STRIP][CHANNELS], const INPUT_T *input, int c, int y, int x0, int C, int H, int W)
{
#pragma unroll
    for (int x = 0; x < STRIP; x++) {
        bool inside = y >= 0 && y < H && x0 + x >= 0 && x0 + x < W;
        pack<INPUT_T, CHANNELS> one;
        if (inside)
            one = load_pack<INPUT_T, CHANNELS>(input + at(c, y, x0 + x, C, H, W));
#pragma unroll
        for (int v = 0; v < CHANNELS; v++)
            strip[x][v] = inside ? to_f32(one.item[v]) : 0.0f;
    }
}

static __device__ __forceinline__ void store(const float sum[PY][PX][CHANNELS], const float *bias, OUTPUT_T *output, int k, int p0, int q0, int K, int P, int Q)
{
    ABLATED_BEGIN
#pragma unroll
    for (int j = 0; j < PY * PX; j++) {
        int p = p0 + j / PX, q = q0 + j % PX;
        pack<OUTPUT_T, CHANNELS> out;
#pragma unroll
        for (int v = 0; v < CHANNELS; v++) {
            out.item[v] = from_f32<OUTPUT_T>(epilogue(sum[j / PX][j % PX][v], bias, k + v));
#ifdef ABLATE_STORE
            ablated_sum += to_f32(out.item[v]);
#endif
        }
#ifndef ABLATE_STORE
        if (p < P && q < Q)
            store_pack<OUTPUT_T, CHANNELS>(output + at(k, p, q, K, P, Q), out);
#endif
    }
    ABLATED_END(output)
}

extern "C" __global__ void __launch_bounds__(BLOCK)
conv_depthwise(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad, int strips,
               int groups_p, int images)
{
    int i = blockIdx.x * BLOCK + threadIdx.x, lines = K / CHANNELS, plane = i / strips / groups_p;
    int k = NHWC ? i % lines * CHANNELS : plane % K, q0 = (NHWC ? i / lines : i % strips) * PX, p0 = (NHWC ? blockIdx.y : i / strips % groups_p) * PY;
    int n = NHWC ? blockIdx.z : plane / K;
    if (q0 >= Q || n >= images)
        return;
    int c = k / (K / C), y0 = p0 * STRIDE_Y - pad, x0 = q0 * STRIDE_X - pad - PAD_MORE;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum[PY][PX][CHANNELS];
#pragma unroll
    for (int j = 0; j < PY * PX * CHANNELS; j++)
        sum[j / (PX * CHANNELS)][j / CHANNELS % PX][j % CHANNELS] = 0.0f;
    ABLATED_WORD
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        float strip[STRIP][CHANNELS];
        load_strip(strip, input, c, y0 + line, x0, C, H, W);
#ifdef ABLATE_MATHS
#pragma unroll
        for (int x = 0; x < STRIP * CHANNELS; x++)
            ABLATED_MIX(strip[x / CHANNELS][x % CHANNELS]);
#endif
#pragma unroll
        for (int row = 0; row < PY; row++) {
            int reach = line - row * STRIDE_Y, r = reach / DILATION_Y; /* known to the compiler */
            if (reach < 0 || reach % DILATION_Y || r >= R)
                continue;
#pragma unroll
            for (int s = 0; s < S; s++) {
                pack<INPUT_T, CHANNELS> w = load_pack<INPUT_T, CHANNELS>(filter + filter_at(k, 0, r, s, K, 1, R, S));
#pragma unroll
                for (int v = 0; v < CHANNELS; v++) {
#ifdef ABLATE_MATHS
                    ABLATED_MIX(to_f32(w.item[v]));
#else
#pragma unroll
                    for (int x = 0; x < PX; x++)
                        sum[row][x][v] += strip[x * STRIDE_X + s * DILATION_X][v] * to_f32(w.item[v]);
#endif
                }
            }
        }
    }
    ABLATED_WORD_TO(sum[0][0][0]);
    store(sum, bias, output, k, p0, q0, K, P, Q);
}
