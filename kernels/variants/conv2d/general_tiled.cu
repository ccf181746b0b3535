/* bench 1
op: conv2d
what: any filter, stride, dilation and groups - a halo tile and the weights of KB channels in shared memory, PX pixels by KB channels per thread
from: tiled_halo
needs: c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NCHW, NHWC], filter: [KCRS, KRSC], output: same}
dtype: {input: [f32, f16, bf16], output: same, bias: f32, accumulate: f32}
epilogue: [bias, relu, leaky_relu, prelu]
params:
  TX: {values: [8, 16, 32], default: 32}           # threads along x and along y: a tile of TX * PX by TY outputs
  TY: {values: [4, 8, 16], default: 8}
  PX: {values: [1, 2, 4, 8], default: 2}           # pixels a thread, TX apart
  KB: {values: [4, 8, 16], default: 8}             # output channels a thread, and a block
  CC: {values: [1, 2, 4, 8], default: 2}           # input channels in shared memory at a time
let:
  group_c: c / groups
  group_k: k / groups
  in_h: (TY - 1) * stride_y + (r - 1) * dilation_y + 1
  in_w: (TX * PX - 1) * stride_x + (s - 1) * dilation_x + 1
  tile_smem: CC * in_h * in_w
  weights: CC * r * s * KB
  smem: 4 * (weights + tile_smem)
  k_blocks: ceil(group_k, KB)
where:
  - TX * TY >= 64
  - PX * KB <= 64                                  # sums a thread
  - 4 * (weights + tile_smem) <= smem_per_block_optin
ablate: [store, bias, maths]
predict: {threads: TX * TY, smem: smem, registers: PX * KB + PX + KB}
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  NHWC: layout(input) == NHWC
  WHOLE: layout(input) == NHWC and k % KB == 0 and group_k % KB == 0   # a thread's channels of a pixel are one aligned piece of memory
  FILTER: layout(filter)
  INPUT_T: type(input)
  OUTPUT_T: type(output)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_general
    grid: ceil(q, TX * PX), ceil(p, TY), n * groups * k_blocks
    block: TX, TY
    smem: smem
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top, groups, k_blocks
*/

/* What changed from tiled_halo: it supports every shape. The tile in shared memory is what the outputs of the block read, (TY - 1) * stride + (r - 1) * dilation + 1 lines; a
 * group is a small convolution of its own, so a block belongs to one; and incomplete tiles (the last pixels, channels, groups) are zero in shared memory and guarded at the
 * store.
 *
 * Two things reduce the loads. A thread holds PX pixels of KB channels: one step loads PX inputs and KB weights
 * for PX * KB products. Its pixels are TX apart, so that a warp's threads read adjacent words at stride 1 and
 * store adjacent pixels. The weights of a tap are contiguous: 16 bytes per load, the same for the whole warp.
 *
 * Cost: at stride 2 and 4 the reads of shared memory have 2- and 4-way conflicts, and dilation loads pixels that no
 * output uses. 1x1 with many channels is a matrix product with a wide, flat tile; a group of fewer than KB channels
 * leaves sums unused (for depthwise there are other variants). Tune the parameters for the layer: bench tune.
 *
 * On an H200 (older code, reports/tune/breadth-h200.md, f32): 64 -> 64 in 4 groups at 180 x 320 takes 85.2 us, cuDNN 94.0 us; dilated by 2, 307.9 us and 123.2 us; 7x7 of stride
 * 2 from 3 channels, 134.9 us and 78.1 us; 1x1 from 96 channels, 173 us and 31.38 us. It is there to be right everywhere. */
#include "element/ablate.cuh"
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "element/tensor.cuh"

