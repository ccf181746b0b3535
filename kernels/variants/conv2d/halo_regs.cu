/* bench 1
op: conv2d
what: f32 without tensor cores - 8 pixels x 8 channels per thread in registers, three stages of halo tile and weights by cp.async
from: tiled_halo
needs:
  - stride == 1 and dilation == 1 and groups == 1 and s <= 9 and r <= 9
  - k % 4 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: [NHWC, NCHW], filter: CRSK, output: same, residual: same}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
epilogue: [bias, residual, relu, leaky_relu]
claims:
  - r * s == 1 and c >= 64 or layout == NHWC and c >= 16 and k >= 16 and k <= 32
  - cc == 90 and n * p * q >= 16384
params:
  TH: {values: [4, 8], default: 8}             # output rows of a tile, which is 32 wide
  KB: {values: [auto, 32, 64, 128], default: auto}     # output channels a block; auto: 64, or 32 where there are no more
  CC: {values: [4, 8], default: 8}             # input channels a stage
  STAGES: {values: [2, 3, 4], default: 3}
let:
  kb: select(KB == 'auto', select(k <= 32, 32, 64), KB)
  threads: TH * kb / 2
  th: TH + r - 1
  pitch: 4 * ceil(31 + s, 4) + select(ceil(31 + s, 4) % 2 == 0, 4, 0)      # floats; an odd number of 16-byte pieces
  plane: th * pitch + (4 - th * pitch) % 32                                # 4 mod 32
  smem: STAGES * 4 * (CC * plane + CC * r * s * kb)
where:
  - threads <= 512
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  BLOCK_K: kb
  NHWC: layout(input) == NHWC
  PITCH: pitch
  PLANE: plane
  VECTOR_ROW: q % 4 == 0
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
specialise: [r, s]
steps:
  - kernel: conv_halo_regs
    grid: ceil(q, 32), ceil(p, TH), n * ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, residual, output, c, h, w, k, p, q, pad_top
*/

/* What changed from tiled_halo: a thread makes 64 outputs, 8 pixels of a row by 8 channels, and both operands come from shared memory in 16-byte loads.
 * For each input channel and filter row it loads 8 + s - 1 pixels once, slides the s taps over them in registers, and loads 8 weights for each tap.
 * For 3x3 that is 9 loads for 192 multiply-adds; tiled_halo needs one load for 4.
 *
 *  - The tile is stored in planes, one a channel, so that 4 pixels are 16 bytes. From NHWC, cp.async of 4 bytes transposes it: 8 channels by 4 pixels of a warp go to banks 4
 *    * channel + pixel (PLANE is 4 mod 32). From NCHW the lanes are pixels.
 *  - A warp is 4 groups of 8 pixels by 2 rows by 4 groups of channels. PITCH is an odd number of 16-byte pieces: the two rows fall between each other's
 *    banks.
 *  - STAGES buffers of CC channels: copies for the next stages are in flight while this one is multiplied, one barrier per stage.
 *
 * Cost: 64 accumulators and about 110 registers in all, so at most 512 threads per SM. The filter must be in CRSK order, permuted once. The limit is the rate of FFMA: two of
 * its three operands are reused from registers, the best possible without tensor cores.
 *
 * Up to 32 output channels get blocks of 32, because otherwise half of every product would be wasted. On an H200 (cold, older code, reports/gallery/auto_grid-h200.md) 64->64
 * in f32 at 270 x 480 takes 244.4 us, 1.29 x the library, its 1x1 57.6 us, 1.99 x. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"
#include "element/tensor.cuh"

#define TILE_H (TH + R - 1)
#define TILE_W (31 + S)
#define THREADS (TH * BLOCK_K / 2)
#define WINDOW (4 * ((8 + S - 1 + 3) / 4)) /* pixels that a thread loads of a row: whole 16-byte pieces */
constexpr int INPUT_FLOATS = CC * PLANE, WEIGHT_FLOATS = CC * R * S * BLOCK_K, STAGE_FLOATS = INPUT_FLOATS + WEIGHT_FLOATS;

extern __shared__ __align__(16) float shared[]; /* [STAGES] of [CC][PLANE] pixels, [CC][R][S][BLOCK_K] weights */

static __device__ __forceinline__ void load_stage(float *stage, const float *image, const float *filter, int c0, int C, int y0, int x0, int H, int W, int k0,
                                                  int K)
{
    unsigned to = shared_address(stage);
    for (int i = threadIdx.x; i < CC * TILE_H * TILE_W; i += THREADS) {
        int c = NHWC ? i % CC : i / (TILE_H * TILE_W);
        int pixel = NHWC ? i / CC : i % (TILE_H * TILE_W);
        int row = pixel / TILE_W, column = pixel % TILE_W;
        int y = y0 + row, x = x0 + column;
        bool valid = c0 + c < C && y >= 0 && y < H && x >= 0 && x < W;
        copy_async_4(to + 4 * (c * PLANE + row * PITCH + column), image + (valid ? at(c0 + c, y, x, C, H, W) : 0), valid);
    }
    to += 4 * INPUT_FLOATS;
    for (int i = threadIdx.x; i < WEIGHT_FLOATS / 4; i += THREADS) {
        int k = i % (BLOCK_K / 4) * 4, rest = i / (BLOCK_K / 4); /* rest: (c, r, s) in the order of the filter */
        bool valid = k0 + k < K && c0 + rest / (R * S) < C;
        copy_async_16(to + 16 * i, filter + (valid ? ((size_t)c0 * (R * S) + rest) * K + k0 + k : 0), valid);
    }
}

