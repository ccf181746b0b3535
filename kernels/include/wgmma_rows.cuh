/* wgmma_rows: the convolution that loads every input row once and multiplies it with all its taps, for sm_90a. Its variants:
 *   conv2d/wgmma_rows  WEIGHTS_SHARED 1: the weights lie in shared memory
 *   conv2d/wgmma_rs    WEIGHTS_SHARED 0: the weights lie in registers; wgmma_rs_d2s builds on it
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
#define RESIDUAL_STAGED (EPI_RESIDUAL && !WEIGHTS_SHARED) /* weights in registers leave none for loads on their way */
#include "pair_store.cuh"

#ifndef NCHW
#define NCHW 0 /* wgmma_rs_nchw.cu says what 1 changes */
#endif

constexpr int ROW_BYTES = (STRIP_WIDTH + S - 1 + 7) / 8 * 1024; /* blocks of 8 pixels */
#include "image_rows.cuh"
constexpr int BOX_BYTES = (STRIP_WIDTH + S - 1) * 128;          /* what the copy engine brings */
constexpr int WEIGHT_BYTES = WEIGHTS_SHARED ? R * S * 64 * 128 : 0;
constexpr int TAPS = R * S;
constexpr int STAGE_PIXELS = (STRIP_WIDTH + S - 1 + 7) / 8 * 8, STAGE_BYTES = NCHW ? 64 * STAGE_PIXELS * 2 : 0; /* a row as NCHW has it */
constexpr int STAGES = 4;
constexpr int LINE_PITCH = STRIP_WIDTH * 2 + 16; /* NCHW: of a channel's staged residual */
constexpr int STAGED_BYTES = !RESIDUAL_STAGED ? 0 : NCHW ? 64 * LINE_PITCH : STRIP_WIDTH * STAGED_PITCH;

extern __shared__ unsigned char shared_raw[]; /* weights, ring, barriers: SMEM bytes and up to 1023 in front */

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

static __device__ __forceinline__ void ask_row(const loader &load, const tensor_map *map, unsigned to, unsigned barrier, int pad, int strips)
{
    int x = load.strip % strips * STRIP_WIDTH - pad, n = load.strip / strips;
    barrier_arrive_expect(barrier, NCHW ? STAGE_BYTES : BOX_BYTES);
    if (NCHW)
        copy_box_4d(to, map, barrier, x, load.y, 0, n);
    else
        copy_box_4d(to, map, barrier, 0, x, load.y, n);
}

static __device__ __forceinline__ void produce(const ring &ring, const share &own, const tensor_map *map, int pad, int strips)
{
    loader load = {own.first};
    load.enter(own, pad);
    for (int i = 0; load.row < own.end; i++, load.next(own, pad)) {
        ring.wait_empty(i);
        ask_row(load, map, ring.row(i), ring.full + i % RING * 8, pad, strips);
    }
}

#if NCHW
/* Turns one row from [64 channels][STAGE_PIXELS] to [pixels][64 channels], swizzled: 8x8 elements are turned by being loaded transposed. A lane
 * addresses row lane % 8 of matrix lane / 8; the four matrices are neighbouring groups of 8 channels of the same 8 pixels. */
static __device__ __forceinline__ void turn_row(unsigned from, unsigned to)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1 /* the producer has 24 registers */
    for (int i = warp; i < STAGE_PIXELS / 8 * 2; i += 4) {
        int group = i % 2 * 4 + lane / 8, pixel = i / 2 * 8 + lane % 8;
        unsigned m[4];
        load_matrix_4_transposed(m, from + (group * 8 + lane % 8) * (STAGE_PIXELS * 2) + i / 2 * 16);
        store_matrix_4(to + pixel * 128 + (group ^ lane % 8) * 16, m);
    }
}

/* The whole warpgroup: thread 0 keeps STAGES - 1 rows on their way, all turn the one that has come. */
static __device__ __forceinline__ void produce_turned(const ring &ring, const share &own, unsigned stages, unsigned come, const tensor_map *map, int pad,
                                                      int strips)
{
    int asked = 0;
    loader load = {own.first};
    load.enter(own, pad);
    auto ask = [&]() {
        if (load.row >= own.end)
            return;
        if (threadIdx.x == 0)
            ask_row(load, map, stages + asked % STAGES * STAGE_BYTES, come + asked % STAGES * 8, pad, strips);
        load.next(own, pad);
        asked++;
    };
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++)
        ask();
    for (int i = 0; i < asked; i++) {
        barrier_wait(come + i % STAGES * 8, i / STAGES & 1);
        ring.wait_empty(i);
        turn_row(stages + i % STAGES * STAGE_BYTES, ring.row(i));
        fence_async();
        warpgroup_sync(0); /* all have read the stage and written the row */
        if (threadIdx.x == 0)
            barrier_arrive(ring.full + i % RING * 8);
        ask(); /* into the stage of row i - 1, which all have left */
    }
}
#endif

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

