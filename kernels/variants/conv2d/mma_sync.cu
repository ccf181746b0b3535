/* bench 1
op: conv2d
what: tensor cores by mma.sync - weights and a double-buffered halo tile in shared memory, taps by address
from: tiled_halo
needs:
  - groups == 1 and c % 16 == 0 and k % 8 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
  - 3 * stride_y + (r - 1) * dilation_y < 12   # rows of fragments that a warp holds in registers
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu, prelu]
claims: cc == 90 and max(stride_y, stride_x) == 1 and max(dilation_y, dilation_x) == 1 and c <= 32 and k <= 32 and n * p * q >= 65536
params:
  ROWS: {values: [auto, 8, 16], default: auto}     # of outputs in a tile, which is 16 wide; auto: 16 where two such tiles fit
  KB: {values: [auto, 32, 64], default: auto}      # output channels a block
let:
  pitch: 2 * c + 16
  tile_w: 15 * stride_x + (s - 1) * dilation_x + 1
  kb: select(KB == 'auto', select(k > 32 and r * s * 64 * pitch + 2 * tile_w * (7 * stride_y + (r - 1) * dilation_y + 1) * pitch <= smem_per_block_optin, 64, 32), KB)
  weights: r * s * kb * pitch
  rows: select(ROWS == 'auto', select(weights + 2 * tile_w * (15 * stride_y + (r - 1) * dilation_y + 1) * pitch <= smem_per_block_optin, 16, 8), ROWS)
  tile_h: (rows - 1) * stride_y + (r - 1) * dilation_y + 1
  smem: weights + 2 * tile_h * tile_w * pitch
  warp_rows: select(rows * kb >= 1024, 4, 2)       # eight warps where possible
  threads: 32 * (rows / warp_rows) * (kb / 32)
  tiles_x: ceil(q, 16)
  tiles_y: ceil(p, rows)
  tiles: n * tiles_y * tiles_x
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, threads)))
where:
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  PAD_MORE: pad_left - pad_top                     # of columns, beside that of rows
  TYPE: type(input)
  TILE_ROWS: rows
  BLOCK_K: kb
  WARP_ROWS: warp_rows
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
  EPI_SCALE: scale(epilogue)
  EPI_PRELU: select(has(prelu), k, 0)
specialise: [c, r, s, stride_y, stride_x, dilation_y, dilation_x]
prepare:
  - symbol: epi_slopes = slopes
    when: has(prelu)
steps:
  - kernel: conv_mma_sync
    grid: min(tiles, max(1, floor(per_sm * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, residual, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles
*/

/* What changed from tiled_halo: the multiply-adds. mma.m16n8k16 computes 2048 of them in one instruction of a warp, so all others must be rare.
 *
 *  - The convolution is a matrix product: rows are pixels, columns are output channels, and the depth is c * r * s. For one tap the rows of the left matrix
 *    are pixels of the halo tile, so the next tap is the same tile, read from a shifted address. No im2col matrix is ever stored.
 *  - A block keeps all weights of its output channels in shared memory and loops over tiles (persistent), so weights are read once a block. While it
 *    computes one tile, cp.async loads the next: 16 bytes each, straight to shared memory, zeros outside the image (that is the padding).
 *  - ldmatrix loads 16 bytes per lane into the layout of mma. Rows are pixels (or output channels), `2 * C + 16` bytes apart: an odd number of 16-byte
 *    pieces, so eight rows are in eight different bank groups, without the arithmetic of a swizzle: every tap and every 16 channels is a constant in the
 *    instruction.
 *  - A warp makes WARP_ROWS rows of 16 pixels by 32 channels. A fragment of pixels serves every filter row it belongs to, so for 3x3 it is loaded
 *    twice in 4 rows x 3 taps instead of three times; 12 ldmatrix feed 48 mma.
 *  - The columns of the product may be any permutation of the output channels. Column 8 * j + 2 * t + e holds channel 8 * t + 2 * j + e, so the eight sums
 *    of lane t of a quad for one pixel are eight adjacent channels: one 16-byte store, and a quad fills 64 bytes.
 *
 * Cost: 1 or 2 blocks per SM, so the double buffer hides latency, not other blocks; incomplete tiles waste up to a tile; C is a compile-time constant. The
 * limit is the rate of mma.sync itself, about 62 % of what wgmma reaches on the same H200 (wgmma_rows). */
