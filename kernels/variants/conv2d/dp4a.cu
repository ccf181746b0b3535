/* bench 1
op: conv2d
what: 8-bit whole numbers without tensor cores - dp4a, four products and their sum in one instruction, on a halo tile in shared memory; sm_61 and later
from: general_tiled
needs: groups == 1 and c % 4 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: i8, filter: i8, output: f32, bias: f32, accumulate: i32}
math: [i8_acc32]
epilogue: [bias, relu, leaky_relu]
params:
  TX: {values: [8, 16, 32], default: 16}           # threads along x and along y: a tile of TX * PX by TY outputs
  TY: {values: [4, 8, 16], default: 8}
  PX: {values: [1, 2, 4], default: 4}              # pixels a thread, TX apart
  KB: {values: [4, 8, 16], default: 8}             # output channels a thread, and a block
  CC: {values: [1, 2, 4, 8], default: 4}           # words of 4 channels in shared memory at a time
let:
  in_h: (TY - 1) * stride_y + (r - 1) * dilation_y + 1
  in_w: (TX * PX - 1) * stride_x + (s - 1) * dilation_x + 1
  tile_smem: CC * in_h * in_w
  weights: CC * r * s * KB
  smem: 4 * (weights + tile_smem)
where:
  - TX * TY >= 64
  - PX * KB <= 64                                  # sums a thread
  - 4 * (weights + tile_smem) <= smem_per_block_optin
predict: {threads: TX * TY, smem: smem, registers: PX * KB + PX + KB}
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
  WHOLE: k % KB == 0                               # a thread's channels of a pixel are one aligned piece of memory
specialise: [r, s, stride_y, stride_x, dilation_y, dilation_x]
steps:
  - kernel: conv_dp4a
    grid: ceil(q, TX * PX), ceil(p, TY), n * ceil(k, KB)
    block: TX, TY
    smem: smem
    args: input, filter, bias, output, c / 4, h, w, k, p, q, pad_top
*/

/* What changed from general_tiled: a word is four channels. __dp4a(a, b, sum) multiplies the four pairs of bytes of two words and adds them to a 32-bit sum: an instruction of the
 * integer pipe for four multiply-adds, and every load, in memory and in shared memory, brings four channels. The sums are exact; the only rounding is the change to f32 at the store.
 *
 * Cost: half the chip's rate of f32 in instructions, four products each: twice the multiply-adds of f32, where tensor cores (mma_sync_s8) have 32 times. But it only needs c % 4 ==
 * 0, and runs on Pascal. */
#include "element/element.cuh"
#include "element/epilogue.cuh"

constexpr int IN_H = (TY - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, IN_W = (TX * PX - 1) * STRIDE_X + (S - 1) * DILATION_X + 1;
constexpr int THREADS = TX * TY;

extern __shared__ __align__(16) int shared[];

/* C: words of a pixel. Zero outside the image and past the last word. */
static __device__ __forceinline__ void load_tile(int *to, const int *input, int c0, int y0, int x0, int C, int H, int W)
{
    for (int i = threadIdx.y * TX + threadIdx.x; i < CC * IN_H * IN_W; i += THREADS) {
        int c = i % CC, pixel = i / CC, y = y0 + pixel / IN_W, x = x0 + pixel % IN_W;
        bool inside = c0 + c < C && y >= 0 && y < H && x >= 0 && x < W;
        to[c * (IN_H * IN_W) + pixel] = inside ? input[(y * W + x) * C + c0 + c] : 0;
    }
}

/* weights[c][r][s][KB] of the same words. */
static __device__ __forceinline__ void load_weights(int *to, const int *filter, int c0, int first_k, int C, int K)
{
    for (int i = threadIdx.y * TX + threadIdx.x; i < CC * R * S * KB; i += THREADS) {
        int c = i % CC, tap = i / CC % (R * S), k = i / CC / (R * S);
        bool inside = c0 + c < C && first_k + k < K;
        to[(c * R * S + tap) * KB + k] = inside ? filter[((first_k + k) * (R * S) + tap) * C + c0 + c] : 0;
    }
}

static __device__ __forceinline__ void store(const int sum[PX][KB], const float *bias, float *output, int p, int q0, int first_k, int K, int P, int Q)
{
#pragma unroll
    for (int i = 0; i < PX; i++) {
        int q = q0 + i * TX;
        if (p >= P || q >= Q)
            continue;
        float *pixel = output + (p * Q + q) * K + first_k;
#pragma unroll
        for (int j = 0; j < KB; j += 4) {
            pack<float, 4> out;
#pragma unroll
            for (int v = 0; v < 4; v++)
                out.item[v] = WHOLE || first_k + j + v < K ? epilogue((float)sum[i][j + v], bias, first_k + j + v) : 0.0f;
            if (WHOLE) {
                store_pack<float, 4>(pixel + j, out);
                continue;
            }
#pragma unroll
            for (int v = 0; v < 4; v++)
                if (first_k + j + v < K)
                    pixel[j + v] = out.item[v];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_dp4a(const int *input, const int *filter, const float *bias, float *output, int C, int H, int W, int K, int P, int Q, int pad)
{
    int *weights = shared, *tile = shared + CC * R * S * KB;
    int k_blocks = (K + KB - 1) / KB, n = blockIdx.z / k_blocks, first_k = blockIdx.z % k_blocks * KB;
    int q0 = blockIdx.x * TX * PX, p0 = blockIdx.y * TY;
    input += (size_t)n * C * H * W;
    output += (size_t)n * K * P * Q;

    int sum[PX][KB];
#pragma unroll
    for (int i = 0; i < PX * KB; i++)
        sum[i / KB][i % KB] = 0;
    for (int c0 = 0; c0 < C; c0 += CC) {
        __syncthreads(); /* the last words' readers are done */
        load_tile(tile, input, c0, p0 * STRIDE_Y - pad, q0 * STRIDE_X - pad - PAD_MORE, C, H, W);
        load_weights(weights, filter, c0, first_k, C, K);
        __syncthreads();
        for (int c = 0; c < CC; c++)
#pragma unroll(R * S <= 9 ? R : 1)
            for (int r = 0; r < R; r++)
#pragma unroll(R * S <= 9 ? S : 1)
                for (int s = 0; s < S; s++) {
                    const int *line = tile + (c * IN_H + threadIdx.y * STRIDE_Y + r * DILATION_Y) * IN_W + threadIdx.x * STRIDE_X + s * DILATION_X;
                    int x[PX];
#pragma unroll
                    for (int i = 0; i < PX; i++)
                        x[i] = line[i * TX * STRIDE_X];
#pragma unroll
                    for (int j = 0; j < KB; j += 4) {
                        int4 w = *reinterpret_cast<const int4 *>(weights + ((c * R + r) * S + s) * KB + j);
#pragma unroll
                        for (int i = 0; i < PX; i++) {
                            sum[i][j] = __dp4a(x[i], w.x, sum[i][j]);
                            sum[i][j + 1] = __dp4a(x[i], w.y, sum[i][j + 1]);
                            sum[i][j + 2] = __dp4a(x[i], w.z, sum[i][j + 2]);
                            sum[i][j + 3] = __dp4a(x[i], w.w, sum[i][j + 3]);
                        }
                    }
                }
    }
    store(sum, bias, output, p0 + threadIdx.y, q0 + threadIdx.x, first_k, K, P, Q);
}