/* Windows are loaded in whole 16-byte pieces, past a row's last pixel: what is never used is at least written. */
static __device__ __forceinline__ void clear_padding()
{
    for (int i = threadIdx.x; i < STAGES * CC * TILE_H * (PITCH - TILE_W); i += THREADS) {
        int column = TILE_W + i % (PITCH - TILE_W), row = i / (PITCH - TILE_W);
        shared[row / (CC * TILE_H) * STAGE_FLOATS + row / TILE_H % CC * PLANE + row % TILE_H * PITCH + column] = 0.0f;
    }
}

/* sum[pixel][channel] += the stage's CC channels. */
static __device__ __forceinline__ void multiply_stage(float sum[8][8], unsigned pixels, unsigned weights)
{
#pragma unroll 1
    for (int c = 0; c < CC; c++, pixels += 4 * PLANE, weights += 4 * R * S * BLOCK_K)
#pragma unroll
        for (int r = 0; r < R; r++) {
            float window[WINDOW];
#pragma unroll
            for (int i = 0; i < WINDOW; i += 4)
                load_shared_4(window + i, pixels + 4 * (r * PITCH + i));
#pragma unroll
            for (int s = 0; s < S; s++) {
                float tap[8];
                load_shared_4(tap, weights + 4 * (r * S + s) * BLOCK_K);
                load_shared_4(tap + 4, weights + 4 * ((r * S + s) * BLOCK_K + 4));
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++)
                        sum[i][j] += window[i + s] * tap[j];
            }
        }
}

/* Four neighbours of the output, starting at element e. */
static __device__ __forceinline__ void store_4(float *output, const float *residual, size_t e, const float sum[4], const float bias[4])
{
    pack<float, 4> add, out;
    if (EPI_RESIDUAL)
        add = load_pack<float, 4>(residual + e);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float x = EPI_BIAS ? sum[i] + bias[i] : sum[i];
        out.item[i] = activate(EPI_RESIDUAL ? branch(x) + add.item[i] : x);
    }
    store_pack<float, 4>(output + e, out);
}

/* The 8x8 outputs from (k, p, q) on, as far as they are in the image. K is a multiple of 4. */
static __device__ __forceinline__ void store_nhwc(float *output, const float *residual, const float *bias, const float sum[8][8], int k, int p, int q, int K,
                                                  int Q)
{
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
        float own_bias[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            own_bias[i] = k + j < K ? bias_of(bias, k + j + i) : 0.0f;
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (q + i < Q && k + j < K)
                store_4(output, residual, ((size_t)p * Q + q + i) * K + k + j, &sum[i][j], own_bias);
    }
}
static __device__ __forceinline__ void store_nchw(float *output, const float *residual, const float *bias, const float sum[8][8], int k, int p, int q, int K,
                                                  int P, int Q)
{
#pragma unroll
    for (int j = 0; j < 8; j++) {
        if (k + j >= K)
            return;
        size_t line = ((size_t)(k + j) * P + p) * Q + q;
        float b = bias_of(bias, k + j);
        const float same[4] = {b, b, b, b};
#pragma unroll
        for (int i = 0; i < 8; i += 4) {
            const float four[4] = {sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]};
            if (VECTOR_ROW) { /* Q is a multiple of 4: all or none, and aligned */
                if (q + i < Q)
                    store_4(output, residual, line + i, four, same);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (q + i + e < Q) {
                        float x = four[e] + b;
                        output[line + i + e] = activate(EPI_RESIDUAL ? branch(x) + residual[line + i + e] : x);
                    }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, THREADS <= 256 ? 512 / THREADS : 1)
conv_halo_regs(const float *input, const float *filter, const float *bias, const float *residual, float *output, int C, int H, int W, int K, int P, int Q,
               int pad)
{
    clear_padding();
    int blocks_k = (K + BLOCK_K - 1) / BLOCK_K;
    int k0 = blockIdx.z % blocks_k * BLOCK_K, n = blockIdx.z / blocks_k;
    int p0 = blockIdx.y * TH, q0 = blockIdx.x * 32;
    input += (size_t)n * C * H * W;

    /* A warp: 4 groups of 8 pixels, 2 rows, 4 groups of 8 channels. */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int column = lane % 4 * 8, row = warp % (TH / 2) * 2 + lane / 4 % 2, k = (warp / (TH / 2) * 4 + lane / 8) * 8;

    int stages = (C + CC - 1) / CC;
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < stages)
            load_stage(shared + i * STAGE_FLOATS, input, filter, i * CC, C, p0 - pad, q0 - pad - PAD_MORE, H, W, k0, K);
        copy_async_commit();
    }
    float sum[8][8];
#pragma unroll
    for (int i = 0; i < 64; i++)
        sum[i / 8][i % 8] = 0.0f;
    for (int i = 0; i < stages; i++) {
        copy_async_wait<STAGES - 2>();
        __syncthreads(); /* stage i has arrived for all, and all have left the buffer that is filled next */
        int next = i + STAGES - 1;
        if (next < stages)
            load_stage(shared + next % STAGES * STAGE_FLOATS, input, filter, next * CC, C, p0 - pad, q0 - pad - PAD_MORE, H, W, k0, K);
        copy_async_commit();
        unsigned stage = shared_address(shared + i % STAGES * STAGE_FLOATS);
        multiply_stage(sum, stage + 4 * (row * PITCH + column), stage + 4 * (INPUT_FLOATS + k));
    }
    size_t image = (size_t)n * K * P * Q;
    if (p0 + row >= P)
        return;
    if (NHWC)
        store_nhwc(output + image, residual + image, bias, sum, k0 + k, p0 + row, q0 + column, K, Q);
    else
        store_nchw(output + image, residual + image, bias, sum, k0 + k, p0 + row, q0 + column, K, P, Q);
}
