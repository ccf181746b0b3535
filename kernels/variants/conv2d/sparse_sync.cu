/* bench 1
what: mma_sync with a mask - a warp reads the mask of a tile, eight at a time; only active tiles are loaded, only active outputs are stored
like: mma_sync
needs:
  - stride_y * stride_x == 1 and (s - 1) * dilation_x <= 16        # 16 outputs look at 32 bits of a row
  - groups == 1 and c % 16 == 0 and k % 8 == 0 and c * h * w < 2147483648 and k * p * q < 2147483648
  - (r - 1) * dilation_y < 9                         # rows of fragments that a warp holds in registers
layout: {input: NHWC, filter: KRSC, output: NHWC, mask_in: bits, mask_out: bits}
epilogue: [bias, relu, leaky_relu]
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [rows, 16], weights: r * s * c * kb * size(filter)}
where:
  - smem + floor(threads, 8) * (rows + 1 + tile_h) <= smem_per_block_optin   # one word per row for each warp
  - cc >= 80
steps:
  - kernel: conv_sparse_sync
    grid: min(tiles, max(1, floor(per_sm * sm_count, ceil(k, kb)))), ceil(k, kb)
    block: threads
    smem: smem
    args: input, filter, bias, mask_in, mask_out, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles
*/

/* What changed from mma_sync: it reads the mask before it loads anything. A block loops over its tiles as there, a warp for each of the next eight: a lane has a row, 32 bits
 * of the tile's inputs; an output is active if one of those under its filter is marked, and that is the output's mask. Unused data is not loaded, weights included, and a block
 * without an active tile then ends.
 *
 * Unmarked inputs arrive as zeros, whatever is stored there, because the layer before did not overwrite them. With up to 32 channels a tile is so little work that
 * sparse_tile's search for a fair share takes longer than the products. */
#include "dense/mma_tile.cuh"
#include "element/mask_bits.cuh"

static __shared__ unsigned active[WARPS][TILE_ROWS + 1]; /* of the tiles that are looked at, a row's active outputs; behind them their OR */
static __shared__ unsigned marked[WARPS][TILE_H];        /* and a row's marked inputs, from the halo's first column on; none outside the image */

/* A warp looks at a tile, a lane at a row; the grid's first blocks write what they see. */
static __device__ __forceinline__ void look(const unsigned *mask_in, unsigned *mask_out, int tile, int H, int W, int P, int Q, int pad, int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = tile / tiles_x / tiles_y, p = tile / tiles_x % tiles_y * TILE_ROWS + lane, q0 = tile % tiles_x * 16;
    if (lane < TILE_H)
        marked[warp][lane] = tile < tiles ? mask_bits(mask_in + (size_t)n * H * ((W + 31) / 32), p - pad, q0 - pad - PAD_MORE, H, (W + 31) / 32) : 0;
    __syncwarp();
    unsigned bits = 0;
    if (tile < tiles && lane < TILE_ROWS && p < P) {
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int s = 0; s < S; s++)
                bits |= marked[warp][lane + r * DILATION_Y] >> (s * DILATION_X);
        bits &= Q - q0 < 16 ? (1u << (Q - q0)) - 1 : 0xffff;
        if (blockIdx.y == 0) {
            unsigned short *to = reinterpret_cast<unsigned short *>(mask_out + ((size_t)n * P + p) * ((Q + 31) / 32)) + q0 / 16;
            to[0] = (unsigned short)bits;
            if (q0 + 16 >= Q && q0 % 32 == 0)
                to[1] = 0; /* no tile of its own */
        }
    }
    if (lane < TILE_ROWS)
        active[warp][lane] = bits;
    unsigned any = __ballot_sync(~0u, bits != 0);
    if (lane == 0)
        active[warp][TILE_ROWS] = any;
}

