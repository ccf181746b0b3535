/* bench 1
what: wgmma for many channels - two image rows by 128 output channels per block, weights and 64-channel slices of rows stream by TMA
like: wgmma_rows
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r <= 3 and s <= 9 and k % 8 == 0
  - c % 64 == 0 and 8 * k >= 7 * 64 * ceil(k, 64)      # else too many of the products are for nothing
  - c * h * w < 2147483648 and k * p * q < 2147483648
params:
  RING:
  AHEAD: {values: [2, 3, 4], default: 3}               # taps of weights in shared memory
let:
  halves: select(k <= 64, 1, 2)                        # of 64 output channels
  smem: 1024 + 2 * (r + 1) * row_bytes + AHEAD * halves * 8192 + 2 * strip * 128 + 16 * (3 + AHEAD)
  blocks_k: ceil(k, 64 * halves)
  pairs: ceil(p, 2)
  tiles: n * pairs * strips * blocks_k
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  WEIGHTS_SHARED:
  CHANNELS:
  SPLIT:
  HALVES: halves
steps:
  - kernel: conv_wgmma_blocks
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    args: input_map, filter_map, output_map, residual_map, bias, c, k, p, pad_top, strips, pairs, blocks_k, tiles
*/

/* What changed from wgmma_rows: with 128 channels and more the weights of 64 output channels are 147 KB and up, too much for shared memory, and far too much
 * for registers. So both operands are streamed, and the tile must be large enough for the bandwidth of L2:
 *
 *     128 output channels x 2 rows of 128 pixels: for 64 input channels 9 x 16 KB of weights and 4 x 16.6 KB of rows serve 9216 cycles of products,
 *     23 bytes per cycle and SM. One row a block would need 37, and the L2 gives 24 to 39.
 *
 *  - The four rows of a slice of 64 channels are loaded once and serve all taps of both output rows, as in wgmma_rows; two slices are in shared memory. Weights
 *    come one tap at a time, AHEAD of them in flight.
 *  - Each of the two consumers computes one output row of 128 channels: two products share the row operand.
 *  - Blocks are persistent: while the consumers store, the producer already loads the next tile.
 *  - TMA stores the results (dense/staged_store.cuh), 64 channels of a row at a time.
 *  - The last slice may have fewer than 64 channels: only products of existing channels, 16 at a time, are computed.
 *
 * Cost: the tensor cores idle while both consumers store, and shared memory is nearly full: a pair of products reads 2 x 2 KB of weights and twice 4 KB of
 * pixels, 96 of 128 cycles, and 23 bytes per cycle arrive. Measured on an H200, 64->64 at 720 x 1280, cold: 139 us (older code). Without loads and stores it is
 * hardly faster, so only the products themselves can be improved: wgmma_wide. */
#include "dense/staged_store.cuh"

#ifndef FILTER_BOX
#define FILTER_BOX 64 /* filter rows of a box of weights */
#endif

constexpr int ROW_BYTES = (STRIP_WIDTH + S - 1 + 7) / 8 * 1024, BOX_BYTES = (STRIP_WIDTH + S - 1) * 128;
constexpr int ROWS = R + 1, SLICE_BYTES = ROWS * ROW_BYTES; /* rows under two output rows */
constexpr int TAP_BYTES = HALVES * 8192, TAPS = R * S;

extern __shared__ unsigned char shared_raw[];

/* Addresses in shared memory. Slices and taps are counted over the whole life of the block; each has a barrier for "has come" and one for "is free". */
struct buffers {
    unsigned slices, taps, slice_full, slice_empty, tap_full, tap_empty, staging, residual;
};

struct tile {
    int k0, q0, p0, n;
    __device__ __forceinline__ tile(int t, int strips, int pairs, int blocks_k)
        : k0(t % blocks_k * (HALVES * 64)), q0(t / blocks_k % strips * STRIP_WIDTH), p0(t / blocks_k / strips % pairs * 2), n(t / blocks_k / strips / pairs)
    {
    }
};

static __device__ __forceinline__ void ask_slice(const buffers &b, int slice, const tensor_map *map, const tile &at, int c, int pad)
{
    unsigned full = b.slice_full + slice % 2 * 8;
    barrier_wait(b.slice_empty + slice % 2 * 8, (slice / 2 & 1) ^ 1);
    barrier_arrive_expect(full, ROWS * BOX_BYTES);
    for (int row = 0; row < ROWS; row++)
        copy_box_4d(b.slices + slice % 2 * SLICE_BYTES + row * ROW_BYTES, map, full, c, at.q0 - pad - PAD_MORE, at.p0 - pad + row, at.n);
}

static __device__ __forceinline__ void produce(const buffers &b, const tensor_map *input_map, const tensor_map *filter_map, int C, int K, int pad,
                                               int strips, int pairs, int blocks_k, int tiles)
{
    int slice = 0, tap = 0, depth = K / (D2S_BLOCK * D2S_BLOCK);
    ask_slice(b, slice++, input_map, tile(blockIdx.x, strips, pairs, blocks_k), 0, pad);
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        tile at(t, strips, pairs, blocks_k);
        for (int c = 0; c < C; c += 64)
            for (int i = 0; i < TAPS; i++, tap++) {
                barrier_wait(b.tap_empty + tap % AHEAD * 8, (tap / AHEAD & 1) ^ 1);
                barrier_arrive_expect(b.tap_full + tap % AHEAD * 8, TAP_BYTES);
                for (int k = 0; k < HALVES * 64; k += FILTER_BOX) /* filter_channel() says where a channel's weights lie */
                    copy_box_4d(b.taps + tap % AHEAD * TAP_BYTES + k * 128, filter_map, b.tap_full + tap % AHEAD * 8, c, i, D2S_CRD ? (at.k0 + k) / depth : 0,
                                D2S_CRD ? (at.k0 + k) % depth : at.k0 + k);
                /* The next slice's buffer is free when the consumers have begun this slice, which they have when the tap AHEAD of this one found room. */
                if (i != (AHEAD < TAPS ? AHEAD : TAPS - 1))
                    continue;
                if (c + 64 < C)
                    ask_slice(b, slice++, input_map, at, c + 64, pad);
                else if (t + (int)gridDim.x < tiles)
                    ask_slice(b, slice++, input_map, tile(t + gridDim.x, strips, pairs, blocks_k), 0, pad);
            }
    }
}

