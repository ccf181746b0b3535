/* bench 1
op: conv2d
what: wgmma_rs in tf32 - the two consumers hold the weights of different input channels and add their sums
from: wgmma_rs
needs:
  - stride == 1 and dilation == 1 and groups == 1 and r * s <= 9 and c <= 64 and c % 4 == 0 and k % 2 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
layout: {input: NHWC, filter: KRSC, output: NHWC, residual: NHWC}
dtype: {input: f32, output: f32, bias: f32, accumulate: f32}
math: [tf32]
algorithm: implicit_gemm
epilogue: [bias, residual, relu, leaky_relu]
params:
  STRIP: {values: [auto, 64, 128], default: auto}     # pixels of a row that are one product; auto: what wastes less of the last strip
let:
  strip: select(STRIP == 'auto', select(ceil(q, 64) % 2 == 1 and q < 256, 64, 128), STRIP)
  row_bytes: 2 * ceil(strip + s - 1, 8) * 1024
  ring: select(r <= 3, 5, r + 2)                       # image rows in shared memory
  smem: 1024 + ring * (row_bytes + 16) + strip / 2 * 512 + 64
  blocks_k: ceil(k, 64)
  strips: ceil(q, strip)
  rows_all: n * strips * p
  blocks: max(1, min(rows_all, floor(sm_count, blocks_k)))
  rows_block: ceil(rows_all, blocks)                   # of the output, one after another in a strip
where:
  - cc == 90
  - smem <= smem_per_block_optin
define:
  STRIP_WIDTH: strip
  RING: ring
  EPI_BIAS: has(bias)
  EPI_RESIDUAL: has(residual)
  EPI_SLOPE: slope(epilogue)
specialise: [r, s]
tensor_maps:
  input_map: {of: input, box: "32, strip + s - 1, 1, 1", swizzle: 128, l2: 256}
steps:
  - kernel: conv_wgmma_tf32
    grid: ceil(rows_all, rows_block), blocks_k
    block: 384
    smem: smem
    args: input_map, filter, bias, residual, output, c, k, p, q, pad, strips, rows_all, rows_block
*/

/* What changed from wgmma_rs: the elements have 4 bytes. 64 x 576 weights would be 288 registers a thread, so each consumer holds those of 32 input channels, 144
 * registers again, and both work on every output row. A pixel is 256 bytes, which is two rows of an operand: an image row arrives as two planes of 32
 * channels, and each consumer reads its own.
 *
 * Then the two halves of a sum must meet. Thread i of one consumer holds the same places of the result as thread i of the other, so one puts its 64 sums in
 * shared memory and the other adds them, 4 bytes a lane, no bank conflict; they swap roles with every row, and each thread only ever waits for its
 * counterpart. While one stores, the other already multiplies the next row.
 *
 * The weights are rounded to tf32; of the pixels the tensor cores ignore the low 13 bits, which is a truncation. That is within what tf32 promises, but is
 * not what a library that rounds both would give.
 *
 * Cost: tf32 has half the rate of fp16 and twice the bytes; both floors double. */
#include "element.cuh"
#include "epilogue.cuh"

constexpr int PLANE_BYTES = (STRIP_WIDTH + S - 1 + 7) / 8 * 1024, ROW_BYTES = 2 * PLANE_BYTES, BOX_BYTES = (STRIP_WIDTH + S - 1) * 128;
constexpr int TAPS = R * S, SUMS = STRIP_WIDTH / 2;
#include "image_rows.cuh"

extern __shared__ unsigned char shared_raw[]; /* ring, sums of 128 threads, barriers */

static __device__ __forceinline__ void produce(const ring &ring, const share &own, const tensor_map *map, int pad, int strips)
{
    loader load = {own.first};
    load.enter(own, pad);
    for (int i = 0; load.row < own.end; i++, load.next(own, pad)) {
        unsigned full = ring.full + i % RING * 8;
        int x = load.strip % strips * STRIP_WIDTH - pad, n = load.strip / strips;
        ring.wait_empty(i);
        barrier_arrive_expect(full, 2 * BOX_BYTES);
        copy_box_4d(ring.row(i), map, full, 0, x, load.y, n);
        copy_box_4d(ring.row(i) + PLANE_BYTES, map, full, 32, x, load.y, n);
    }
}

static __device__ __forceinline__ void multiply_row(float sum[SUMS], const ring &ring, int first, int plane, const unsigned (*held)[4])
{
    wgmma_begin();
#pragma unroll
    for (int r = 0; r < R; r++) {
        unsigned long long row = matrix_rows_128(ring.row(first + r) + plane * PLANE_BYTES);
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int c = 0; c < 4; c++) /* descriptors count in 16 bytes: a pixel is 8, 8 channels are 2 */
                wgmma_registers_tf32<STRIP_WIDTH>(sum, held[(r * S + s) * 4 + c], row + s * 8 + c * 2, r + s + c > 0);
    }
    wgmma_commit();
}

