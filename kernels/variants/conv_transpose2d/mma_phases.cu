/* bench 1
op: conv_transpose2d
what: tensor cores for few output channels - all phases are the columns of one product, the halo tile streams through shared memory
from: phases
needs:
  - groups == 1 and dilation == 1 and c % 8 == 0 and k * stride * stride <= 8
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: RSCK, output: NHWC}
dtype: {input: [f16, bf16], output: same, bias: f32, accumulate: f32}
algorithm: implicit_gemm
epilogue: [bias, relu, leaky_relu]
params:
  ROWS: {values: [8, 16], default: 16}             # of a tile of input positions, which is 16 wide
let:
  taps_r: ceil(r, stride)                          # of one phase
  taps_s: ceil(s, stride)
  chunks: ceil(c, 16)
  tile_bytes: (ROWS - 1 + taps_r) * (15 + taps_s) * (32 * chunks + 16)
  smem: 2 * tile_bytes + taps_r * taps_s * chunks * 256
  first: floor(pad, stride)                        # input position of the first output
  tiles_x: ceil(floor(q - 1 + pad, stride) - first + 1, 16)
  tiles_y: ceil(floor(p - 1 + pad, stride) - first + 1, ROWS)
  tiles: n * tiles_y * tiles_x
  threads: 8 * ROWS
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, threads)))
where:
  - taps_r <= 8                                    # rows of fragments that a warp holds in registers
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  TYPE: type(input)
  EPI_BIAS: has(bias)
  EPI_SLOPE: slope(epilogue)
specialise: [c, k, r, s, stride]
steps:
  - kernel: conv_mma_phases
    grid: min(tiles, per_sm * sm_count)
    block: threads
    smem: smem
    args: input, filter, bias, output, h, w, p, q, pad, first, tiles_x, tiles_y, tiles
*/

/* What changed from phases: the products. Output (stride * u + a - pad, stride * v + b - pad) sums over input (u - t, v - tt) with filter (a + stride * t,
 * b + stride * tt): for all phases (a, b) the same inputs. So the phases and channels are columns of one product, at most the 8 that the instruction has, over
 * ceil(r / stride) x ceil(s / stride) taps; where a phase has no such tap its weight is zero. It is the convolution in front of a depth_to_space, with the
 * depth_to_space in the store.
 *
 *  - 9x9 taps of stride 2 are 5x5 taps of four columns: in FSRCNN's last layer, 56 -> 1 channels, half of the columns and an eighth of the depth are zeros, and still a
 *    tensor core computes in one instruction what `phases` computes in 2048 multiply-adds of one thread each.
 *  - The weights of 5x5x64 are 200 registers per lane: they are in shared memory in the order of the instruction's fragments, and each serves four rows of pixels.
 *  - Channels are padded to 16 in shared memory with zeros, because a zero weight times a NaN is NaN.
 *
 * That layer at 540 x 960 takes 81.6 us on an H200 (cold, older code; reports/networks/fsrcnn-h200.md). The next thing to try is more warps: one block of four fits an SM. */
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "dense/halo_tile.cuh"

constexpr int TAPS_R = (R + STRIDE - 1) / STRIDE, TAPS_S = (S + STRIDE - 1) / STRIDE, CHUNKS = (C + 15) / 16;
constexpr int WARP_ROWS = 4, WARPS = ROWS / WARP_ROWS, FRAGMENT_ROWS = WARP_ROWS - 1 + TAPS_R;
constexpr int TILE_H = ROWS - 1 + TAPS_R, TILE_W = 15 + TAPS_S, STAGE_BYTES = TILE_H * TILE_W * PITCH;

extern __shared__ __align__(128) unsigned char shared[];

/* weights[tap][chunk][lane][4]: channels c, c + 1, c + 8, c + 9 of column lane / 4, c = 2 * (lane % 4); column = (phase row * stride + phase column) * k + channel. */
static __device__ __forceinline__ void order_weights(TYPE *weights, const TYPE *filter)
{
    for (int i = threadIdx.x; i < TAPS_R * TAPS_S * CHUNKS * 128; i += 32 * WARPS) {
        int e = i % 4, lane = i / 4 % 32, chunk = i / 128 % CHUNKS, tap = i / 128 / CHUNKS;
        int column = lane / 4, c = chunk * 16 + e / 2 * 8 + lane % 4 * 2 + e % 2;
        int r = column / K / STRIDE + (TAPS_R - 1 - tap / TAPS_S) * STRIDE, s = column / K % STRIDE + (TAPS_S - 1 - tap % TAPS_S) * STRIDE;
        bool any = column < K * STRIDE * STRIDE && c < C && r < R && s < S;
        weights[i] = any ? filter[((r * S + s) * C + c) * K + column % K] : from_f32<TYPE>(0.0f);
    }
}