static __device__ __forceinline__ void release(unsigned barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

/* 16 * DEPTH channels of one tap. */
template <int DEPTH>
static __device__ __forceinline__ void multiply_tap(float sum[HALVES][STRIP_WIDTH / 2], unsigned long long weights, unsigned long long pixels, bool add)
{
    wgmma_begin();
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int half = 0; half < HALVES; half++)
            wgmma_shared<TYPE, STRIP_WIDTH>(sum[half], weights + half * 512 + d * 2, pixels + d * 2, add || d > 0);
    wgmma_commit();
}

/* sum[half]: 64 channels by one row of pixels. `me`: which of the two rows. */
static __device__ __forceinline__ void multiply_tile(float sum[HALVES][STRIP_WIDTH / 2], const buffers &b, int &slice, int &tap, int C, int me)
{
    for (int c = 0; c < C; c += 64, slice++) {
        barrier_wait(b.slice_full + slice % 2 * 8, slice / 2 & 1);
        unsigned rows = b.slices + slice % 2 * SLICE_BYTES + me * ROW_BYTES;
#pragma unroll 1
        for (int i = 0; i < TAPS; i++, tap++) {
            barrier_wait(b.tap_full + tap % AHEAD * 8, tap / AHEAD & 1);
            unsigned long long pixels = matrix_rows_128(rows + i / S * ROW_BYTES + i % S * 128);
            unsigned long long weights = matrix_rows_128(b.taps + tap % AHEAD * TAP_BYTES);
            if (C - c > 48)
                multiply_tap<4>(sum, weights, pixels, c + i > 0);
            else if (C - c > 32)
                multiply_tap<3>(sum, weights, pixels, c + i > 0);
            else if (C - c > 16)
                multiply_tap<2>(sum, weights, pixels, c + i > 0);
            else
                multiply_tap<1>(sum, weights, pixels, c + i > 0);
            wgmma_wait<1>(); /* the tap before is done */
            if (c + i > 0)
                release(b.tap_empty + (tap - 1) % AHEAD * 8);
            if (c > 0 && i == 0)
                release(b.slice_empty + (slice - 1) % 2 * 8);
        }
    }
    wgmma_wait<0>();
    release(b.tap_empty + (tap - 1) % AHEAD * 8);
    release(b.slice_empty + (slice - 1) % 2 * 8);
}

static __device__ __forceinline__ void consume(const buffers &b, const tensor_map *output_map, const tensor_map *residual_map, const float *bias, int C, int K, int P,
                                               int strips, int pairs, int blocks_k, int tiles)
{
    int me = warpgroup_index() - 1;
    int slice = 0, tap = 0;
    unsigned phase = 0;
    staged_rows<STRIP_WIDTH> stored = {b.staging + me * staged_rows<STRIP_WIDTH>::BYTES, b.residual + me * 8, 0, me + 1};
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        float sum[HALVES][STRIP_WIDTH / 2];
        multiply_tile(sum, b, slice, tap, C, me);
        tile at(t, strips, pairs, blocks_k);
        int p = at.p0 + me;
        if (p >= P)
            continue;
#pragma unroll
        for (int half = 0; half < HALVES; half++, phase ^= 1) {
            stored.k0 = at.k0 + half * 64;
            if (stored.k0 >= K)
                break;
            if (EPI_RESIDUAL && threadIdx.x % 128 == 0)
                stored.ask_residual(residual_map, K, at.n, p, at.q0, phase);
            int k = stored.k0 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
            float own_bias[2] = {EPI_BIAS && k < K ? bias[filter_channel(k, K)] : 0, EPI_BIAS && k + 8 < K ? bias[filter_channel(k + 8, K)] : 0};
            stored.store(sum[half], own_bias, output_map, K, at.n, p, at.q0, phase);
        }
    }
    stored.finish();
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_blocks(const __grid_constant__ tensor_map input_map, const __grid_constant__ tensor_map filter_map, const __grid_constant__ tensor_map output_map,
                  const __grid_constant__ tensor_map residual_map, const float *bias, int C, int K, int P, int pad, int strips, int pairs, int blocks_k, int tiles)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned staging = base + 2 * SLICE_BYTES, taps = staging + 2 * staged_rows<STRIP_WIDTH>::BYTES, at = taps + AHEAD * TAP_BYTES;
    buffers b = {base, taps, at, at + 16, at + 32, at + 32 + AHEAD * 8, staging, at + 32 + AHEAD * 16};
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            barrier_init(b.slice_full + i * 8, 1);
            barrier_init(b.slice_empty + i * 8, 8); /* a lane of each consuming warp */
            barrier_init(b.residual + i * 8, 1);
        }
        for (int i = 0; i < AHEAD; i++) {
            barrier_init(b.tap_full + i * 8, 1);
            barrier_init(b.tap_empty + i * 8, 8);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(b, &input_map, &filter_map, C, K, pad, strips, pairs, blocks_k, tiles);
    } else {
        take_registers<240>();
        consume(b, &output_map, &residual_map, bias, C, K, P, strips, pairs, blocks_k, tiles);
    }
}
