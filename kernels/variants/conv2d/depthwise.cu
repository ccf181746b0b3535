/* bench 1
op: conv2d
what: depthwise - one channel a thread, PX outputs of a line from a strip of the input in registers; no shared memory
from: naive
needs: groups == c and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [KCRS, KRSC], output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
params:
  PX: {values: [1, 2, 4, 8], default: 4}           # neighbouring outputs of a line
  PY: {values: [1, 2, 4], default: 2}              # lines
  BLOCK: {values: [64, 128, 256], default: 128}
let:
  nhwc: layout(input) == NHWC
  strip: (PX - 1) * stride + (s - 1) * dilation + 1
  strips: ceil(q, PX)
  line: select(nhwc, strips * k, strips)           # threads for PY lines of an image (NHWC) or of a plane
where:
  - PX * PY + strip + s <= 128                     # registers: sums, a strip of input, a row of weights
ablate: [store, bias, maths]
define:
  NHWC: nhwc
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s, stride, dilation]
steps:
  - kernel: conv_depthwise
    grid: ceil(line, BLOCK), ceil(p, PY), select(nhwc, n, n * k)
    block: BLOCK
    args: input, filter, bias, output, c, h, w, k, p, q, pad, strips
*/

/* A depthwise convolution has no channels to sum over: r * s products for each value that is read. At 3x3 in f32 that is 18 FLOP for 8 bytes moved, so DRAM is the limit
 * and everything else has only to stay out of its way. Shared memory would be one more stop.
 *
 * What changed from naive: a thread makes PX by PY outputs. It reads each line of the input under them once, as a strip in registers, and every tap of that line takes its
 * operands from there: at 3x3, 4x2 outputs cost 4 x 6 loads instead of 72. All taps are unrolled, so a line belongs to output row i where
 * (line - i * stride) is a multiple of the dilation, and the compiler decides that, not the thread.
 *
 * Who stands beside whom is naive's rule again: channels in NHWC, so that a warp reads 32 neighbouring channels of one pixel; strips of one plane in NCHW, where
 * a warp's reads are PX words apart, and the caches put that right.
 *
 * What it costs: the halo lines of neighbouring threads are read again (from L1 or L2, mostly), and the borders are checked at every load. k = m * c outputs (a channel
 * multiplier) read the same plane m times. */
#include "ablate.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "tensor.cuh"

constexpr int STRIP = (PX - 1) * STRIDE + (S - 1) * DILATION + 1, LINES = (PY - 1) * STRIDE + (R - 1) * DILATION + 1;

extern "C" __global__ void __launch_bounds__(BLOCK)
conv_depthwise(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad, int strips)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int k = NHWC ? i % K : blockIdx.z % K, q0 = (NHWC ? i / K : i) * PX, p0 = blockIdx.y * PY;
    int n = NHWC ? blockIdx.z : blockIdx.z / K;
    if (q0 >= Q || i >= (NHWC ? strips * K : strips))
        return;
    int c = k / (K / C), y0 = p0 * STRIDE - pad, x0 = q0 * STRIDE - pad;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum[PY][PX];
#pragma unroll
    for (int j = 0; j < PY * PX; j++)
        sum[j / PX][j % PX] = 0.0f;
    ABLATED_WORD
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        float strip[STRIP];
        int y = y0 + line;
#pragma unroll
        for (int x = 0; x < STRIP; x++)
            strip[x] = y >= 0 && y < H && x0 + x >= 0 && x0 + x < W ? to_f32(input[at(c, y, x0 + x, C, H, W)]) : 0.0f;
#ifdef ABLATE_MATHS
#pragma unroll
        for (int x = 0; x < STRIP; x++)
            ABLATED_MIX(strip[x]);
#endif
#pragma unroll
        for (int row = 0; row < PY; row++) {
            int reach = line - row * STRIDE, r = reach / DILATION; /* known to the compiler */
            if (reach < 0 || reach % DILATION || r >= R)
                continue;
#pragma unroll
            for (int s = 0; s < S; s++) {
                float w = to_f32(filter[filter_at(k, 0, r, s, K, 1, R, S)]);
#ifdef ABLATE_MATHS
                ABLATED_MIX(w);
#else
#pragma unroll
                for (int x = 0; x < PX; x++)
                    sum[row][x] += strip[x * STRIDE + s * DILATION] * w;
#endif
            }
        }
    }
    ABLATED_WORD_TO(sum[0][0]);
    ABLATED_BEGIN
#pragma unroll
    for (int row = 0; row < PY; row++)
#pragma unroll
        for (int x = 0; x < PX; x++)
            if (p0 + row < P && q0 + x < Q)
                STORE(output[at(k, p0 + row, q0 + x, K, P, Q)], from_f32<OUTPUT_T>(epilogue(sum[row][x], bias, k)));
    ABLATED_END(output)
}
