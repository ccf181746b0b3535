/* wgmma_rows: the convolution that loads every input row once and multiplies it with all its taps, for sm_90a. Two variants include it:
 *   conv2d/wgmma_rows  WEIGHTS_SHARED 1: the weights lie in shared memory
 *   conv2d/wgmma_rs    WEIGHTS_SHARED 0: the weights lie in registers
 *
 * As a matrix product: 64 output channels (rows of the result) by STRIP_WIDTH pixels of one image row (columns); the depth is the channels of one tap, at most
 * 64, and all R * S taps add to the same sums. In NHWC a pixel's 64 channels are 128 bytes, exactly one row of a 128-byte swizzled operand, so an image
 * row in shared memory is an operand as it lies, and the next tap is the same operand 128 bytes further on: no im2col, nothing is read twice.
 *
 * A block walks down a strip of the image, STRIP_WIDTH pixels wide. Its three warpgroups:
 *   producer   one thread asks the copy engine for the next image row, as soon as the oldest of the RING buffers is free. Rows and pixels outside
 *              the image arrive as zeros: that is the padding. Fewer than 64 channels, too.
 *   consumers  with SPLIT 1 they take output rows in turn; with SPLIT 2 each row goes to both, which hold the weights of different 64 channels.
 *              One computes while the other stores (`turn`): the tensor cores never wait for a store.
 *
 * Row g of a warp's 16 holds output channel 2 g, row g + 8 channel 2 g + 1 (the weights are loaded that way). A lane then owns two neighbouring channels of a
 * pixel: it stores 4 bytes, a warp fills whole sectors of 32, and the result needs neither shared memory nor another layout. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "wgmma.cuh"

#ifndef D2S_BLOCK
#define D2S_BLOCK 1
#define D2S_CRD 0
#endif

constexpr int ROW_BYTES = (STRIP_WIDTH + S - 1 + 7) / 8 * 1024; /* blocks of 8 pixels */
constexpr int BOX_BYTES = (STRIP_WIDTH + S - 1) * 128;          /* what the copy engine brings */
constexpr int WEIGHT_BYTES = WEIGHTS_SHARED ? R * S * 64 * 128 : 0;
constexpr int TAPS = R * S;

extern __shared__ unsigned char shared_raw[]; /* weights, ring, barriers: SMEM bytes and up to 1023 in front */

/* Row of the filter that makes internal channel k; see mma_sync.cu. */
static __device__ __forceinline__ int filter_channel(int k, int K)
{
    int depth = K / (D2S_BLOCK * D2S_BLOCK);
    return D2S_CRD ? k % depth * (D2S_BLOCK * D2S_BLOCK) + k / depth : k;
}

/* The weights of internal channel k; null past the last one. */
static __device__ __forceinline__ const TYPE *weights_of(const TYPE *filter, int k, int K, int C)
{
    return k < K ? filter + (size_t)filter_channel(k, K) * TAPS * C : nullptr;
}
/* Two neighbouring weights, zero outside the filter. */
static __device__ __forceinline__ unsigned weight_pair(const TYPE *weights, int tap, int c, int C)
{
    return weights && c < C ? *reinterpret_cast<const unsigned *>(weights + tap * C + c) : 0;
}

/* The weights of channels k0 .. k0 + 63: per tap 64 rows of 128 bytes, swizzled as the copy engine would. */
static __device__ __forceinline__ void weights_to_shared(unsigned to, const TYPE *filter, int k0, int K, int C)
{
    for (int i = threadIdx.x; i < TAPS * 64 * 32; i += 384) {
        int word = i % 32, row = i / 32 % 64, tap = i / 2048;
        int k = row / 16 * 16 + row % 8 * 2 + row / 8 % 2;
        unsigned at = tap * 8192 + row * 128 + ((word / 4 ^ row % 8) * 16 + word % 4 * 4);
        store_shared(to + at, weight_pair(weights_of(filter, k0 + k, K, C), tap, word * 2, C));
    }
}