#if NCHW
/* Channels k and k + 8 of the lane's pixels of row p: q0 + 8 j + e, q0 = 2 * (lane % 4) of the strip. Two lanes exchange halves, so that each has four
 * neighbours of one group of eight, and a quad stores 32 bytes of one line. */
static __device__ __forceinline__ void store_lines(TYPE *output, unsigned staged, const float sum[STRIP_WIDTH / 2], float bias0, float bias1, int n, int p,
                                                 int q0, int k, int K, int P, int Q)
{
    int odd = threadIdx.x % 2;
#pragma unroll
    for (int row = 0; row < 2; row++) {
        bool stored = k + row * 8 < K; /* all lanes take part in the exchange */
        size_t line = (((size_t)n * K + (stored ? k + row * 8 : 0)) * P + p) * Q;
#pragma unroll
        for (int j = 0; j < STRIP_WIDTH / 8; j += 2) {
            pack<TYPE, 2> own[2], add[2];
#pragma unroll
            for (int h = 0; EPI_RESIDUAL && h < 2; h++)
                add[h].word = load_shared(staged + row * 8 * LINE_PITCH + (j + h) * 16);
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    float x = sum[4 * (j + h) + 2 * row + e] + (row ? bias1 : bias0);
                    if (EPI_RESIDUAL)
                        x += to_f32(add[h].item[e]);
                    own[h].item[e] = from_f32<TYPE>(activate(x));
                }
            unsigned other = __shfl_xor_sync(0xffffffff, odd ? own[0].word : own[1].word, 1);
            pack<TYPE, 4> out;
            out.word = odd ? make_uint2(other, own[1].word) : make_uint2(own[0].word, other);
            int q = q0 - threadIdx.x % 4 * 2 + 8 * (j + odd) + threadIdx.x % 4 / 2 * 4;
            if (VECTOR_ROW) { /* Q is a multiple of 4: all or none */
                if (stored && q < Q)
                    store_pack<TYPE, 4>(output + line + q, out);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (stored && q + e < Q)
                        output[line + q + e] = out.item[e];
            }
        }
    }
}
#endif

/* The residual of 64 channels from k0 on of one output row comes to shared memory while the row is computed. K, or for NCHW Q, is a multiple of 8. */
static __device__ __forceinline__ void stage_residual(unsigned to, const TYPE *residual, int n, int p, int q0, int k0, int K, int P, int Q)
{
#pragma unroll 1
    for (int i = threadIdx.x % 128; i < STRIP_WIDTH * 8; i += 128) { /* pieces of 8 elements */
        int k = k0 + (NCHW ? i / (STRIP_WIDTH / 8) : i % 8 * 8), q = q0 + (NCHW ? i % (STRIP_WIDTH / 8) * 8 : i / 8);
        bool valid = k < K && q < Q;
        size_t e = NCHW ? (((size_t)n * K + k) * P + p) * Q + q : (((size_t)n * P + p) * Q + q) * K + k;
        copy_async_16(to + (NCHW ? (k - k0) * LINE_PITCH + (q - q0) * 2 : (q - q0) * STAGED_PITCH + (k - k0) * 2), residual + (valid ? e : 0), valid);
    }
    copy_async_commit();
}

static __device__ __forceinline__ void consume(const ring &ring, const share &own, unsigned turn, unsigned weights, unsigned staged, const TYPE *filter,
                                               const float *bias, const TYPE *residual, TYPE *output, int C, int K, int Q, int strips)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    constexpr int step = SPLIT == 1 ? 2 : 1, apart = NCHW ? 8 : 1; /* apart: channels of rows g and g + 8 */
    int k = (blockIdx.y * SPLIT + (SPLIT == 2 ? me : 0)) * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 * (NCHW ? 1 : 2);
#if WEIGHTS_SHARED
    const unsigned(*held)[4] = nullptr;
#else
    const TYPE *rows[2] = {weights_of(filter, k, K, C), weights_of(filter, k + apart, K, C)};
    unsigned held[TAPS * 4][4]; /* the left operand of every product: the block's whole filter, for as long as it runs */
