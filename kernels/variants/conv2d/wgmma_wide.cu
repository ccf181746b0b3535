/* bench 1
what: wgmma for many channels at full width - 128 output channels by 256 pixels of a row, and a last wave of half tiles
like: wgmma_blocks
needs:
  - stride == 1 and dilation == 1 and groups == 1 and s <= 9 and c % 8 == 0 and k % 8 == 0
  - 16 * k >= 15 * 128 * blocks_k and 4 * q >= 3 * 128 * units   # else too many of the products are for nothing
  - c * h * w < 2147483648 and k * p * q < 2147483648
claims: c >= 256 and n * p * q >= 32768
params:
  STRIP:
  ROWS: {values: [3, 4], default: 3}                   # slices of image rows in shared memory
  AHEAD: {values: [3, 4, 5], default: 4}
let:
  strip:
  row_bytes: ceil(255 + s, 8) * 1024
  smem: 1024 + ROWS * row_bytes + AHEAD * 16384 + 32768 + 16 * (ROWS + AHEAD) + 16
  blocks_k: ceil(k, 128)
  strips:
  rows_all:
  blocks:
  rows_block:
  units: ceil(q, 128)                                  # of 128 pixels in a row
  tiles: n * p * units * blocks_k                      # at most
define:
  STRIP_WIDTH:
  HALVES:
tensor_maps:
  input_map:
  left_map: {of: input, box: "64, 136, 1, 1", swizzle: 128, l2: 256}              # a box has at most 256 pixels
  right_map: {of: input, box: "64, 119 + s, 1, 1", swizzle: 128, l2: 256}
  output_map: {box: "64, 128, 1, 1"}
  residual_map: {box: "64, 128, 1, 1"}
steps:
  - kernel: conv_wgmma_wide
    grid: min(tiles, sm_count)
    block: 384
    smem: smem
    args: left_map, right_map, filter_map, output_map, residual_map, bias, c, k, p, pad_top, n, units, blocks_k
*/

/* What changed from wgmma_blocks: the shape of a tile. Two rows of 128 pixels are two products that each read the weights; one row of 256 is one product that
 * reads them once: 2 KB of weights and 8 KB of pixels from shared memory for 128 cycles, 80 of them instead of 96, and half as many instructions. Each of the
 * consumers has 64 of the 128 output channels, and both read the same pixels.
 *
 *  - A row of 64 channels is loaded again for each of R output rows (from L2), used for S taps and released: slices of rows come one by one, not R + 1 together.
 *  - 1356 tiles on 132 SMs are ten waves and a quarter, and the quarter takes as long as a whole one. So the remainder is cut into tiles of 128 pixels, twice as
 *    many at half the time. Rows whose width is an odd number of 128 end in such a half, too.
 *
 * 96 output channels or a row of 48 pixels would leave a quarter and more of a tile empty: the head does not claim them, wgmma_pixels does.
 *
 * Cost: 27 bytes per cycle and SM come in from L2 instead of 23. Measured on an H200, cold (older code,
 * reports/gallery/auto_grid-h200.md): 256->256 at 170 x 255 82.1 us, as long as cuDNN. */
#include "dense/staged_store.cuh"

#ifndef FILTER_BOX
#define FILTER_BOX 64 /* filter rows of a box of weights */
#endif

constexpr int ROW_BYTES = (256 + S - 1 + 7) / 8 * 1024, LEFT = 136, TAP_BYTES = 16384;
constexpr int STORED_BYTES = staged_rows<128>::BYTES;

extern __shared__ unsigned char shared_raw[];

/* Addresses in shared memory. Slices (64 channels of one image row) and taps (their weights) are counted over the whole life of the block; each has a
 * barrier "full" and a barrier "empty". */
struct buffers {
    unsigned slices, taps, slice_full, slice_empty, tap_full, tap_empty, staging, residual;
    __device__ __forceinline__ unsigned slice(int i) const { return slices + i % ROWS * ROW_BYTES; }
    __device__ __forceinline__ unsigned tap(int i) const { return taps + i % AHEAD * TAP_BYTES; }
};