/* Where a walk down the block's share of the output rows stands. Rows are counted by image, strip, and row of the output; `loaded` counts the image
 * rows that were loaded before the first one that this output row needs. A new strip starts with R - 1 rows more. */
struct walk {
    int row, p, strip, loaded;
    __device__ __forceinline__ void next(int P)
    {
        row++;
        loaded++;
        if (++p == P) {
            p = 0;
            strip++;
            loaded += R - 1;
        }
    }
};

struct ring {
    unsigned rows, full, empty; /* addresses in shared memory */
    __device__ __forceinline__ unsigned row(int i) const { return rows + i % RING * ROW_BYTES; }
    __device__ __forceinline__ void wait_full(int i) const { barrier_wait(full + i % RING * 8, i / RING & 1); }
    __device__ __forceinline__ void wait_empty(int i) const { barrier_wait(empty + i % RING * 8, (i / RING & 1) ^ 1); }
};

static __device__ __forceinline__ void produce(const ring &ring, const tensor_map *map, walk at, int end, int P, int pad, int strips)
{
    for (int i = 0; at.row < end;) { /* a strip, or what of it is this block's */
        int rows = min(P - at.p, end - at.row), n = at.strip / strips, x = at.strip % strips * STRIP_WIDTH - pad;
        for (int y = at.p - pad; y < at.p - pad + rows + R - 1; y++, i++) {
            ring.wait_empty(i);
            barrier_arrive_expect(ring.full + i % RING * 8, BOX_BYTES);
            copy_box_4d(ring.row(i), map, ring.full + i % RING * 8, 0, x, y, n);
        }
        at.row += rows;
        at.p = 0;
        at.strip++;
    }
}

/* Everything of one output row: R * S * 4 products. */
static __device__ __forceinline__ void multiply_row(float sum[STRIP_WIDTH / 2], const ring &ring, int first, const unsigned (*held)[4], unsigned weights)
{
    wgmma_begin();
#pragma unroll
    for (int r = 0; r < R; r++) {
        unsigned long long row = matrix_rows_128(ring.row(first + r));
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int c = 0; c < 4; c++) { /* descriptors count in 16 bytes: a pixel is 8, 16 channels are 2 */
                int tap = r * S + s;
#if WEIGHTS_SHARED
                wgmma_shared<TYPE, STRIP_WIDTH>(sum, matrix_rows_128(weights) + tap * 512 + c * 2, row + s * 8 + c * 2, tap + c > 0);
#else
                wgmma_registers<TYPE, STRIP_WIDTH>(sum, held[tap * 4 + c], row + s * 8 + c * 2, tap + c > 0);
#endif
            }
    }
    wgmma_commit();
}

/* Channels k and k + 1 of the lane's pixels of row p: q0 + 8 j + e. */
static __device__ __forceinline__ void store_row(TYPE *output, const TYPE *residual, const float sum[STRIP_WIDTH / 2], float bias0, float bias1, int n, int p, int q0,
                                                 int k, int K, int P, int Q)
{
    int line = K / D2S_BLOCK; /* channels of a pixel that lie side by side; see mma_sync_d2s.cu */
    size_t start = (((size_t)n * P + p) * D2S_BLOCK + k / line) * Q * line + k % line;
#pragma unroll
    for (int j = 0; j < STRIP_WIDTH / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            int q = q0 + 8 * j + e;
            if (q >= Q)
                continue;
            float low = sum[4 * j + e] + bias0, high = sum[4 * j + 2 + e] + bias1;
            pack<TYPE, 2> out;
            if (EPI_RESIDUAL) {
                pack<TYPE, 2> add = load_pack<TYPE, 2>(residual + start + (size_t)q * line);
                low += to_f32(add.item[0]);
                high += to_f32(add.item[1]);
            }
            out.item[0] = from_f32<TYPE>(activate(low));
            out.item[1] = from_f32<TYPE>(activate(high));
            store_pack<TYPE, 2>(output + start + (size_t)q * line, out);
        }
}