#include "dense/mma_tile.cuh"

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv_mma_sync(const TYPE *input, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int H, int W, int K, int P, int Q, int pad,
              int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_k = warp % (BLOCK_K / 32) * 32, warp_row = warp / (BLOCK_K / 32) * WARP_ROWS;
    int k0 = blockIdx.y * BLOCK_K;
    unsigned weights = shared_address(shared), stages = weights + WEIGHT_BYTES;
    load_weights(filter, k0, K);

    /* What a lane's ldmatrix address adds: rows are pixels side by side; rows are output channels. */
    unsigned own_pixel = (warp_row * STRIDE_Y * TILE_W + lane % 16 * STRIDE_X) * PITCH + lane / 16 * 16;
    unsigned own_weight = (warp_k + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
    int k = k0 + warp_k + lane % 4 * 8; /* the eight channels that this lane stores */
    float own_bias[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        own_bias[i] = EPI_BIAS && k < K ? bias[filter_channel(k + i, K)] : 0.0f;

    int tile = blockIdx.x, stage = 0;
    auto load = [&](int t, int into) {
        int x = t % tiles_x, y = t / tiles_x % tiles_y, n = t / tiles_x / tiles_y;
        load_tile<TILE_H, TILE_W, WARPS>(stages + into * STAGE_BYTES, input + (size_t)n * C * H * W, y * TILE_ROWS * STRIDE_Y - pad, x * 16 * STRIDE_X - pad - PAD_MORE, H, W);
    };
    load(tile, 0);
    copy_async_commit();
    for (; tile < tiles; tile += gridDim.x, stage ^= 1) {
        if (tile + gridDim.x < tiles)
            load(tile + gridDim.x, stage ^ 1);
        copy_async_commit(); /* empty at the end, so that the wait below always means this tile */
        copy_async_wait<1>();
        __syncthreads();

        int q0 = tile % tiles_x * 16 + lane / 4, p0 = tile / tiles_x % tiles_y * TILE_ROWS + warp_row;
        size_t image = (size_t)(tile / tiles_x / tiles_y) * K * P * Q;
        pack<TYPE, 8> add[WARP_ROWS][2]; /* on its way while the tile is multiplied */
#pragma unroll
        for (int i = 0; EPI_RESIDUAL && i < WARP_ROWS * 2; i++)
            if (p0 + i / 2 < P && q0 + i % 2 * 8 < Q && k < K)
                add[i / 2][i % 2] = load_pack<TYPE, 8>(residual + image + place_of(p0 + i / 2, q0 + i % 2 * 8, k, K, Q));

        float sum[WARP_ROWS][4][4];
#pragma unroll
        for (int i = 0; i < WARP_ROWS * 16; i++)
            sum[i / 16][i / 4 % 4][i % 4] = 0.0f;
        multiply_tile(sum, stages + stage * STAGE_BYTES + own_pixel, weights + own_weight);

#pragma unroll
        for (int i = 0; i < WARP_ROWS; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                pack<TYPE, 8> out;
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    float x = sum[i][j / 2][half * 2 + j % 2] + own_bias[j];
                    out.item[j] = from_f32<TYPE>(activate_channel(EPI_RESIDUAL ? branch(x) + to_f32(add[i][half].item[j]) : x, k + j));
                }
                if (p0 + i < P && q0 + half * 8 < Q && k < K)
                    store_pack<TYPE, 8>(output + image + place_of(p0 + i, q0 + half * 8, k, K, Q), out);
            }
        __syncthreads(); /* this stage may be overwritten */
    }
}