/* All tiles: whole waves of wide ones, then halves of what is left of these, then the last 128 pixels of rows with an odd number of them. */
struct schedule {
    int full, halves, all, wide_row, blocks_k, P, units;
    __device__ __forceinline__ schedule(int N, int P, int units, int blocks_k) : wide_row(units / 2), blocks_k(blocks_k), P(P), units(units)
    {
        int wide = N * P * wide_row * blocks_k;
        full = wide / (int)gridDim.x * (int)gridDim.x;
        halves = 2 * (wide - full);
        all = full + halves + (units % 2 ? N * P * blocks_k : 0);
    }
};
struct tile {
    int k0, q0, p, n;
    bool wide;
    __device__ __forceinline__ tile(const schedule &s, int t)
    {
        wide = t < s.full;
        bool half = !wide && t < s.full + s.halves;
        int i = wide ? t : half ? s.full + (t - s.full) / 2 : t - s.full - s.halves, across = wide || half ? s.wide_row : 1;
        k0 = i % s.blocks_k * 128;
        i /= s.blocks_k;
        q0 = wide || half ? i % across * 256 + (half ? (t - s.full) % 2 * 128 : 0) : (s.units - 1) * 128;
        p = i / across % s.P;
        n = i / across / s.P;
    }
};

static __device__ __forceinline__ void produce(const buffers &b, const schedule &s, const tensor_map *left_map, const tensor_map *right_map,
                                               const tensor_map *filter_map, int C, int K, int pad)
{
    int slice = 0, tap = 0, depth = K / (D2S_BLOCK * D2S_BLOCK);
    for (int t = blockIdx.x; t < s.all; t += gridDim.x) {
        tile at(s, t);
        for (int c = 0; c < C; c += 64)
            for (int r = 0; r < R; r++, slice++) {
                unsigned full = b.slice_full + slice % ROWS * 8;
                barrier_wait(b.slice_empty + slice % ROWS * 8, (slice / ROWS & 1) ^ 1);
                barrier_arrive_expect(full, (at.wide ? 256 + S - 1 : LEFT) * 128);
                copy_box_4d(b.slice(slice), left_map, full, c, at.q0 - pad - PAD_MORE, at.p - pad + r, at.n);
                if (at.wide)
                    copy_box_4d(b.slice(slice) + LEFT * 128, right_map, full, c, at.q0 - pad - PAD_MORE + LEFT, at.p - pad + r, at.n);
                for (int x = 0; x < S; x++, tap++) {
                    full = b.tap_full + tap % AHEAD * 8;
                    barrier_wait(b.tap_empty + tap % AHEAD * 8, (tap / AHEAD & 1) ^ 1);
                    barrier_arrive_expect(full, TAP_BYTES);
#pragma unroll 1 /* the producer has 24 registers */
                    for (int k = 0; k < 128; k += FILTER_BOX) /* filter_channel() says where a channel's weights lie */
                        copy_box_4d(b.tap(tap) + k * 128, filter_map, full, c, r * S + x, D2S_CRD ? (at.k0 + k) / depth : 0, D2S_CRD ? (at.k0 + k) % depth : at.k0 + k);
                }
            }
    }
}