static __device__ __forceinline__ void consume(const ring &ring, unsigned turn, unsigned weights, const TYPE *filter, const float *bias, const TYPE *residual,
                                               TYPE *output, walk at, int end, int C, int K, int P, int Q, int strips)
{
    int me = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    int k0 = (blockIdx.y * SPLIT + (SPLIT == 2 ? me : 0)) * 64 + warp * 16;
    int k = k0 + lane / 4 * 2;
    float bias0 = EPI_BIAS && k < K ? bias[filter_channel(k, K)] : 0.0f, bias1 = EPI_BIAS && k < K ? bias[filter_channel(k + 1, K)] : 0.0f;
#if WEIGHTS_SHARED
    const unsigned(*held)[4] = nullptr;
#else
    const TYPE *own[2] = {weights_of(filter, k, K, C), weights_of(filter, k + 1, K, C)};
    unsigned held[TAPS * 4][4]; /* the left operand of every product: the block's whole filter, for as long as it runs */
#pragma unroll
    for (int i = 0; i < TAPS * 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            held[i][j] = weight_pair(own[j % 2], i / 4, i % 4 * 16 + lane % 4 * 2 + j / 2 * 8, C);
#endif
    int freed = 0; /* image rows that this warpgroup has let go */
    if (SPLIT == 1 && me == 1)
        at.next(P);
    for (int i = 0; at.row < end; i++) {
        for (int r = 0; r < R; r++)
            ring.wait_full(at.loaded + r);
        barrier_wait(turn + me * 8, (me == 0 ? i + 1 : i) & 1);
        float sum[STRIP_WIDTH / 2];
        multiply_row(sum, ring, at.loaded, held, weights);
        if (lane == 0)
            barrier_arrive(turn + (me ^ 1) * 8);
        wgmma_wait<0>();

        walk done = at;
        at.next(P);
        if (SPLIT == 1 && at.row < end)
            at.next(P);
        /* Nothing before the next row's first is needed again. A row that another reads still is waited for too: letting it go twice in one turn of
         * the ring would be counted for the wrong turn. */
        if (at.row < end)
            for (; freed < at.loaded; freed++) {
                ring.wait_full(freed);
                if (lane == 0)
                    barrier_arrive(ring.empty + freed % RING * 8);
            }
        if (k < K)
            store_row(output, residual, sum, bias0, bias1, done.strip / strips, done.p, done.strip % strips * STRIP_WIDTH + lane % 4 * 2, k, K, P, Q);
    }
}

/* rows_all: output rows of all strips; rows_block: how many of them are a block's. */
static __device__ __forceinline__ void convolve_rows(const tensor_map *map, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int C, int K,
                                                     int P, int Q, int pad, int strips, int rows_all, int rows_block)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    struct ring ring = {base + WEIGHT_BYTES, base + WEIGHT_BYTES + RING * ROW_BYTES, base + WEIGHT_BYTES + RING * (ROW_BYTES + 8)};
    unsigned turn = ring.empty + RING * 8;
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            barrier_init(ring.full + i * 8, 1);
            barrier_init(ring.empty + i * 8, 8); /* a lane of each consuming warp */
        }
        barrier_init(turn, 4);
        barrier_init(turn + 8, 4);
        barrier_init_done();
    }
    if (WEIGHTS_SHARED) {
        weights_to_shared(base, filter, blockIdx.y * 64, K, C);
        fence_async();
    }
    __syncthreads();

    int row = blockIdx.x * rows_block;
    struct walk at = {row, row % P, row / P, 0};
    int end = min(row + rows_block, rows_all);
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            produce(ring, map, at, end, P, pad, strips);
    } else {
        take_registers<240>();
        consume(ring, turn, base, filter, bias, residual, output, at, end, C, K, P, Q, strips);
    }
}
