/* bench 1
op: upsample_conv2d
what: one thread per output element - the large image is never stored, every tap reads the small one
like: conv2d/naive
params:
  BLOCK: {values: [8, 16, 32], default: 16}        # threads along x and along y
define:
  STRIDE_ACROSS:
  DILATION_ACROSS:
steps:
  - kernel: upsample_conv_naive
    grid: ceil(line, BLOCK), ceil(p, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, pad_top, block
*/

/* The definition: tap (r, s) of output (p, q) reads pixel ((p - pad + r) / block, (q - pad + s) / block). The upsampling is a division, and no large image is written;
 * but it computes all r * s products, although with a block of 2 and 3x3 only four different pixels are under them. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK *BLOCK)
upsample_conv_naive(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int R, int S, int P, int Q,
                    int pad, int block)
{
    int i = blockIdx.x * BLOCK + threadIdx.x; /* along one line of the output */
    int p = blockIdx.y * BLOCK + threadIdx.y;
    if (p >= P || i >= (NHWC ? Q * K : Q))
        return;
    int q = NHWC ? i / K : i;
    int k = NHWC ? i % K : blockIdx.z % K;
    int n = NHWC ? blockIdx.z : blockIdx.z / K;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum = 0.0f;
    for (int r = 0; r < R; r++) {
        int y = p - pad + r;
        if (y < 0 || y >= H * block)
            continue;
        for (int s = 0; s < S; s++) {
            int x = q - (pad + PAD_MORE) + s;
            if (x < 0 || x >= W * block)
                continue;
            for (int c = 0; c < C; c++)
                sum += to_f32(input[at(c, y / block, x / block, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, C, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
