/* bench 1
op: conv2d
what: the definition of a sparse convolution - one thread per output pixel reads the mask in its receptive field
needs: c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [RSCK, KCRS], output: same, mask_in: bits, mask_out: bits}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
mask: {needs: [input, both], writes: output, inactive: untouched, reads: active, tile: [1, 1], weights: k * c / groups * r * s * size(filter)}
params:
  ROWS: {values: [1, 4, 8], default: 4}    # warps of a block, a row of 32 pixels each
let:
  words: ceil(q, 32)
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows; of these 0: as along rows
  STRIDE_ACROSS: select(stride_x == stride_y, 0, stride_x)
  DILATION_ACROSS: select(dilation_x == dilation_y, 0, dilation_x)
  BOTH: marks(mask) == 'both'                       # outputs are active where inputs are marked
  NHWC: layout(input) == NHWC
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
steps:
  - kernel: conv_sparse
    grid: words, ceil(p, ROWS), n
    block: 32, ROWS
    args: input, filter, bias, mask_in, mask_out, output, c, h, w, k, r, s, p, q, stride_y, pad_top, dilation_y, groups
*/

/* A warp has 32 adjacent output pixels, one word of the output's mask: each lane reads the input's mask in its own receptive field, and the ballot is the
 * word, with zeros behind the last column because no lane there is active. An active lane then computes all channels of its pixel and reads only marked
 * inputs; an inactive one ends without a store. It is slow, like naive, and simple enough to be right. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

static __device__ __forceinline__ bool marked(const unsigned *mask, int y, int x, int H, int W)
{
    return y >= 0 && y < H && x >= 0 && x < W && (mask[y * ((W + 31) / 32) + x / 32] >> (x % 32) & 1);
}

static __device__ __forceinline__ int column_of(int q, int s, int stride, int pad, int dilation)
{
    return q * (STRIDE_ACROSS ? STRIDE_ACROSS : stride) - (pad + PAD_MORE) + s * (DILATION_ACROSS ? DILATION_ACROSS : dilation);
}

extern "C" __global__ void __launch_bounds__(32 * ROWS)
conv_sparse(const INPUT_T *input, const INPUT_T *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, OUTPUT_T *output, int C, int H, int W,
            int K, int R, int S, int P, int Q, int stride, int pad, int dilation, int groups)
{
    int q = blockIdx.x * 32 + threadIdx.x, p = blockIdx.y * ROWS + threadIdx.y, n = blockIdx.z;
    if (p >= P)
        return; /* a whole warp */
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;
    mask_in += (size_t)n * H * ((W + 31) / 32);

    bool active = BOTH && marked(mask_in, p, q, H, W);
    for (int r = 0; r < R && q < Q && !BOTH; r++)
        for (int s = 0; s < S; s++)
            active |= marked(mask_in, p * stride - pad + r * dilation, column_of(q, s, stride, pad, dilation), H, W);
    unsigned word = __ballot_sync(~0u, active);
    if (threadIdx.x == 0)
        mask_out[((size_t)n * P + p) * gridDim.x + blockIdx.x] = word;
    if (!active)
        return;

    int group_channels = C / groups;
    for (int k = 0; k < K; k++) {
        int c0 = k / (K / groups) * group_channels;
        float sum = 0.0f;
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++) {
                int y = p * stride - pad + r * dilation, x = column_of(q, s, stride, pad, dilation);
                if (!marked(mask_in, y, x, H, W))
                    continue; /* no change there, whatever the input holds */
                for (int c = 0; c < group_channels; c++)
                    sum += to_f32(input[at(c0 + c, y, x, C, H, W)]) * to_f32(filter[filter_at(k, c, r, s, K, group_channels, R, S)]);
            }
        output[at(k, p, q, K, P, Q)] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
    }
}
