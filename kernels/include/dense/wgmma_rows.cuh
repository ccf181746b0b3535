/* dense/wgmma_rows: the convolution that loads every input row once and multiplies it with all its taps, for sm_90a. Its variants:
 *   conv2d/wgmma_rows     WEIGHTS_SHARED 1: the weights lie in shared memory
 *   conv2d/wgmma_rs       WEIGHTS_SHARED 0: the weights lie in registers; wgmma_rs_d2s and wgmma_rs_nchw build on it
 *   conv2d/wgmma_rs_s8    WORDS 1: whole numbers of 8 bits, up to 128 channels, and results of 4 bytes
 *
 * As a matrix product: 64 output channels (rows of the result) by STRIP_WIDTH pixels of one image row (columns); the depth is the channels of one tap, at most
 * 64, and all R * S taps add to the same sums. In NHWC a pixel's 64 channels are 128 bytes, exactly one row of a 128-byte swizzled operand, so an image
 * row in shared memory is an operand as it lies, and the next tap is the same operand 128 bytes further on: no im2col, nothing is read twice.
 *
 * A block walks down a strip of the image, STRIP_WIDTH pixels wide. Its three warpgroups:
 *   producer   one thread asks TMA for the weights and then for the next image row, as soon as the oldest of the RING buffers is free. Rows and
 *              pixels outside the image arrive as zeros: that is the padding. Fewer than 64 channels, too.
 *   consumers  with SPLIT 1 they take output rows in turn; with SPLIT 2 each row goes to both, which hold the weights of different 64 channels.
 *              One computes while the other stores (`turn`): the tensor cores never wait for a store, as long as everything that a consumer does beside
 *              its products takes no longer than the other's products, 2304 cycles for 64 channels and 3x3. dense/staged_store.cuh is how it does not.
 *
 * Weights for registers come through shared memory, too: loaded by the threads themselves they took
 * 13,000 cycles at the start of every block, by TMA and ldmatrix 3,500. They pass through the end of
 * the ring and the staging area, which are still unused; the first EARLY rows are loaded meanwhile. */
#pragma once
#ifndef WORDS
#define WORDS 0
#endif
#if WORDS
#include "dense/staged_words.cuh"
using sum_type = int;
#else
#include "dense/staged_store.cuh"
using sum_type = float;
#endif

#ifndef PAD_MORE
#define PAD_MORE 0 /* of columns, beside that of rows */
#endif

#ifndef FOLLOWS
#define FOLLOWS 0 /* 1: begins before the layer before it ends, and brings its weights meanwhile */
#endif

/* What that layer writes is read behind this. */
static __device__ __forceinline__ void wait_for_layer_before()
{
    if (FOLLOWS)
        asm volatile("griddepcontrol.wait;" ::: "memory");
}

constexpr int ROW_BYTES = NCHW ? (STRIP_WIDTH + 16) * 128 : (STRIP_WIDTH + S - 1 + 7) / 8 * 1024; /* blocks of 8 pixels; NCHW: see dense/turned_rows.cuh */
#include "dense/image_rows.cuh"
#ifndef FILTER_BOX
#define FILTER_BOX 64 /* filter rows of a box of weights */
#endif
#ifndef TAP_ROWS
#define TAP_ROWS R /* upsample_conv2d/collapsed multiplies fewer taps than it has rows in reach, and each block of channels others */
#define TAP_COLUMNS S
#endif
constexpr int TAPS = TAP_ROWS * TAP_COLUMNS;
constexpr int DEPTH = (CHANNELS * (int)sizeof(TYPE) + 31) / 32; /* products of 32 bytes of channels for a tap */
constexpr int WEIGHT_BYTES = TAPS * 8192; /* of 64 output channels: per tap 64 rows of 128 bytes */
constexpr int STORED_BYTES = STORE_AREAS * staged_rows<STRIP_WIDTH>::BYTES;
constexpr int PASSING = WEIGHTS_SHARED ? 0 : SPLIT * WEIGHT_BYTES, REST = RING * ROW_BYTES + 2 * STORED_BYTES;
constexpr int EARLY = WEIGHTS_SHARED ? RING : REST - PASSING < R * ROW_BYTES ? R : REST - PASSING < RING * ROW_BYTES ? (REST - PASSING) / ROW_BYTES : RING;
constexpr int AREA = REST < EARLY * ROW_BYTES + PASSING ? EARLY * ROW_BYTES + PASSING : REST;

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, weights or none, stages of turned_rows or none, AREA, barriers */

