/* bench 1
op: conv3d
what: tiles of planes x rows x 32 columns, inputs and filters staged in shared memory, sums in registers
from: naive
needs: dilation == 1 and c * d * h * w < 2147483648 and k * o * p * q < 2147483648
layout: {input: NHWC, filter: RSCK, output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu]
params:
  TD: {values: [1, 2, 4, 8], default: 4}        # outputs of a tile: planes, rows; columns are 32
  TH: {values: [2, 4, 8], default: 4}
  CC: {values: [2, 4, 8], default: 4}           # channels staged at a time
  KPT: {values: [8, 16, 32], default: 16}       # output channels of a thread
  WARPS: {values: [4, 8], default: 8}
let:
  in_d: (TD - 1) * stride + t
  in_h: (TH - 1) * stride + r
  in_w: 31 * stride + s
  smem: CC * (in_d * in_h * in_w + t * r * s * KPT) * 4
  v_out: min(8, 16 / size(output))
where:
  - TD * TH >= WARPS
  - TD * TH * KPT <= 16 * WARPS * 8
define:
  FILTER_D: t
  VEC_IN: select(c % CC == 0 and CC * size(input) <= 16, CC, 1)
  VEC_OUT: select(k % v_out == 0, v_out, 1)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s, stride, pad]
steps:
  - kernel: conv3d_tiled
    grid: ceil(o, TD) * ceil(p, TH) * ceil(q, 32), ceil(k, KPT), n
    block: 32, WARPS
    smem: smem
    args: input, filter, bias, output, c, d, h, w, k, o, p, q
*/

/* What changed from naive: an input is loaded from global memory once per tile and channel block, not once per tap and output channel, and each value that is
 * read from shared memory is used KPT or VOXELS times. The cost is the halo: with 4 x 4 x 32 outputs of a 3 x 3 x 3 filter 2.4 inputs an output.
 *
 * Tensor cores are several times as fast where a type has them: mma_sync. */
#include "volume/tile.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv3d_tiled(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int D, int H, int W, int K, int O, int P, int Q)
{
    extern __shared__ float space[];
    auto inputs = reinterpret_cast<float(*)[IN_D * IN_H * IN_W]>(space);
    auto filters = reinterpret_cast<float(*)[FILTER_D * R * S][KPT]>(space + CC * IN_D * IN_H * IN_W);
    volume v = {C, D, H, W, K, O, P, Q};
    volume_place at = place_of_block(v);
    input += (size_t)blockIdx.z * C * D * H * W;
    output += (size_t)blockIdx.z * K * O * P * Q;
    float sum[VOXELS][KPT] = {{0.0f}};
    for (int c0 = 0; c0 < C; c0 += CC) {
        __syncthreads();
        stage_inputs(input, v, at, c0, inputs, [](int, int, int) { return true; });
        stage_filters(filter, v, at.k, c0, filters);
        __syncthreads();
        multiply(inputs, filters, sum);
    }
    store_sums(output, bias, v, at, sum, [](int) { return true; });
}
