/* bench 1
op: conv2d
what: the first tensor-core version - 16x16x16 products by wmma, halo tile and weights of 16 channels at a time in shared memory
from: tiled_halo
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC}
dtype: {input: f16, output: f16, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
let:
  operands: 32 * ((7 + r) * (15 + s) + r * s * 64)
  smem: max(operands, 8 * 16 * 68 * 4)
where:
  - smem <= smem_per_block_optin
  - cc >= 75
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s]
steps:
  - kernel: conv_wmma
    grid: ceil(q, 16), ceil(p, 8), n * ceil(k, 64)
    block: 256
    smem: smem
    args: input, filter, bias, output, c, h, w, k, p, q, pad_top
*/

/* What changed from tiled_halo: the inner loop is a matrix product. Sixteen adjacent pixels are the rows of a 16x16 matrix, 16 input channels its columns; for
 * each tap it is multiplied with 16 channels by 16 output channels of the filter, 4096 multiply-adds in one instruction of a warp. The next tap is the same
 * tile at a shifted address, because a pixel's 16 channels are contiguous and pixels are a constant pitch apart, which is all that wmma requires.
 *
 * A warp computes a row of 16 pixels by 64 output channels, a block 8 rows.
 *
 * Cost, which mma_sync removes: wmma needs addresses that are multiples of 32 bytes, so no padding keeps 8
 * rows in different banks (they conflict in pairs); every load of channels is two barriers apart from its
 * use; operands go through registers on their way to shared memory; it is unspecified which lane holds which
 * sum, so the bias must be added in shared memory; a fragment of pixels is loaded again for every tap. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wmma.cuh"

constexpr int PITCH = 16; /* elements of a pixel, or of an output channel and tap */
constexpr int TILE_H = 7 + R, TILE_W = 15 + S;
constexpr int SUM_PITCH = 68; /* floats of a pixel's 64 sums, and 4 to spare */

extern __shared__ __align__(128) unsigned char shared[]; /* pixels, weights; at the end the sums of 8 warps */

/* Channels c0 .. c0 + 15 of the tile and of 64 output channels, 8 of them at a time; zeros outside. */
static __device__ __forceinline__ void load_channels(__half *tile, __half *weights, const __half *image, const __half *filter, int c0, int C, int y0, int x0, int H,
                                                     int W, int k0, int K)
{
    for (int i = threadIdx.x; i < TILE_H * TILE_W * 2; i += 256) {
        int pixel = i / 2, y = y0 + pixel / TILE_W, x = x0 + pixel % TILE_W;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (y >= 0 && y < H && x >= 0 && x < W)
            v = *reinterpret_cast<const uint4 *>(image + (size_t)(y * W + x) * C + c0 + i % 2 * 8);
        *reinterpret_cast<uint4 *>(tile + pixel * PITCH + i % 2 * 8) = v;
    }
    for (int i = threadIdx.x; i < R * S * 64 * 2; i += 256) {
        int k = i / 2 % 64, tap = i / 128;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (k0 + k < K)
            v = *reinterpret_cast<const uint4 *>(filter + ((size_t)(k0 + k) * (R * S) + tap) * C + c0 + i % 2 * 8);
        *reinterpret_cast<uint4 *>(weights + (tap * 64 + k) * PITCH + i % 2 * 8) = v;
    }
}

extern "C" __global__ void __launch_bounds__(256)
conv_wmma(const __half *input, const __half *filter, const float *bias, __half *output, int C, int H, int W, int K, int P, int Q, int pad)
{
    __half *tile = reinterpret_cast<__half *>(shared), *weights = tile + TILE_H * TILE_W * PITCH;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int blocks_k = (K + 63) / 64, k0 = blockIdx.z % blocks_k * 64, n = blockIdx.z / blocks_k;
    int p = blockIdx.y * 8 + warp, q0 = blockIdx.x * 16;
    input += (size_t)n * C * H * W;

    float sum[4][8];
#pragma unroll
    for (int i = 0; i < 32; i++)
        sum[i / 8][i % 8] = 0.0f;
    for (int c0 = 0; c0 < C; c0 += 16) {
        __syncthreads(); /* the readers of the last channels are done */
        load_channels(tile, weights, input, filter, c0, C, (int)blockIdx.y * 8 - pad, q0 - pad - PAD_MORE, H, W, k0, K);
        __syncthreads();
#pragma unroll
        for (int tap = 0; tap < R * S; tap++) {
            unsigned pixels[8];
            wmma_load_rows(pixels, wmma_address(tile + ((warp + tap / S) * TILE_W + tap % S) * PITCH), PITCH);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                unsigned channels[8];
                wmma_load_columns(channels, wmma_address(weights + (tap * 64 + j * 16) * PITCH), PITCH);
                wmma_multiply(sum[j], pixels, channels);
            }
        }
    }
    __syncthreads(); /* the operands are done with: their place is for the sums */
    float *sums = reinterpret_cast<float *>(shared) + warp * (16 * SUM_PITCH);
#pragma unroll
    for (int j = 0; j < 4; j++)
        wmma_store_rows(wmma_address(sums + j * 16), sum[j], SUM_PITCH);
    __syncwarp();
    if (p >= P)
        return;
    for (int i = lane; i < 16 * 64; i += 32) { /* neighbouring lanes, neighbouring channels */
        int k = k0 + i % 64, q = q0 + i / 64;
        if (k < K && q < Q)
            output[(((size_t)n * P + p) * Q + q) * K + k] = __float2half_rn(epilogue(sums[i / 64 * SUM_PITCH + i % 64], bias, k));
    }
}