#pragma unroll
    for (int i = 0; i < TAPS * 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            held[i][j] = weight_pair(rows[j % 2], i / 4, i % 4 * 16 + lane % 4 * 2 + j / 2 * 8, C);
#endif
    staged += me * STAGED_BYTES;
    int freed = 0; /* image rows that this warpgroup has let go */
    unsigned phase = me == 0;
    for (int row = own.first + (SPLIT == 1 ? me : 0); row < own.end; row += step, phase ^= 1) {
        int first = own.loaded(row);
        if (RESIDUAL_STAGED) {
            warpgroup_sync(me + 1); /* the last row's has been read */
            stage_residual(staged, residual, own.strip(row) / strips, own.p(row), own.strip(row) % strips * STRIP_WIDTH,
                           (blockIdx.y * SPLIT + (SPLIT == 2 ? me : 0)) * 64, K, own.P, Q);
        }
        for (int r = 0; r < R; r++)
            ring.wait_full(first + r);
        barrier_wait(turn + me * 8, phase);
        float sum[STRIP_WIDTH / 2];
        multiply_row(sum, ring, first, held, weights);
        if (lane == 0)
            barrier_arrive(turn + (me ^ 1) * 8);
        wgmma_wait<0>();

        /* Nothing before the next row's first is needed again. A row that another reads still is waited for too: letting it go twice in one turn of
         * the ring would be counted for the wrong turn. */
        if (row + step < own.end)
#pragma unroll 1
            for (int needed = own.loaded(row + step); freed < needed; freed++) {
                ring.wait_full(freed);
                if (lane == 0)
                    barrier_arrive(ring.empty + freed % RING * 8);
            }
        if (RESIDUAL_STAGED) {
            copy_async_wait<0>();
            warpgroup_sync(me + 1);
        }
        float bias0 = EPI_BIAS && k < K ? bias[filter_channel(k, K)] : 0.0f, bias1 = EPI_BIAS && k + apart < K ? bias[filter_channel(k + apart, K)] : 0.0f;
        int n = own.strip(row) / strips, q = own.strip(row) % strips * STRIP_WIDTH + lane % 4 * 2;
#if NCHW
        store_lines(output, staged + (threadIdx.x / 32 % 4 * 16 + lane / 4) * LINE_PITCH + lane % 4 * 4, sum, bias0, bias1, n, own.p(row), q, k, K, own.P, Q);
#else
        if (k < K)
            store_row<STRIP_WIDTH>(output, residual, staged + lane % 4 * 2 * STAGED_PITCH + (threadIdx.x / 32 % 4 * 16 + lane / 4 * 2) * 2, sum, bias0, bias1, n, own.p(row), q, k, K, own.P, Q);
#endif
    }
}

/* rows_all: output rows of all strips; rows_block: how many of them are a block's. */
static __device__ __forceinline__ void convolve_rows(const tensor_map *map, const TYPE *filter, const float *bias, const TYPE *residual, TYPE *output, int C, int K,
                                                     int P, int Q, int pad, int strips, int rows_all, int rows_block)
{
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned staged = base + WEIGHT_BYTES + RING * ROW_BYTES + STAGES * STAGE_BYTES, barriers = staged + 2 * STAGED_BYTES;
    struct ring ring = {base + WEIGHT_BYTES, barriers, barriers + RING * 8};
    unsigned turn = ring.empty + RING * 8; /* two; then, for NCHW, one for each stage */
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            barrier_init(ring.full + i * 8, 1);
            barrier_init(ring.empty + i * 8, 8); /* a lane of each consuming warp */
        }
        barrier_init(turn, 4);
        barrier_init(turn + 8, 4);
        for (int i = 0; NCHW && i < STAGES; i++)
            barrier_init(turn + 16 + i * 8, 1);
        barrier_init_done();
    }
    if (WEIGHTS_SHARED) {
        weights_to_shared(base, filter, blockIdx.y * 64, K, C);
        fence_async();
    }
    __syncthreads();

    int first = blockIdx.x * rows_block;
    struct share own = {first, min(first + rows_block, rows_all), P};
    if (threadIdx.x < 128) {
        give_registers<24>();
#if NCHW
        produce_turned(ring, own, ring.rows + RING * ROW_BYTES, turn + 16, map, pad, strips);
#else
        if (threadIdx.x == 0)
            produce(ring, own, map, pad, strips);
#endif
    } else {
        take_registers<240>();
        consume(ring, own, turn, base, staged, filter, bias, residual, output, C, K, Q, strips);
    }
}