/* dense/halo_tile's load of the marked pixels, the others as zeros: rows y0 .., columns x0 .. of an image. */
static __device__ __forceinline__ void load_marked(unsigned to, const TYPE *image, int y0, int x0, int width, const unsigned *rows)
{
    for (int row = threadIdx.x / 32; row < TILE_H; row += WARPS) {
        const TYPE *line = image + ((long long)(y0 + row) * width + x0) * C;
        unsigned bits = rows[row];
#pragma unroll
        for (int i = 0; i < TILE_W * PIECES; i += 32) {
            int e = i + threadIdx.x % 32;
            bool valid = e < TILE_W * PIECES && bits >> e / PIECES & 1;
            if (e < TILE_W * PIECES)
                copy_async_16(to + (row * TILE_W + e / PIECES) * PITCH + e % PIECES * 16, valid ? line + e * 8 : image, valid);
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv_sparse_sync(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, TYPE *output, int H, int W, int K, int P, int Q,
                 int pad, int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_k = warp % (BLOCK_K / 32) * 32, warp_row = warp / (BLOCK_K / 32) * WARP_ROWS;
    int k0 = blockIdx.y * BLOCK_K, k = k0 + warp_k + lane % 4 * 8; /* the eight channels that this lane stores */
    unsigned weights = shared_address(shared), stages = weights + WEIGHT_BYTES;
    unsigned own_pixel = (warp_row * TILE_W + lane % 16) * PITCH + lane / 16 * 16;
    unsigned own_weight = (warp_k + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 16;
    float own_bias[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        own_bias[i] = EPI_BIAS && k < K ? bias[filter_channel(k + i, K)] : 0.0f;

    int first = blockIdx.x;
    auto load = [&](int i, int into) {
        int t = first + i * gridDim.x, x = t % tiles_x, y = t / tiles_x % tiles_y, n = t / tiles_x / tiles_y;
        load_marked(stages + into * STAGE_BYTES, input + (size_t)n * C * H * W, y * TILE_ROWS - pad, x * 16 - pad - PAD_MORE, W, marked[i]);
    };
    bool weights_asked = false;
    for (; first < tiles; first += WARPS * gridDim.x) {
        look(mask_in, mask_out, first + warp * gridDim.x, H, W, P, Q, pad, tiles_x, tiles_y, tiles);
        __syncthreads();
        unsigned left = 0; /* of the WARPS tiles */
#pragma unroll
        for (int i = 0; i < WARPS; i++)
            left |= (unsigned)(active[i][TILE_ROWS] != 0) << i;
        if (left && !weights_asked)
            load_weights(filter, k0, K);
        weights_asked |= left != 0;
        int stage = 0;
        if (left)
            load(__ffs(left) - 1, 0);
        copy_async_commit();
        for (; left; stage ^= 1) {
            int now = __ffs(left) - 1, tile = first + now * gridDim.x;
            left &= left - 1;
            if (left)
                load(__ffs(left) - 1, stage ^ 1);
            copy_async_commit(); /* empty at the end, so that the wait below always means this tile */
            copy_async_wait<1>();
            __syncthreads();

            float sum[WARP_ROWS][4][4];
#pragma unroll
            for (int i = 0; i < WARP_ROWS * 16; i++)
                sum[i / 16][i / 4 % 4][i % 4] = 0.0f;
            multiply_tile(sum, stages + stage * STAGE_BYTES + own_pixel, weights + own_weight);

            int q0 = tile % tiles_x * 16 + lane / 4, p0 = tile / tiles_x % tiles_y * TILE_ROWS + warp_row;
            size_t image = (size_t)(tile / tiles_x / tiles_y) * K * P * Q;
#pragma unroll
            for (int i = 0; i < WARP_ROWS; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float x[8];
#pragma unroll
                    for (int j = 0; j < 8; j++)
                        x[j] = activate(sum[i][j / 2][half * 2 + j % 2] + own_bias[j]);
                    if (active[now][warp_row + i] >> (lane / 4 + half * 8) & 1 && k < K)
                        store_pack<TYPE, 8>(output + image + place_of(p0 + i, q0 + half * 8, k, K, Q), rounded<TYPE>(x));
                }
            __syncthreads(); /* this stage may be overwritten, and the marks */
        }
        __syncthreads();
    }
}
