/* bench 1
op: conv2d
what: reg_tiled by whole vectors - 16 bytes per load and store, the filter in constant memory as an operand of the multiplication
from: reg_tiled
needs:
  - stride == 1 and dilation == 1 and groups == 1 and w % 4 == 0 and q % 4 == 0
  - r <= 15 and s <= 15 and k * c * r * s * 4 <= 65536
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NCHW, filter: KCRS, output: NCHW}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
claims: cc == 90 and c * k == 1 and r == s and (r == 3 or r == 5) and p * q >= 1000000
params:
  ROWS: {values: [1, 2, 4, 8], default: 4}         # outputs a thread along y; 4 along x
  THREADS: {values: [64, 128], default: 64}
define:
  INPUT_T: type(input)
  TAPS: k * c * r * s
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, r, s, pad]
prepare:
  - symbol: taps_constant = filter
steps:
  - kernel: conv_vector_rows
    grid: ceil(q, 4 * THREADS), ceil(p, ROWS), n * k
    block: THREADS
    args: input, bias, output, h, w, k, p, q
*/

/* What changed from reg_tiled: how the window is loaded and the outputs are stored. There a lane loads single elements, four apart from the next lane's, and every load of
 * a warp spans four times the bytes that it uses; stores too. Here both are vectors of 4 that begin at multiples of 4: an image row of the window is three of them for 3x3.
 * As the width is a multiple of 4, a vector is wholly inside or outside the image, so there is one border check a vector.
 *
 * The filter is in constant memory. With all loops over it unrolled, a tap is an operand of the multiplication itself: it needs no register and no load.
 *
 * Cost: a vector to the left and to the right is loaded for one element each; L1 has them. With few channels this is a streaming kernel, and what is left are the latencies
 * of its launch and of its first load: one channel of 1000 x 2000 takes 10.6 us on an H200 with 3x3 and 11.9 us with 5x5, reg_tiled 11.7 us
 * and 16.6 us, cuDNN 22.4 us and 48.7 us (older code, reports/gallery/notebook-h200.csv); copying the bytes would take a third of that at the rate of a long copy. */
#include "element/element.cuh"
#include "element/epilogue.cuh"

__constant__ INPUT_T taps_constant[TAPS];

constexpr int LEFT = (PAD + 3) / 4, VECTORS = LEFT + (4 + S - 1 - PAD + 3) / 4; /* of a row of the window; LEFT of them before the outputs' own column */
constexpr int WINDOW_H = ROWS + R - 1;

extern "C" __global__ void __launch_bounds__(THREADS)
conv_vector_rows(const INPUT_T *__restrict__ input, const float *bias, INPUT_T *output, int H, int W, int K, int P, int Q)
{
    int q = (blockIdx.x * THREADS + threadIdx.x) * 4, p = blockIdx.y * ROWS, k = blockIdx.z % K, n = blockIdx.z / K;
    if (q >= Q)
        return;
    input += (size_t)n * C * H * W;
    output += ((size_t)n * K + k) * P * Q;

    unsigned columns = 0; /* bit v: vector v of the window lies in the image */
#pragma unroll
    for (int v = 0; v < VECTORS; v++)
        columns |= (unsigned)(q + (v - LEFT) * 4 >= 0 && q + (v - LEFT) * 4 < W) << v;

    float sum[ROWS][4];
#pragma unroll
    for (int i = 0; i < ROWS * 4; i++)
        sum[i / 4][i % 4] = 0.0f;
#pragma unroll 1
    for (int c = 0; c < C; c++) {
        const INPUT_T *plane = input + (size_t)c * H * W, *taps = taps_constant + (k * C + c) * (R * S);
#pragma unroll
        for (int row = 0; row < WINDOW_H; row++) {
            int y = p - PAD + row;
            unsigned row_columns = y >= 0 && y < H ? columns : 0;
            float window[VECTORS * 4];
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                pack<INPUT_T, 4> in;
                bool inside = row_columns >> v & 1;
                if (inside)
                    in = load_pack<INPUT_T, 4>(plane + y * W + q + (v - LEFT) * 4);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    window[v * 4 + i] = inside ? to_f32(in.item[i]) : 0.0f;
            }
#pragma unroll
            for (int i = 0; i < ROWS; i++) { /* output rows that see this row of the window */
                if (row - i < 0 || row - i >= R)
                    continue;
#pragma unroll
                for (int s = 0; s < S; s++)
#pragma unroll
                    for (int j = 0; j < 4; j++)
                        sum[i][j] += window[LEFT * 4 - PAD + j + s] * to_f32(taps[(row - i) * S + s]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        if (p + i >= P)
            break;
        pack<INPUT_T, 4> out;
#pragma unroll
        for (int j = 0; j < 4; j++)
            out.item[j] = from_f32<INPUT_T>(epilogue(sum[i][j], bias, k));
        store_pack<INPUT_T, 4>(output + (size_t)(p + i) * Q + q, out);
    }
}
