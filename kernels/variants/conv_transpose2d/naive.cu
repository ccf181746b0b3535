/* bench 1
op: conv_transpose2d
what: one thread per output element, gathering - every tap is tested for an input under it
like: conv2d/naive
params:
  BLOCK: {values: [8, 16, 32], default: 16}        # threads along x and along y
*/

/* The definition scatters: an input pixel adds its filter to stride x stride outputs and around, which needs atomics. For an output it is a gather: tap (r,
 * s) comes from input row (p + pad - r * dilation) / stride, if that is a whole number inside the image. No atomics, one store, any shape.
 *
 * Cost: only one in stride * stride taps passes the test, and adjacent threads pass it for different taps, so a warp loops over all of them with most lanes
 * idle: `phases` groups threads with the same taps. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_naive(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int R, int S, int P, int Q,
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
            int x = q + (pad + PAD_MORE) - s * (DILATION_ACROSS ? DILATION_ACROSS : dilation), across = STRIDE_ACROSS ? STRIDE_ACROSS : stride;
            if (x < 0 || x % across != 0 || x / across >= W)
                continue;
            for (int c = 0; c < group_channels; c++)
                sum += to_f32(input[at(c0 + c, y / stride, x / across, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