static __device__ __forceinline__ void multiply_tile(float sum[WARP_ROWS][4], unsigned pixels, const uint2 *weights)
{
#pragma unroll
    for (int s = 0; s < TAPS_S; s++)
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            unsigned a[FRAGMENT_ROWS][4];
#pragma unroll
            for (int row = 0; row < FRAGMENT_ROWS; row++)
                load_matrix_4(a[row], pixels + (row * TILE_W + s) * PITCH + chunk * 32);
#pragma unroll
            for (int r = 0; r < TAPS_R; r++) {
                uint2 w = weights[((r * TAPS_S + s) * CHUNKS + chunk) * 32];
                unsigned b[2] = {w.x, w.y};
#pragma unroll
                for (int i = 0; i < WARP_ROWS; i++)
                    multiply_16x8x16<TYPE>(sum[i], a[i + r], b);
            }
        }
}

/* The lane's sums of rows u .. and columns v, v + 8, as pixels of the output. */
static __device__ __forceinline__ void store_tile(const float sum[WARP_ROWS][4], TYPE *output, const float *bias, int u, int v, int P, int Q, int pad)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int column = threadIdx.x % 4 * 2 + j % 2, q = (v + j / 2 * 8) * STRIDE + column / K % STRIDE - pad;
        if (column >= K * STRIDE * STRIDE || q < 0 || q >= Q)
            continue;
        float own_bias = bias_of(bias, column % K);
#pragma unroll
        for (int i = 0; i < WARP_ROWS; i++) {
            int p = (u + i) * STRIDE + column / K / STRIDE - pad;
            if (p >= 0 && p < P)
                output[((size_t)p * Q + q) * K + column % K] = from_f32<TYPE>(activate(sum[i][j] + own_bias));
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
conv_mma_phases(const TYPE *input, const TYPE *filter, const float *bias, TYPE *output, int H, int W, int P, int Q, int pad, int first, int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * WARP_ROWS;
    unsigned stages = shared_address(shared);
    unsigned own_pixel = (warp_row * TILE_W + lane % 16) * PITCH + lane / 16 * 16;
    TYPE *weights = (TYPE *)(shared + 2 * STAGE_BYTES);
    order_weights(weights, filter);
    for (int i = threadIdx.x; C % 16 && i < 2 * TILE_H * TILE_W; i += 32 * WARPS)
        *(uint4 *)(shared + i * PITCH + 2 * C) = make_uint4(0, 0, 0, 0);

    int tile = blockIdx.x, stage = 0;
    auto load = [&](int t, int into) {
        int v = first + t % tiles_x * 16, u = first + t / tiles_x % tiles_y * ROWS, n = t / tiles_x / tiles_y;
        load_tile<TILE_H, TILE_W, WARPS>(stages + into * STAGE_BYTES, input + (size_t)n * C * H * W, u - (TAPS_R - 1), v - (TAPS_S - 1), H, W);
    };
    load(tile, 0);
    copy_async_commit();
    for (; tile < tiles; tile += gridDim.x, stage ^= 1) {
        if (tile + gridDim.x < tiles)
            load(tile + gridDim.x, stage ^ 1);
        copy_async_commit(); /* empty at the end, so that the wait below always means this tile */
        copy_async_wait<1>();
        __syncthreads();

        float sum[WARP_ROWS][4] = {};
        multiply_tile(sum, stages + stage * STAGE_BYTES + own_pixel, (const uint2 *)weights + lane);
        __syncthreads(); /* this stage may be overwritten */
        store_tile(sum, output + (size_t)(tile / tiles_x / tiles_y) * K * P * Q, bias, first + tile / tiles_x % tiles_y * ROWS + warp_row,
                   first + tile % tiles_x * 16 + lane / 4, P, Q, pad);
    }
}
