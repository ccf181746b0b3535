/* bench 1
op: conv2d
what: tensor cores for up to 8 output channels - weights stationary in registers, the halo tile streams through shared memory
from: mma_sync
needs:
  - groups == 1 and k <= 8 and c % 16 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
  - r * s * c <= 640                         # weights: one register for 8 of them
  - 3 * stride_y + (r - 1) * dilation_y < 12   # rows of fragments that a warp holds in registers
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
params:
  ROWS: {values: [8, 16], default: 16}             # of outputs in a tile, which is 16 wide
let:
  pitch: 2 * c + 16
  tile_w: 15 * stride_x + (s - 1) * dilation_x + 1
  tile_h: (ROWS - 1) * stride_y + (r - 1) * dilation_y + 1
  smem: 2 * tile_h * tile_w * pitch
  threads: 8 * ROWS
  tiles_x: ceil(q, 16)
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_y * tiles_x
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, threads)))
where:
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
specialise: [c, k, r, s, stride_y, stride_x, dilation_y, dilation_x]
steps:
  - kernel: conv_mma_few_out
    grid: min(tiles, per_sm * sm_count)
    block: threads
    smem: smem
    args: input, filter, bias, residual, output, h, w, p, q, pad_top, tiles_x, tiles_y, tiles
*/

/* What changed from mma_sync: the shape. A last layer computes 3 channels from 64 or 16. Its work is reading the input (64 -> 3 at 1440p on an H200: seven times as long as the products), and a tile of 64 or even 32 output channels would be mostly zeros.
 *
 *  - The product has 8 columns, the narrowest there is, so 3 of 8 are used. That is
 *    still a tenth of what the tensor cores can do in the time that the input needs.
 *  - All weights are r * s * c / 8 registers per lane (72 for 3x3 and 64 channels), loaded once; shared memory holds pixels only, and two or more blocks
 *    fit an SM, so that one computes while the other waits.
 *  - A warp computes 4 rows of 16 pixels. A fragment of pixels is loaded once for all filter rows: 6 rows for 4 x 3 products.
 *
 * Stores are 2 bytes per lane, contiguous across the warp: 4 % of the traffic here. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "dense/halo_tile.cuh"

constexpr int WARP_ROWS = 4, WARPS = ROWS / WARP_ROWS;
constexpr int TILE_H = (ROWS - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
constexpr int TILE_W = 15 * STRIDE_X + (S - 1) * DILATION_X + 1;
constexpr int STAGE_BYTES = TILE_H * TILE_W * PITCH;
constexpr int FRAGMENT_ROWS = (WARP_ROWS - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;

extern __shared__ __align__(128) unsigned char shared[];

/* Weights of channels c, c + 1 and c + 8, c + 9 of output channel lane / 4, c = 2 * (lane % 4): the right operand of one product. */
static __device__ __forceinline__ void load_weights(unsigned held[R * S][C / 16][2], const TYPE *filter)
{
    int k = threadIdx.x % 32 / 4, c = threadIdx.x % 4 * 2;
#pragma unroll
    for (int tap = 0; tap < R * S; tap++)
#pragma unroll
        for (int i = 0; i < C / 8; i++)
            held[tap][i / 2][i % 2] = k < K ? *reinterpret_cast<const unsigned *>(filter + (k * (R * S) + tap) * C + i * 8 + c) : 0;
}

static __device__ __forceinline__ void multiply_tile(float sum[WARP_ROWS][4], unsigned pixels, const unsigned held[R * S][C / 16][2])
{
#pragma unroll
    for (int s = 0; s < S; s++)
#pragma unroll
        for (int c = 0; c < C / 16; c++) {
            unsigned a[FRAGMENT_ROWS][4];
#pragma unroll
            for (int row = 0; row < FRAGMENT_ROWS; row++)
                load_matrix_4(a[row], pixels + (row * TILE_W + s * DILATION_X) * PITCH + c * 32);
#pragma unroll
            for (int r = 0; r < R; r++)
#pragma unroll
                for (int i = 0; i < WARP_ROWS; i++)
                    multiply_16x8x16<TYPE>(sum[i], a[i * STRIDE_Y + r * DILATION_Y], held[r * S + s][c]);
        }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv_mma_few_out(const TYPE *input, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int H, int W, int P, int Q, int pad,
                 int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * WARP_ROWS;
    unsigned stages = shared_address(shared);
    unsigned own_pixel = (warp_row * STRIDE_Y * TILE_W + lane % 16 * STRIDE_X) * PITCH + lane / 16 * 16;
    unsigned held[R * S][C / 16][2];
    load_weights(held, filter);
    int k = lane % 4 * 2; /* the lane's columns: k and k + 1 */
    float own_bias[2] = {EPI_BIAS && k < K ? bias[k] : 0.0f, EPI_BIAS && k + 1 < K ? bias[k + 1] : 0.0f};

    int tile = blockIdx.x, stage = 0;
    auto load = [&](int t, int into) {
        int x = t % tiles_x, y = t / tiles_x % tiles_y, n = t / tiles_x / tiles_y;
        load_tile<TILE_H, TILE_W, WARPS>(stages + into * STAGE_BYTES, input + (size_t)n * C * H * W, y * ROWS * STRIDE_Y - pad, x * 16 * STRIDE_X - pad - PAD_MORE, H, W);
    };
    load(tile, 0);
    copy_async_commit();
    for (; tile < tiles; tile += gridDim.x, stage ^= 1) {
        if (tile + gridDim.x < tiles)
            load(tile + gridDim.x, stage ^ 1);
        copy_async_commit(); /* empty at the end, so that the wait below always means this tile */
        copy_async_wait<1>();
        __syncthreads();

        float sum[WARP_ROWS][4];
#pragma unroll
        for (int i = 0; i < WARP_ROWS * 4; i++)
            sum[i / 4][i % 4] = 0.0f;
        multiply_tile(sum, stages + stage * STAGE_BYTES + own_pixel, held);
        __syncthreads(); /* this stage may be overwritten */

        int q0 = tile % tiles_x * 16 + lane / 4, p0 = tile / tiles_x % tiles_y * ROWS + warp_row;
        size_t image = (size_t)(tile / tiles_x / tiles_y) * K * P * Q;
#pragma unroll
        for (int i = 0; i < WARP_ROWS; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int p = p0 + i, q = q0 + j / 2 * 8, own = k + j % 2;
                if (p >= P || q >= Q || own >= K)
                    continue;
                size_t e = image + ((size_t)p * Q + q) * K + own;
                float x = sum[i][j] + own_bias[j % 2];
                output[e] = from_f32<TYPE>(activate(EPI_RESIDUAL ? branch(x) + to_f32(residual[e]) : x));
            }
    }
}