/* Channels k and k + 1 of the lane's pixels q0 + 8 j + e of row p; the other consumer's half of the sums is added from `other`. */
static __device__ __forceinline__ void store_row(float *__restrict__ output, const float *__restrict__ residual, const float sum[SUMS], unsigned other, float bias0, float bias1, int n,
                                                 int p, int q0, int k, int K, int P, int Q)
{
    size_t start = ((size_t)n * P + p) * Q * K + k;
#pragma unroll
    for (int j = 0; j < STRIP_WIDTH / 8; j++) {
        pack<float, 2> add[2];
#pragma unroll
        for (int i = 0; EPI_RESIDUAL && i < 2; i++) {
            int q = q0 + 8 * j + i;
            if (q < Q && k < K)
                add[i] = load_pack<float, 2>(residual + start + q * K);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int at = 4 * j + i, q = q0 + 8 * j + i;
            if (q >= Q || k >= K)
                continue;
            float low = sum[at] + __uint_as_float(load_shared(other + at * 512)) + bias0;
            float high = sum[at + 2] + __uint_as_float(load_shared(other + (at + 2) * 512)) + bias1;
            pack<float, 2> out;
            out.item[0] = activate(EPI_RESIDUAL ? low + add[i].item[0] : low);
            out.item[1] = activate(EPI_RESIDUAL ? high + add[i].item[1] : high);
            store_pack<float, 2>(output + start + q * K, out);
        }
    }
}

static __device__ __forceinline__ void consume(const ring &ring, const share &own, unsigned meet, unsigned met, const float *filter, const float *bias,
                                               const float *residual, float *output, int C, int K, int Q, int strips)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    int k = blockIdx.y * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 * 2;
    unsigned held[TAPS * 4][4];
#pragma unroll
    for (int i = 0; i < TAPS * 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) { /* row g of a warp's 16 holds channel 2 g, row g + 8 channel 2 g + 1 */
            int c = me * 32 + i % 4 * 8 + lane % 4 + j / 2 * 4;
            held[i][j] = k + j % 2 < K && c < C ? round_tf32(filter[((size_t)(k + j % 2) * TAPS + i / 4) * C + c]) : 0;
        }
    unsigned other = meet + threadIdx.x % 128 * 4;
    int freed = 0; /* image rows that this warpgroup has let go */
    for (int row = own.first; row < own.end; row++) {
        int first = own.loaded(row), turn = row - own.first;
        for (int r = 0; r < R; r++)
            ring.wait_full(first + r);
        if (EPI_RESIDUAL && turn % 2 != me) { /* the registers are full of weights: nothing can be loaded early, but brought nearer */
            int q = own.strip(row) % strips * STRIP_WIDTH + threadIdx.x % 128;
            const float *pixel = residual + (((size_t)(own.strip(row) / strips) * own.P + own.p(row)) * Q + q) * K + blockIdx.y * 64;
            if (threadIdx.x % 128 < STRIP_WIDTH && q < Q) {
                prefetch_l2(pixel);
                if (blockIdx.y * 64 + 32 < K)
                    prefetch_l2(pixel + 32);
            }
        }
        float sum[SUMS];
        multiply_row(sum, ring, first, me, held);
        wgmma_wait<0>();
        if (row + 1 < own.end)
#pragma unroll 1
            for (int needed = own.loaded(row + 1); freed < needed; freed++) {
                ring.wait_full(freed);
                if (lane == 0)
                    barrier_arrive(ring.empty + freed % RING * 8);
            }
        if (turn % 2 == me) { /* this row's sums go to the other consumer */
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                store_shared(other + i * 512, __float_as_uint(sum[i]));
            barrier_arrive(met + me * 8);
            continue;
        }
        barrier_wait(met + (me ^ 1) * 8, turn / 2 & 1);
        float bias0 = EPI_BIAS && k < K ? bias[k] : 0.0f, bias1 = EPI_BIAS && k + 1 < K ? bias[k + 1] : 0.0f;
        store_row(output, residual, sum, other, bias0, bias1, own.strip(row) / strips, own.p(row), own.strip(row) % strips * STRIP_WIDTH + lane % 4 * 2, k, K,
                  own.P, Q);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_wgmma_tf32(const __grid_constant__ tensor_map input_map, const float *filter, const float *bias, const float *residual, float *output, int C, int K, int P,
                int Q, int pad, int strips, int rows_all, int rows_block)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned meet = base + RING * ROW_BYTES, barriers = meet + SUMS * 512, met = barriers + RING * 16;
    struct ring ring = {base, barriers, barriers + RING * 8};
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            barrier_init(ring.full + i * 8, 1);
            barrier_init(ring.empty + i * 8, 8); /* a lane of each consuming warp */
        }
        barrier_init(met, 128);
        barrier_init(met + 8, 128);
        barrier_init_done();
    }
    __syncthreads();
    int first = blockIdx.x * rows_block;
    struct share own = {first, min(first + rows_block, rows_all), P};
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(ring, own, &input_map, pad, strips);
    } else {
        take_registers<240>();
        consume(ring, own, meet, met, filter, bias, residual, output, C, K, Q, strips);
    }
}