static __device__ __forceinline__ void release(unsigned barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

/* 16 * DEPTH channels of one tap. */
template <int PIXELS, int DEPTH>
static __device__ __forceinline__ void multiply_tap(float sum[PIXELS / 2], unsigned long long weights, unsigned long long pixels, bool add)
{
    wgmma_begin();
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
        wgmma_shared<TYPE, PIXELS>(sum, weights + d * 2, pixels + d * 2, add || d > 0);
    wgmma_commit();
}

/* 64 channels, those of consumer `me`, by PIXELS pixels. */
template <int PIXELS>
static __device__ __forceinline__ void multiply_tile(float sum[PIXELS / 2], const buffers &b, int &slice, int &tap, int C, int me)
{
    bool add = false; /* there is a product already, which may still be reading */
    for (int c = 0; c < C; c += 64)
        for (int r = 0; r < R; r++, slice++) {
            barrier_wait(b.slice_full + slice % ROWS * 8, slice / ROWS & 1);
#pragma unroll 1
            for (int s = 0; s < S; s++, tap++) {
                barrier_wait(b.tap_full + tap % AHEAD * 8, tap / AHEAD & 1);
                unsigned long long pixels = matrix_rows_128(b.slice(slice) + s * 128), weights = matrix_rows_128(b.tap(tap) + me * 8192);
                if (C - c > 48)
                    multiply_tap<PIXELS, 4>(sum, weights, pixels, add);
                else if (C - c > 32)
                    multiply_tap<PIXELS, 3>(sum, weights, pixels, add);
                else if (C - c > 16)
                    multiply_tap<PIXELS, 2>(sum, weights, pixels, add);
                else
                    multiply_tap<PIXELS, 1>(sum, weights, pixels, add);
                wgmma_wait<1>(); /* the tap before is done */
                if (add)
                    release(b.tap_empty + (tap - 1) % AHEAD * 8);
                if (add && s == 0)
                    release(b.slice_empty + (slice - 1) % ROWS * 8);
                add = true;
            }
        }
    wgmma_wait<0>();
    release(b.tap_empty + (tap - 1) % AHEAD * 8);
    release(b.slice_empty + (slice - 1) % ROWS * 8);
}

static __device__ __forceinline__ void consume(const buffers &b, const schedule &s, const tensor_map *output_map, const tensor_map *residual_map,
                                               const float *bias, int C, int K)
{
    int me = warpgroup_index() - 1;
    int slice = 0, tap = 0;
    unsigned phase = 0;
    staged_rows<128> stored = {b.staging + me * STORED_BYTES, b.residual + me * 8, 0, me + 1};
    for (int t = blockIdx.x; t < s.all; t += gridDim.x) {
        tile at(s, t);
        float sum[128];
        if (at.wide)
            multiply_tile<256>(sum, b, slice, tap, C, me);
        else
            multiply_tile<128>(sum, b, slice, tap, C, me);
        stored.k0 = at.k0 + me * 64;
        if (stored.k0 >= K)
            continue;
        int k = stored.k0 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
        float own_bias[2] = {EPI_BIAS && k < K ? bias[filter_channel(k, K)] : 0, EPI_BIAS && k + 8 < K ? bias[filter_channel(k + 8, K)] : 0};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (half && !at.wide)
                break;
            if (EPI_RESIDUAL && threadIdx.x % 128 == 0)
                stored.ask_residual(residual_map, K, at.n, at.p, at.q0 + half * 128, phase);
            stored.store(sum + half * 64, own_bias, output_map, K, at.n, at.p, at.q0 + half * 128, phase);
            phase ^= 1;
        }
    }
    stored.finish();
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_wide(const __grid_constant__ tensor_map left_map, const __grid_constant__ tensor_map right_map, const __grid_constant__ tensor_map filter_map,
                const __grid_constant__ tensor_map output_map, const __grid_constant__ tensor_map residual_map, const float *bias, int C, int K, int P, int pad,
                int N, int units, int blocks_k)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned staging = base + ROWS * ROW_BYTES, taps = staging + 2 * STORED_BYTES, at = taps + AHEAD * TAP_BYTES;
    buffers b = {base, taps, at, at + ROWS * 8, at + ROWS * 16, at + ROWS * 16 + AHEAD * 8, staging, at + ROWS * 16 + AHEAD * 16};
    if (threadIdx.x == 0) {
        for (int i = 0; i < ROWS; i++) {
            barrier_init(b.slice_full + i * 8, 1);
            barrier_init(b.slice_empty + i * 8, 8); /* a lane of each consuming warp */
        }
        for (int i = 0; i < AHEAD; i++) {
            barrier_init(b.tap_full + i * 8, 1);
            barrier_init(b.tap_empty + i * 8, 8);
        }
        for (int i = 0; i < 2; i++)
            barrier_init(b.residual + i * 8, 1);
        barrier_init_done();
    }
    __syncthreads();
    schedule s(N, P, units, blocks_k);
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(b, s, &left_map, &right_map, &filter_map, C, K, pad);
    } else {
        take_registers<240>();
        consume(b, s, &output_map, &residual_map, bias, C, K);
    }
}