/* One thread. Weights of output channels k0 .. k0 + 63, and of the next 64 with `count` 2. */
static __device__ __forceinline__ void ask_weights(unsigned to, unsigned barrier, const tensor_map *map, int k0, int count, int K)
{
    int depth = K / (D2S_BLOCK * D2S_BLOCK);
    barrier_arrive_expect(barrier, count * WEIGHT_BYTES);
    for (int tap = 0; tap < TAPS; tap++)
        for (int k = 0; k < count * 64; k += FILTER_BOX) /* filter_channel() says where a channel's weights lie */
            copy_box_4d(to + k / 64 * WEIGHT_BYTES + tap * 8192 + k % 64 * 128, map, barrier, 0, tap, D2S_CRD ? (k0 + k) / depth : 0, D2S_CRD ? (k0 + k) % depth : k0 + k);
}

#if NCHW
#include "dense/turned_rows.cuh"
#else
constexpr int STAGES = 0, STAGE_BYTES = 0;
constexpr int BOX_BYTES = (STRIP_WIDTH + S - 1) * 128; /* what TMA brings */

/* One thread. `wait_weights`: until the weights have left the place that the later rows go to. */
template <typename WAIT> static __device__ __forceinline__ void produce(const ring &ring, const share &own, const tensor_map *map, int pad, WAIT wait_weights)
{
    loader load(own, pad);
    for (int i = 0; load.more(own); i++, load.next(own, pad)) {
        ring.wait_empty(i);
        if (i == EARLY)
            wait_weights();
        barrier_arrive_expect(ring.full + i % RING * 8, BOX_BYTES);
        copy_box_4d(ring.row(i), map, ring.full + i % RING * 8, 0, load.at.strip * STRIP_WIDTH - pad - PAD_MORE, load.y, load.at.image);
    }
}
#endif

/* Everything of one output row: TAPS * DEPTH products. Tap 0 is row `first` of the ring, `across` pixels from the left. */
static __device__ __forceinline__ void multiply_row(sum_type sum[STRIP_WIDTH / 2], const ring &ring, int first, int across, const unsigned (*held)[4], unsigned weights)
{
    wgmma_begin();
#pragma unroll
    for (int r = 0; r < TAP_ROWS; r++) {
        unsigned long long row = matrix_rows_128(ring.row(first + r)) + across * 8;
#pragma unroll
        for (int s = 0; s < TAP_COLUMNS; s++)
#pragma unroll
            for (int c = 0; c < DEPTH; c++) { /* descriptors count in 16 bytes: a pixel is 8, 16 channels are 2 */
                int tap = r * TAP_COLUMNS + s;
#if WEIGHTS_SHARED
                wgmma_shared<TYPE, STRIP_WIDTH>(sum, matrix_rows_128(weights) + tap * 512 + c * 2, row + s * 8 + c * 2, tap + c > 0);
#else
                wgmma_registers<TYPE, STRIP_WIDTH>(sum, held[tap * DEPTH + c], row + s * 8 + c * 2, tap + c > 0);
#endif
            }
    }
    wgmma_commit();
}

struct barriers {
    unsigned turn, weights_come, weights_gone, residual; /* two, one, one, two or four */
};

/* Waits until image rows `full` .. end - 1 have arrived. */
static __device__ __forceinline__ void see_rows(const ring &ring, int &full, int end)
{
#pragma unroll 1
    for (; full < end; full++)
        ring.wait_full(full);
}

