/* bench 1
what: no shared memory - 4x4 outputs a thread, from a window that slides through registers row by row
like: naive
needs:
  - c * h * w < 2147483648 and k * p * q < 2147483648
  - 3 * stride_x + (s - 1) * dilation_x < 32   # the window's row lives in registers
params:
  BLOCK: {values: [8, 16, 32], default: 32}        # threads along x; 128 in all
let:
  line: select(nhwc, ceil(q, 4) * k, ceil(q, 4))
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
steps:
  - kernel: conv_reg_tiled
    grid: ceil(line, BLOCK), ceil(p, 4 * (128 / BLOCK)), select(nhwc, n, n * k)
    block: BLOCK, 128 / BLOCK
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top, groups
*/

/* What changed from naive: a thread computes 4x4 outputs of one channel. For 3x3 they need a 6x6 window of the input, so 36 loads serve 144 multiply-adds: 2.25 loads per output and channel instead
 * of 9, with no barrier, no shared memory and no halo to copy twice.
 *
 * No register holds the whole window. A thread loads one of its rows, uses it for each of the up to r output rows to which it belongs, and drops it. It compares with the border once per thread
 * for the columns (a bit each) and once per row for the rows.
 *
 * The order of lanes is as in naive. In NCHW they are 4 pixels apart, so one load of a warp touches 4 times the
 * sectors, and L1 serves the same sectors again for the next three: the price for keeping the outputs of a thread
 * together. In NHWC lanes are channels: the window is one address for the whole warp, the filter is 32 adjacent values.
 *
 * With groups a thread loops only over its own group's channels; for depthwise, that is one.
 *
 * Cost: 16 accumulators, a row of the window and (up to 25 taps) the filter in registers.
 *
 * On an H200 the notebook's image takes 11.7 us, tiled_halo 22.8 us, cuDNN 22.4 us (older code): for one channel registers are better. EDSR's body takes 4265 us, tiled_halo 9023 us; tensor cores,
 * which are 14 times as fast, stay unused. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

#define OUT 4                                          /* outputs a thread along y and along x */
#define WINDOW_H ((OUT - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1)
#define WINDOW_W ((OUT - 1) * STRIDE_X + (S - 1) * DILATION_X + 1)

constexpr int ROWS_AT_ONCE = R * S <= 25 ? WINDOW_H : 1; /* unroll */

/* Adds one row of the window to the output rows that see it. `row` is known to the compiler wherever the loop over rows is unrolled. */
static __device__ __forceinline__ void add_row(float sum[OUT][OUT], const float window[WINDOW_W], int row, const float *taps, const INPUT_T *filter,
                                               int k, int c, int K, int group_channels)
{
#pragma unroll
    for (int i = 0; i < OUT; i++) {
        int offset = row - i * STRIDE_Y;
        if (offset < 0 || offset % DILATION_Y != 0 || offset / DILATION_Y >= R)
            continue;
#pragma unroll
        for (int s = 0; s < S; s++) {
            int r = offset / DILATION_Y;
            float tap = R * S <= 25 ? taps[r * S + s] : to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
#pragma unroll
            for (int j = 0; j < OUT; j++)
                sum[i][j] += window[j * STRIDE_X + s * DILATION_X] * tap;
        }
    }
}

extern "C" __global__ void __launch_bounds__(128)
conv_reg_tiled(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad,
               int groups)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int p0 = (blockIdx.y * blockDim.y + threadIdx.y) * OUT;
    int tiles_x = (Q + OUT - 1) / OUT;
    if (p0 >= P || i >= (NHWC ? tiles_x * K : tiles_x))
        return;
    int q0 = (NHWC ? i / K : i) * OUT;
    int k = NHWC ? i % K : blockIdx.z % K;
    int n = NHWC ? blockIdx.z : blockIdx.z / K;
    int group_channels = C / groups, c0 = k / (K / groups) * group_channels;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    int y0 = p0 * STRIDE_Y - pad, x0 = q0 * STRIDE_X - pad - PAD_MORE;
    unsigned columns = 0; /* bit j: column j of the window lies in the image */
#pragma unroll
    for (int j = 0; j < WINDOW_W; j++)
        columns |= (unsigned)(x0 + j >= 0 && x0 + j < W) << j;

    float sum[OUT][OUT];
#pragma unroll
    for (int a = 0; a < OUT * OUT; a++)
        sum[a / OUT][a % OUT] = 0.0f;
#pragma unroll 1
    for (int c = 0; c < group_channels; c++) {
        float taps[R * S <= 25 ? R * S : 1];
        if (R * S <= 25)
#pragma unroll
            for (int t = 0; t < R * S; t++)
                taps[t] = to_f32(filter[filter_at(k, c, t / S, t % S, K, group_channels, R, S)]);
#pragma unroll ROWS_AT_ONCE
        for (int row = 0; row < WINDOW_H; row++) {
            int y = y0 + row;
            bool row_inside = y >= 0 && y < H;
            float window[WINDOW_W];
#pragma unroll
            for (int j = 0; j < WINDOW_W; j++)
                window[j] = row_inside && (columns >> j & 1) ? to_f32(input[at(c0 + c, y, x0 + j, C, H, W)]) : 0.0f;
            add_row(sum, window, row, taps, filter, k, c, K, group_channels);
        }
    }
#pragma unroll
    for (int a = 0; a < OUT; a++)
#pragma unroll
        for (int b = 0; b < OUT; b++)
            if (p0 + a < P && q0 + b < Q)
                output[at(k, p0 + a, q0 + b, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum[a][b], bias, k));
}
