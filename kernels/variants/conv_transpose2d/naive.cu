/* bench 1
op: conv_transpose2d
what: one thread an output element, gathering - every tap is asked whether an input lies under it
needs: c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [RSCK, KCRS], output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
params:
  BLOCK: {values: [8, 16, 32], default: 16}        # threads along x and along y
let:
  nhwc: layout(input) == NHWC
  line: select(nhwc, q * k, q)
define:
  NHWC: nhwc
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
steps:
  - kernel: conv_transpose_naive
    grid: ceil(line, BLOCK), ceil(p, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, stride, pad, dilation, groups
*/

/* The definition scatters: an input pixel adds its filter to stride x stride outputs and around, which needs atomics. Seen from an output it is a gather: tap
 * (r, s) comes from input row (p + pad - r * dilation) / stride, if that is a whole number inside the image. No atomics, one store, any shape.
 *
 * Cost: only one in stride * stride taps passes the test, and neighbouring threads pass it for different taps, so a warp walks through all of them with most
 * lanes idle: `phases` puts threads of the same taps together. */
#include "element.cuh"
#include "epilogue.cuh"
#include "tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_transpose_naive(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int R, int S, int P, int Q,
                     int stride, int pad, int dilation, int groups)
{
    int i = blockIdx.x * BLOCK + threadIdx.x; /* along one line of the output */
    int p = blockIdx.y * BLOCK + threadIdx.y;
    if (p >= P || i >= (NHWC ? Q * K : Q))
        return;
    int q = NHWC ? i / K : i;
    int k = NHWC ? i % K : blockIdx.z % K;
    int n = NHWC ? blockIdx.z : blockIdx.z / K;
    int group_channels = C / groups, c0 = k / (K / groups) * group_channels;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum = 0.0f;
    for (int r = 0; r < R; r++) {
        int y = p + pad - r * dilation;
        if (y < 0 || y % stride != 0 || y / stride >= H)
            continue;
        for (int s = 0; s < S; s++) {
            int x = q + pad - s * dilation;
            if (x < 0 || x % stride != 0 || x / stride >= W)
                continue;
            for (int c = 0; c < group_channels; c++)
                sum += to_f32(input[at(c0 + c, y / stride, x / stride, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