/* Later rows and a residual come by bulk copies to where the weights lie, and an arrival alone does not wait for reads. */
static __device__ __forceinline__ void let_weights_go(unsigned barrier)
{
    if (EPI_RESIDUAL || EARLY < RING) {
        fence_async();
        __syncwarp();
    }
    if (threadIdx.x % 32 == 0)
        barrier_arrive(barrier);
}

static __device__ __forceinline__ void consume(const ring &ring, const share &own, const barriers &b, unsigned weights, unsigned staging, const tensor_map *output_map,
                                               const tensor_map *residual_map, const float *bias, int K)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    constexpr int step = SPLIT == 1 ? 2 : 1;
    staged_rows<STRIP_WIDTH> stored = {staging + me * STORED_BYTES, b.residual + me * STORE_AREAS * 8, (int)(blockIdx.y * SPLIT + (SPLIT == 2 ? me : 0)) * 64, me + 1};
    int k = stored.k0 + threadIdx.x / 32 % 4 * 16 + lane / 4 * (WORDS ? 2 : 1), next_k = WORDS ? 1 : 8; /* this lane's two channels */
    float own_bias[2] = {EPI_BIAS && k < K ? bias[filter_channel(k, K)] : 0, EPI_BIAS && k + next_k < K ? bias[filter_channel(k + next_k, K)] : 0};

    int phase_of = TAPS < R * S ? stored.k0 / (K / 4) : 0, down = phase_of / 2, across = phase_of % 2; /* 2x2 of the 3x3 pixels in reach */

    barrier_wait(b.weights_come, 0);
#if WEIGHTS_SHARED
    const unsigned(*held)[4] = nullptr;
#else
    unsigned held[TAPS * DEPTH][4]; /* the left operand of every product: the block's whole filter, for as long as it runs */
    int row = threadIdx.x / 32 % 4 * 16 + (WORDS ? lane % 8 * 2 + lane / 8 % 2 : lane % 16); /* of the matrix that this lane addresses */
    weights += (SPLIT == 2 ? me * WEIGHT_BYTES : 0) + row * 128;
#pragma unroll
    for (int i = 0; i < TAPS * DEPTH; i++)
        load_matrix_4(held[i], weights + i / DEPTH * 8192 + (i % DEPTH * 2 + lane / 16 ^ row % 8) * 16);
    let_weights_go(b.weights_gone);
    barrier_wait(b.weights_gone, 0); /* both consumers': results are staged where weights were */
#endif

    place at(own);
    at.advance(own, SPLIT == 1 ? me : 0);
    int full = 0, freed = 0; /* image rows that this warpgroup has seen arrive, and those that it has let go */
    unsigned turn_i = 0; /* of this warpgroup's rows the number modulo 2 STORE_AREAS */
    if (STORE_AREAS == 2 && threadIdx.x % 128 == 0 && at.row < own.end)
        stored.ask_residual(residual_map, K, at.image, at.p, at.strip * STRIP_WIDTH, 0);
    while (at.row < own.end) {
        int q = at.strip * STRIP_WIDTH;
        if (EPI_RESIDUAL && STORE_AREAS == 1 && threadIdx.x % 128 == 0)
            stored.ask_residual(residual_map, K, at.image, at.p, q, turn_i);
        see_rows(ring, full, at.loaded + R);
        barrier_wait(b.turn + me * 8, (STORE_AREAS == 1 ? turn_i : turn_i & 1) ^ (me == 0));
        sum_type sum[STRIP_WIDTH / 2];
        multiply_row(sum, ring, at.loaded + down, across, held, weights);
        if (lane == 0)
            barrier_arrive(b.turn + (me ^ 1) * 8);

        /* Meanwhile all that need not stand between this row's sums and the next row's products: what stands there keeps the other consumer's products alone. */
        place next = at;
        next.advance(own, step);
        if (STORE_AREAS == 2 && threadIdx.x % 128 == 0 && next.row < own.end)
            stored.ask_residual(residual_map, K, next.image, next.p, next.strip * STRIP_WIDTH, turn_i + 1 & 3);
        unsigned residual[stored.SOON][4];
        stored.ready(turn_i, residual);
        if (next.row < own.end && next.loaded + R <= freed + RING) /* at a new strip they may be more than the ring holds before some are let go */
            see_rows(ring, full, next.loaded + R);
        wgmma_wait<0>();

        /* All rows before the next row's first are free. A warp also waits for a row that another consumer still reads: otherwise it would release
         * the row twice in one turn of the ring, and the barrier would count the second for the wrong turn. */
        if (next.row < own.end)
#pragma unroll 1
            for (; freed < next.loaded; freed++) {
                if (freed == full)
                    ring.wait_full(full++);
                if (lane == 0)
                    barrier_arrive(ring.empty + unsigned(freed) % RING * 8);
            }
        stored.put(sum, own_bias, residual, output_map, K, at.image, at.p, q, turn_i);
        at = next;
        turn_i = STORE_AREAS == 1 ? turn_i ^ 1 : turn_i + 1 & 3;
    }
    stored.finish();
}

