/* bench 1
what: one small ordinary convolution for each of the stride x stride phases of the output; a warp's threads share their taps
like: naive
needs: dilation_y == 1 and dilation_x == 1 and stride_y <= 8 and stride_x <= 8 and c * h * w < 2147483648 and k * p * q < 2147483648
let:
  phase_p: ceil(p, stride_y)                       # outputs of the largest phase
  phase_q: ceil(q, stride_x)
  line: select(nhwc, phase_q * k, phase_q)
specialise: [r, s, stride_y, stride_x]
steps:
  - kernel: conv_transpose_phases
    grid: ceil(line, BLOCK), ceil(phase_p, BLOCK), select(nhwc, n, n * k) * stride_y * stride_x
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top, groups, phase_q
*/

/* What changed from naive: outputs whose (p + pad) and (q + pad) have the same remainders by the stride use the same taps, every stride-th of each row and
 * column. A block computes outputs of one such phase, so every tap that it visits counts: r * s / stride^2 of them, at constant distances in the filter,
 * and the loop over them has constant steps. This is the identity behind the subpixel convolution: the phases, as channels, are a convolution followed by
 * depth_to_space.
 *
 * Cost: a thread stores every stride-th pixel, so in NCHW a store fills one in
 * stride of its sectors; the phases of adjacent blocks fill the rest in L2. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
conv_transpose_phases(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad,
                      int groups, int phase_q)
{
    int i = blockIdx.x * BLOCK + threadIdx.x; /* along one line of the phase */
    int phase = blockIdx.z % (STRIDE_Y * STRIDE_X), z = blockIdx.z / (STRIDE_Y * STRIDE_X);
    int p = (blockIdx.y * BLOCK + threadIdx.y) * STRIDE_Y + phase / STRIDE_X;
    int q = (NHWC ? i / K : i) * STRIDE_X + phase % STRIDE_X;
    if (p >= P || q >= Q || i >= (NHWC ? phase_q * K : phase_q))
        return;
    int k = NHWC ? i % K : z % K, n = NHWC ? z : z / K;
    int group_channels = C / groups, c0 = k / (K / groups) * group_channels;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum = 0.0f;
    int left = pad + PAD_MORE, r0 = (p + pad) % STRIDE_Y, s0 = (q + left) % STRIDE_X; /* the phase's first taps: the same for the whole block */
    for (int r = r0; r < R; r += STRIDE_Y) {
        int y = (p + pad - r) / STRIDE_Y;
        if (p + pad < r || y >= H)
            continue;
        for (int s = s0; s < S; s += STRIDE_X) {
            int x = (q + left - s) / STRIDE_X;
            if (q + left < s || x >= W)
                continue;
            for (int c = 0; c < group_channels; c++)
                sum += to_f32(input[at(c0 + c, y, x, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
