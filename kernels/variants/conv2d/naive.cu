/* bench 1
op: conv2d
what: one thread per output element, straight from global memory; any shape
needs: c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [RSCK, KCRS], output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  BLOCK: {values: [8, 16, 24, 32], default: 16}    # threads along x and along y
let:
  nhwc: layout(input) == NHWC
  line: select(nhwc, q * k, q)
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows; of these 0: as along rows
  STRIDE_ACROSS: select(stride_x == stride_y, 0, stride_x)
  DILATION_ACROSS: select(dilation_x == dilation_y, 0, dilation_x)
  NHWC: nhwc
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_naive
    grid: ceil(line, BLOCK), ceil(p, BLOCK), select(nhwc, n, n * k)
    block: BLOCK, BLOCK
    args: input, filter, bias, output, c, h, w, k, r, s, p, q, stride_y, pad_top, dilation_y, groups
*/

/* The start of the tutorial: the definition of a convolution, one output a thread.
 *
 * One thing is right: the order of the lanes. A warp stores adjacent elements of the output: pixels of one channel in NCHW, channels of one pixel
 * in NHWC. So its stores are whole sectors, and its loads are contiguous (or one value for all lanes) in at least one of the two inputs: NCHW
 * reads adjacent pixels and one filter value, NHWC reads one pixel and adjacent filter values (hence RSCK). naive_uncoalesced is this kernel with
 * only that changed.
 *
 * Cost: two loads for one multiply-add. Each input element is loaded r * s * k times; caches save the bandwidth of DRAM but not the instructions,
 * and those are the limit: about 7 instructions a multiply-add. Every tap is compared with the border.
 *
 * On an H200 EDSR's body (64 -> 64, 720p, f16 NHWC) takes 12613 us, cuDNN 145.8 us (the L1's data banks are busy nearly all of the
 * time); the notebook's image, f32, 46.4 us, cuDNN 22.4 us (older code, notebook-h200.csv). */
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
    int group_channels = C / groups;
    int c0 = k / (K / groups) * group_channels;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum = 0.0f;
    for (int r = 0; r < R; r++) {
        int y = p * stride - pad + r * dilation;
        if (y < 0 || y >= H)
            continue; /* zero padding */
        for (int s = 0; s < S; s++) {
            int x = q * (STRIDE_ACROSS ? STRIDE_ACROSS : stride) - (pad + PAD_MORE) + s * (DILATION_ACROSS ? DILATION_ACROSS : dilation);
            if (x < 0 || x >= W)
                continue;
            for (int c = 0; c < group_channels; c++)
                sum += to_f32(input[at(c0 + c, y, x, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
        }
    }
    output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