/* rows_all: output rows of all strips; rows_block: how many of them are a block's. */
static __device__ __forceinline__ void convolve_rows(const tensor_map *input_map, const tensor_map *filter_map, const tensor_map *output_map,
                                                     const tensor_map *residual_map, const float *bias, int K, int P, int pad, int strips, int rows_all,
                                                     int rows_block)
{
    if (FOLLOWS)
        asm volatile("griddepcontrol.launch_dependents;"); /* the next layer's kernel takes the place of each block that ends */
    unsigned base = (shared_address(shared_raw) + 1023) / 1024 * 1024;
    unsigned stages = base + (WEIGHTS_SHARED ? WEIGHT_BYTES : 0), rows = stages + STAGES * STAGE_BYTES, at = rows + AREA;
    struct ring ring = {rows, at, at + RING * 8};
    struct barriers b = {at + RING * 16, at + RING * 16 + 16, at + RING * 16 + 24, at + RING * 16 + 32};
    unsigned come = b.residual + 2 * STORE_AREAS * 8, weights = WEIGHTS_SHARED ? base : rows + EARLY * ROW_BYTES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < RING; i++) {
            barrier_init(ring.full + i * 8, 1);
            barrier_init(ring.empty + i * 8, 8); /* a lane of each consuming warp */
        }
        for (int i = 0; i < 2; i++) {
            barrier_init(b.turn + i * 8, 4);
            for (int k = 0; k < STORE_AREAS; k++)
                barrier_init(b.residual + (STORE_AREAS * i + k) * 8, 1);
        }
        barrier_init(b.weights_come, 1);
        barrier_init(b.weights_gone, 8);
        for (int i = 0; i < STAGES; i++)
            barrier_init(come + i * 8, 1);
        barrier_init_done();
    }
    __syncthreads();

    int first = blockIdx.x * rows_block;
    struct share own = {first, min(first + rows_block, rows_all), P, strips};
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0)
            ask_weights(weights, b.weights_come, filter_map, blockIdx.y * SPLIT * 64, SPLIT, K);
        wait_for_layer_before();
        auto wait_weights = [&]() {
            if (!WEIGHTS_SHARED)
                barrier_wait(b.weights_gone, 0);
        };
#if NCHW
        produce_turned(ring, own, stages, come, input_map, pad, wait_weights);
#else
        if (threadIdx.x == 0)
            produce(ring, own, input_map, pad, wait_weights);
#endif
    } else {
        take_registers<240>();
        wait_for_layer_before();
        consume(ring, own, b, weights, rows + RING * ROW_BYTES, output_map, residual_map, bias, K);
    }
}