constexpr int IN_H = (TY - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, IN_W = (TX * PX - 1) * STRIDE_X + (S - 1) * DILATION_X + 1;
constexpr int THREADS = TX * TY;

extern __shared__ __align__(16) float shared[];

/* Channels c0 .. c0 + CC of the block's input, zero outside the image and past the group's last channel. */
static __device__ __forceinline__ void load_tile(float *to, const INPUT_T *input, int c0, int channels, int first_c, int y0, int x0, int C, int H, int W)
{
    for (int i = threadIdx.y * TX + threadIdx.x; i < CC * IN_H * IN_W; i += THREADS) {
        int c = NHWC ? i % CC : i / (IN_H * IN_W), pixel = NHWC ? i / CC : i % (IN_H * IN_W); /* neighbours in memory side by side */
        int y = y0 + pixel / IN_W, x = x0 + pixel % IN_W;
        bool inside = c0 + c < channels && y >= 0 && y < H && x >= 0 && x < W;
        to[c * (IN_H * IN_W) + pixel] = inside ? to_f32(input[at(first_c + c0 + c, y, x, C, H, W)]) : 0.0f;
    }
}

/* weights[c][r][s][KB] of the same channels. */
static __device__ __forceinline__ void load_weights(float *to, const INPUT_T *filter, int c0, int channels, int first_k, int last_k, int K)
{
    for (int i = threadIdx.y * TX + threadIdx.x; i < CC * R * S * KB; i += THREADS) {
        int k = i / (CC * R * S), rest = i % (CC * R * S);
        int c = rest / (R * S), tap = rest % (R * S);
        bool inside = c0 + c < channels && first_k + k < last_k;
        to[(c * R * S + tap) * KB + k] = inside ? to_f32(filter[filter_at(first_k + k, c0 + c, tap / S, tap % S, K, channels, R, S)]) : 0.0f;
    }
}

/* The thread's pixels of its channels: side by side in memory in NHWC, where they are whole; else one by one. */
static __device__ __forceinline__ void store(float sum[PX][KB], const float *bias, OUTPUT_T *output, int p0, int q0, int first_k, int last_k, int K, int P, int Q)
{
    int p = p0 + threadIdx.y;
    ABLATED_BEGIN
    if (WHOLE) {
        constexpr int V = KB * sizeof(OUTPUT_T) < 16 ? KB : 16 / sizeof(OUTPUT_T); /* up to 16 bytes per store */
#pragma unroll
        for (int j = 0; j < PX * KB; j += V) {
            int q = q0 + threadIdx.x + j / KB * TX, k = first_k + j % KB;
            pack<OUTPUT_T, V> out;
#pragma unroll
            for (int v = 0; v < V; v++)
                out.item[v] = from_f32<OUTPUT_T>(epilogue(sum[j / KB][j % KB + v], bias, k + v));
#ifdef ABLATE_STORE
#pragma unroll
            for (int v = 0; v < V; v++)
                ablated_sum += to_f32(out.item[v]);
#else
            if (p < P && q < Q)
                store_pack<OUTPUT_T, V>(output + at(k, p, q, K, P, Q), out);
#endif
        }
        ABLATED_END(output)
        return;
    }
#pragma unroll
    for (int j = 0; j < KB; j++)
#pragma unroll
        for (int i = 0; i < PX; i++) {
            int q = q0 + threadIdx.x + i * TX, k = first_k + j;
            if (p < P && q < Q && k < last_k)
                STORE(output[at(k, p, q, K, P, Q)], from_f32<OUTPUT_T>(epilogue(sum[i][j], bias, k)));
        }
    ABLATED_END(output)
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_general(const INPUT_T *input, const INPUT_T *filter, const float *bias, OUTPUT_T *output, int C, int H, int W, int K, int P, int Q, int pad, int groups,
             int k_blocks)
{
    float *weights = shared, *tile = shared + CC * R * S * KB;
    int n = blockIdx.z / (groups * k_blocks), group = blockIdx.z / k_blocks % groups;
    int channels = C / groups, first_k = group * (K / groups) + blockIdx.z % k_blocks * KB, last_k = (group + 1) * (K / groups);
    int q0 = blockIdx.x * TX * PX, p0 = blockIdx.y * TY;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    float sum[PX][KB];
#pragma unroll
    for (int i = 0; i < PX * KB; i++)
        sum[i / KB][i % KB] = 0.0f;
    ABLATED_WORD
    for (int c0 = 0; c0 < channels; c0 += CC) {
        __syncthreads(); /* the last channels' readers are done */
        load_tile(tile, input, c0, channels, group * channels, p0 * STRIDE_Y - pad, q0 * STRIDE_X - pad - PAD_MORE, C, H, W);
        load_weights(weights, filter, c0, channels, first_k, last_k, K);
        __syncthreads();
        for (int c = 0; c < CC; c++)
#pragma unroll(R * S <= 9 ? R : 1)
            for (int r = 0; r < R; r++)
#pragma unroll(R * S <= 9 ? S : 1)
                for (int s = 0; s < S; s++) {
                    const float *line = tile + (c * IN_H + threadIdx.y * STRIDE_Y + r * DILATION_Y) * IN_W + threadIdx.x * STRIDE_X + s * DILATION_X;
                    float x[PX];
#pragma unroll
                    for (int i = 0; i < PX; i++)
                        x[i] = line[i * TX * STRIDE_X];
#pragma unroll
                    for (int j = 0; j < KB; j += 4) {
                        float4 w = *reinterpret_cast<const float4 *>(weights + ((c * R + r) * S + s) * KB + j);
#ifdef ABLATE_MATHS
#pragma unroll
                        for (int i = 0; j == 0 && i < PX; i++)
                            ABLATED_MIX(x[i]);
                        ABLATED_MIX(w.x);
                        ABLATED_MIX(w.y);
                        ABLATED_MIX(w.z);
                        ABLATED_MIX(w.w);
                        continue;
#endif
#pragma unroll
                        for (int i = 0; i < PX; i++) {
                            sum[i][j] += x[i] * w.x;
                            sum[i][j + 1] += x[i] * w.y;
                            sum[i][j + 2] += x[i] * w.z;
                            sum[i][j + 3] += x[i] * w.w;
                        }
                    }
                }
    }
    ABLATED_WORD_TO(sum[0][0]);
    store(sum, bias, output, p0, q0, first_k, last_k, K, P, Q);
}
