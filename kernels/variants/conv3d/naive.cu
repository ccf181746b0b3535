/* bench 1
op: conv3d
what: one thread per output element, straight from global memory; any shape
needs: c * d * h * w < 2147483648 and k * o * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: [RSCK, KCRS], output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
define:
  NHWC: layout(input) == NHWC
  FILTER: layout(filter)
  FILTER_D: t
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_z, stride_y, stride_x, dilation_z, dilation_y, dilation_x, pad_front, pad_top, pad_left]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv3d_naive
    grid: ceil(k * o * p * q, 256), n
    block: 256
    args: input, filter, bias, output, c, d, h, w, k, o, p, q
*/

/* The definition. A volume is an image of all its planes' rows: row z * H + y. A warp stores neighbouring elements in either layout. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

extern "C" __global__ void __launch_bounds__(256)
conv3d_naive(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int D, int H, int W, int K, int O, int P, int Q)
{
    int i = blockIdx.x * 256 + threadIdx.x; /* in the output volume */
    if (i >= K * O * P * Q)
        return;
    int k = NHWC ? i % K : i / (O * P * Q), voxel = NHWC ? i / K : i % (O * P * Q), row = voxel / Q;
    input += (size_t)blockIdx.y * C * D * H * W;
    float sum = 0.0f;
    for (int tap = 0; tap < FILTER_D * R; tap++) {
        int z = row / P * STRIDE_Z - PAD_FRONT + tap / R * DILATION_Z, y = row % P * STRIDE_Y - PAD_TOP + tap % R * DILATION_Y;
        if (z < 0 || z >= D || y < 0 || y >= H)
            continue; /* zero padding */
        for (int s = 0; s < S; s++) {
            int x = voxel % Q * STRIDE_X - PAD_LEFT + s * DILATION_X;
            if (x < 0 || x >= W)
                continue;
            for (int c = 0; c < C; c++)
                sum += to_f32(input[at(c, z * H + y, x, C, D * H, W)]) * to_f32(filter[filter_at(k, c, tap, s, K, C, FILTER_D * R, S)]);
        }
    }
    output[(size_t)blockIdx.y * K * O * P * Q + i] = from_f32<OUTPUT_T>(epilogue(sum, bias, k));
}
