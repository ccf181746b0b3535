/* bench 1
what: mma_any in f32 - the same tiles by fused multiply-adds, a grid of pixels by channels a thread
like: mma_any
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
math: [f32]
claims:
  - cc == 90 and (layout == NHWC or c >= 4 or n * p * q < 8192)
  - products <= 100000000 or layout == NHWC and r * s == 1 and products <= 300000000 or n * p * q <= 1024 and r * s == 1 and k <= 192 and products <= 200000000
  - layout == NHWC or n == 1 or n * p * q <= 8 and products <= 20000000 or n * p * q > 32 and (products <= 20000000 or n * p * q <= 1024 or c <= 256 and n * p * q <= 4096)
params:
  KB: {values: [auto, 16, 32, 64, 128], default: auto}
  TALL: null
  EACH: {values: [auto, 16, 32, 64], default: auto}         # channels of a warp; its pixels are 32
let:
  each: select(EACH == 'auto', wide, EACH)
  lanes_k: select(each == 16, 4, 8)                         # lanes side by side over channels
  warps_m: tile / 32
  warps_n: ceil(ceil(k, blocks_k), each)
  kb: each * warps_n
  direct: nhwc and deep == 1 and store == 4
candidates:
  cut:
    rows:
      broad:   {pixels: 128, wide: 64, widest: 128, share: 1}
      half:    {pixels: 64, wide: 32, widest: 64, share: 2}
      quarter: {pixels: 32, wide: 32, widest: 64, share: 4}
      least:   {pixels: 32, wide: 16, widest: 32, share: 4}
    least: ceil(tiles * blocks_k, sm_count) * (ceil(steps * step_pieces * tile * kb, 8) + 2000)
define:
  LANES_K: lanes_k
  EACH_K: each / lanes_k
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
  - kernel: arrange_weights
    grid: ceil(blocks_k * steps * step_pieces * kb * 4, 256)
    block: 256
    args: filter, weights, k, blocks_k * steps * step_pieces * kb * 4
steps:
  - kernel: conv_fma_any
    grid: tiles, blocks_k
    block: 32 * warps_m * warps_n * deep
    smem: smem
    args: input, weights, bias, residual, output, images, select(flat, 1, h), select(flat, columns, w), k, rows, columns, pad_top, tiles_x, tiles_y
*/

/* What changed from mma_any: the FMA pipe multiplies. A piece is four channels of a pixel; a thread has 4 or 8 pixels and as many channels or half. So a piece of each pixel and
 * four weights for each channel, both in loads of 16 bytes, serve 64 to 256 multiply-adds. Adjacent lanes have adjacent pixels, whose pieces are in different banks, or adjacent
 * channels, which are one line; all others read the same address.
 *
 * halo_regs and winograd are faster with many pixels and channels; this one is for what they do not support: strides, dilations, few pixels, any number of channels. */
#include "dense/any_tile.cuh"

constexpr int LANES_P = 32 / LANES_K, EACH_P = 32 / LANES_P, VECTORS = EACH_K / 4;

struct fma_sums {
    float sum[EACH_P][EACH_K];
    int lane_p, lane_k, m0, k0;
    __device__ __forceinline__ fma_sums(int warp_m, int warp_n)
    {
        lane_p = threadIdx.x % LANES_P;
        lane_k = threadIdx.x % 32 / LANES_P;
        m0 = warp_m * 32 + lane_p;
        k0 = warp_n * (LANES_K * EACH_K) + lane_k * 4;
#pragma unroll
        for (int i = 0; i < EACH_P * EACH_K; i++)
            sum[i / EACH_K][i % EACH_K] = 0.0f;
    }

    template <int FIRST> __device__ __forceinline__ void multiply(unsigned halo, unsigned weights)
    {
        unsigned pixels[EACH_P];
#pragma unroll
        for (int i = 0; i < EACH_P; i++) {
            int m = m0 + i * LANES_P;
            pixels[i] = halo + OUTPUT_AT(m);
        }
        weights += k0 * 4;
#pragma unroll 1
        for (int t = FIRST; t < STEP_PIECES; t += WARPS_D) {
            int own = piece_at(t);
            float x[EACH_P][4];
#pragma unroll
            for (int i = 0; i < EACH_P; i++)
                load_shared_4(x[i], pixels[i] + own);
#pragma unroll
            for (int c = 0; c < 4; c++) {
                float w[EACH_K];
#pragma unroll
                for (int g = 0; g < VECTORS; g++)
                    load_shared_4(w + g * 4, weights + ((t * 4 + c) * BLOCK_K + g * 4 * LANES_K) * 4);
#pragma unroll
                for (int i = 0; i < EACH_P; i++)
#pragma unroll
                    for (int j = 0; j < EACH_K; j++)
                        sum[i][j] += x[i][c] * w[j];
            }
        }
    }

    /* Sum j is of channel k0 + this. */
    static __device__ __forceinline__ int further(int j) { return j / 4 * 4 * LANES_K + j % 4; }

    __device__ __forceinline__ void stage(float *to) const
    {
#pragma unroll
        for (int i = 0; i < EACH_P; i++)
#pragma unroll
            for (int j = 0; j < EACH_K; j++) {
                int m = m0 + i * LANES_P, k = k0 + further(j);
                to[NHWC ? m * SUMS_PITCH + k : k * SUMS_PITCH + m] = sum[i][j];
            }
    }

    __device__ __forceinline__ void store(unsigned biases, const TYPE *residual, TYPE *output, int p0, int q0, int block_k, int K, int P, int Q) const
    {
#pragma unroll
        for (int g = 0; g < VECTORS; g++) {
            int k = block_k + k0 + further(g * 4);
            if (k >= K)
                continue;
            float own_bias[4] = {};
            if (EPI_BIAS)
                load_shared_4(own_bias, biases + (k - block_k) * 4);
#pragma unroll
            for (int i = 0; i < EACH_P; i++) {
                int m = m0 + i * LANES_P, p = p0 + m / TILE_W, q = q0 + m % TILE_W;
                if (p >= P || q >= Q)
                    continue;
                float x[4] = {sum[i][g * 4], sum[i][g * 4 + 1], sum[i][g * 4 + 2], sum[i][g * 4 + 3]};
                finish_pixel(x, own_bias, residual, output, p, q, k, K, Q);
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(256) arrange_weights(const TYPE *filter, TYPE *weights, int K, int elements)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < elements)
        weights[i] = weight_of(filter, i / BLOCK_K / 4, i % BLOCK_K, i / BLOCK_K % 4, K);
}

extern "C" __global__ void __launch_bounds__(THREADS)
conv_fma_any(const TYPE *input, const TYPE *weights, const float *bias, const TYPE *residual, TYPE *output, int images, int H, int W, int K, int P, int Q, int pad,
             int tiles_x, int tiles_y)
{
    convolve_any<fma_sums>(input, weights, bias, residual, output, images, H, W, K, P, Q, pad, tiles_x, tiles_y);
}
