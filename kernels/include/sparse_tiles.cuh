/* sparse_tiles: a sparse convolution on tensor cores, in place, for sm_90a. Its variants differ in one number, FEW:
 *   conv2d/sparse_tile    0: every active tile is computed whole
 *   conv2d/very_sparse   16: tiles of at most 16 marked inputs are computed input by input
 *   conv2d/sparse_auto   tile by tile, whichever is cheaper
 *   conv2d/sparse_gather  0, and GATHERED: tiles come from and go to memory of their own, which other kernels fill and empty
 *
 * Tiles are ROWS rows of 8 pixels. Behind list_tiles one launch, a block an SM, three warpgroups:
 *   producer   finds out which tiles are the block's (sparse_schedule.cuh); then each of its four warps copies tiles to a ring in shared memory
 *              (sparse_copy.cuh)
 *   consumers  (two) take tiles in turn. All R * S * C weights of 16 output channels lie in a warp's registers (144 for 3x3 of 64 channels), in the order
 *              in which both wgmma and mma.sync take their left operand.
 *              Whole: R * S * C / 16 wgmma of 64 channels by 8 ROWS pixels.
 *              Few inputs: eight of them, from wherever in the tile they lie, are the columns of an mma (ldmatrix takes any eight addresses). What each adds
 *              through each tap goes to shared memory, and each active output adds up what belongs to it. So the arithmetic is that of the marked
 *              inputs, not of the active outputs, of which a lone input has nine; and the inputs are read once, not once a tap.
 *
 * Needs TYPE, C, R, S, ROWS, STAGES, FEW, EPI_BIAS, EPI_SLOPE as constants. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#define SLICE C
#include "sparse_copy.cuh"

#ifndef GATHERED
#define GATHERED 0
#endif
constexpr int DEPTH = STAGES / 4; /* tiles that a warp has on their way */

extern __shared__ __align__(128) unsigned char ring[];              /* of tiles; before the first of them, the weights */
static __shared__ unsigned long long full[STAGES], empty[STAGES], weights_come, weights_held; /* barriers */
static __shared__ work ring_work[STAGES];
/* Of the ring's tiles with few inputs: the marks of each row of the halo, and by number where they lie; the number of each input. */
static __shared__ unsigned short ring_rows[STAGES][HALO_H];
static __shared__ unsigned char ring_inputs[STAGES][FEW + 1], ring_numbers[STAGES][HALO_H * HALO_W];

constexpr int RING_BYTES = STAGES * STAGE_BYTES > 64 * WEIGHTS_PITCH ? STAGES * STAGE_BYTES : 64 * WEIGHTS_PITCH;
constexpr int COLUMN = 10; /* pairs of channels: what an input adds to 16 channels, and two pairs that spread the columns over the banks */

/* --- producer: 128 threads --- */

/* A warp of the producer copies a tile by itself: the four have four tiles on their way, and up to DEPTH each. */
struct producer {
    const TYPE *input;
    const unsigned *mask;
    image im;
    int issued, arrived; /* the ring's numbers of the warp's next tile to copy, and to announce */

    __device__ __forceinline__ void arrive_oldest()
    {
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&full[arrived % STAGES]));
        arrived += 4;
    }
    /* row: a lane's row of marks. */
    static __device__ __forceinline__ void number_inputs(int slot, unsigned row)
    {
        int lane = threadIdx.x % 32, number = scan(__popc(row)) - __popc(row);
        if (lane < HALO_H)
            ring_rows[slot][lane] = row;
        for (; row; row &= row - 1, number++) {
            int input = lane * HALO_W + __ffs(row) - 1;
            ring_inputs[slot][number] = input;
            ring_numbers[slot][input] = number;
        }
    }
    __device__ __forceinline__ void put(const work &tile, const row_marks &marks, unsigned rank)
    {
        int slot = issued % STAGES;
        barrier_wait(shared_address(&empty[slot]), issued / STAGES & 1 ^ 1);
        if (GATHERED) { /* the whole tile is one piece of memory */
            if (threadIdx.x % 32 == 0) {
                ring_work[slot] = {{(int)rank, 0, 0}, 255, ~0ull};
                barrier_arrive_expect(shared_address(&full[slot]), STAGE_BYTES);
                copy_bytes(shared_address(ring) + slot * STAGE_BYTES, input + (size_t)rank * (STAGE_BYTES / 2), STAGE_BYTES, shared_address(&full[slot]));
            }
            __syncwarp();
            issued += 4, arrived += 4;
            return;
        }
        if (threadIdx.x % 32 == 0)
            ring_work[slot] = tile;
        if (FEW && tile.inputs <= FEW)
            number_inputs(slot, marks.bits(tile, im.pad) & ((1u << HALO_W) - 1));
        copy_tile(shared_address(ring) + slot * STAGE_BYTES, input, tile, marks, im, 0);
        copy_async_commit();
        issued += 4;
        if (issued - arrived == 4 * DEPTH) {
            copy_async_wait<DEPTH - 1>();
            arrive_oldest();
        }
    }
    /* `end`: how many tiles there were. Behind them come two that say so, one for each consumer. */
    __device__ __forceinline__ void finish(int end)
    {
        copy_async_wait<0>();
        while (arrived < issued)
            arrive_oldest();
        for (; issued < end + 2; issued += 4) {
            int slot = issued % STAGES;
            barrier_wait(shared_address(&empty[slot]), issued / STAGES & 1 ^ 1);
            if (threadIdx.x % 32 == 0)
                ring_work[slot] = {{0, -1, 0}, 0, 0};
            arrive_oldest();
        }
    }
};

/* The filter of channels k0 .. k0 + 63 comes to shared memory, a row for each, WEIGHTS_PITCH apart: eight rows start in eight different groups of banks. */
static __device__ __forceinline__ void ask_weights(const TYPE *filter, int k0, int K)
{
    unsigned come = shared_address(&weights_come);
    if (threadIdx.x == 0)
        barrier_arrive_expect(come, 64 * TAPS * C * 2);
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) /* channels past the last are copies of it: they are computed and not stored */
        copy_bytes(shared_address(ring) + i * WEIGHTS_PITCH, filter + (size_t)min(k0 + i, K - 1) * TAPS * C, TAPS * C * 2, come);
}

static __device__ __forceinline__ void produce(producer p, const share &all, const TYPE *filter, int K, unsigned *tiles_active)
{
    if (threadIdx.x < 32)
        ask_weights(filter, blockIdx.y * 64, K);
    wait_for_tiles();
    add_up(all);
    if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        *tiles_active = rank_before[128];
    unsigned total = cost_before[128];
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
    int warp = threadIdx.x / 32, before = 0; /* tiles of earlier rounds */
    p.issued = p.arrived = warp;
    for (; from < end; from += ROUND) {
        list_round(all, p.im, from, min(from + ROUND, end));
        unsigned rank = rank_first - before; /* of the ring's tile 0 */
        before += rank_end - rank_first;
        if (p.issued >= before)
            continue;
        row_marks marks = load_marks(list[(rank + p.issued) % LIST], p.im, p.mask);
        if (p.issued < 4)
            barrier_wait(shared_address(&weights_held), 0);
        while (p.issued < before) {
            const work &tile = list[(rank + p.issued) % LIST];
            row_marks next = marks;
            if (p.issued + 4 < before) /* on their way while this tile's copies are issued */
                next = load_marks(list[(rank + p.issued + 4) % LIST], p.im, p.mask);
            p.put(tile, marks, rank + p.issued);
            marks = next;
        }
    }
    p.finish(before);
}

/* --- consumers: two warpgroups --- */

struct consumer {
    TYPE *output; /* of the warp's first channel */
    int K, P, Q;
    bool stores;  /* the lane's two channels exist: the warp's 2 * (lane / 4) and the next */
    float bias0, bias1;

    __device__ __forceinline__ TYPE *tile(const place &at) const
    {
        return output + (GATHERED ? (size_t)at.n * (8 * ROWS) * K : (((size_t)at.n * P + at.y) * Q + at.x) * K);
    }
    static __device__ __forceinline__ void store(TYPE *pixel, float low, float high)
    {
        pack<TYPE, 2> out;
        out.item[0] = from_f32<TYPE>(activate(low));
        out.item[1] = from_f32<TYPE>(activate(high));
        store_pack<TYPE, 2>(pixel, out);
    }
};

static __device__ __forceinline__ void multiply_whole(float sum[4 * ROWS], unsigned stage, const unsigned (*held)[4])
{
    unsigned long long tile = matrix_planes(stage, PLANE, HALO_W * 16);
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        int tap = i / (C / 16), c = i % (C / 16); /* descriptors count in 16 bytes */
        wgmma_registers<TYPE, 8 * ROWS>(sum, held[i], tile + (c * 2 * PLANE / 16 + tap / S * HALO_W + tap % S), i > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
}

/* What inputs `first` .. first + 7 of the tile add through each tap to the warp's 16 channels: parts[tap][input][pair of channels]. */
static __device__ __forceinline__ void multiply_inputs(float2 *parts, unsigned stage, int slot, int first, int count, const unsigned (*held)[4])
{
    int lane = threadIdx.x % 32, number = first + lane % 8;
    unsigned own = stage + (number < count ? ring_inputs[slot][number] : 0) * 16 + lane / 8 * PLANE; /* a lane addresses an input in a plane */
    float sum[TAPS][4] = {};
#pragma unroll
    for (int c = 0; c < C / 16; c += 2) {
        unsigned b[4];
        if (c + 1 < C / 16)
            load_matrix_4(b, own + c * 2 * PLANE);
        else
            load_matrix_2(b, own + c * 2 * PLANE);
#pragma unroll
        for (int half = 0; half < 2 && c + half < C / 16; half++)
#pragma unroll
            for (int tap = 0; tap < TAPS; tap++)
                multiply_16x8x16<TYPE>(sum[tap], held[tap * (C / 16) + c + half], &b[half * 2]);
    }
    float2 *to = parts + (first + lane % 4 * 2) * COLUMN + lane / 4;
#pragma unroll
    for (int tap = 0; tap < TAPS; tap++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            to[(tap * FEW + e) * COLUMN] = make_float2(sum[tap][e], sum[tap][2 + e]);
}

/* Adds up the active outputs of a tile with few inputs. Eight lanes have the warp's 16 channels of an output, a warp four outputs side by side. */
static __device__ __forceinline__ void add_outputs(const consumer &to, TYPE *out, const float2 *parts, int slot, unsigned long long active)
{
    int lane = threadIdx.x % 32, pair = lane % 8;
    unsigned rows = lane < HALO_H ? ring_rows[slot][lane] : 0;
    float bias0 = __shfl_sync(~0u, to.bias0, pair * 4), bias1 = __shfl_sync(~0u, to.bias1, pair * 4);
    bool stores = __shfl_sync(~0u, to.stores, pair * 4);
    while (active) {
        int four = (__ffsll(active) - 1) / 4, y = four / 2, x = four % 2 * 4 + lane / 8;
        bool own = active >> (four * 4 + lane / 8) & 1;
        active &= ~(15ull << (four * 4));
        float2 sum = make_float2(bias0, bias1);
#pragma unroll
        for (int r = 0; r < R; r++) {
            unsigned row = __shfl_sync(~0u, rows, y + r) >> x & ((1u << S) - 1);
            for (row = own ? row : 0; row; row &= row - 1) {
                int s = __ffs(row) - 1;
                float2 part = parts[((r * S + s) * FEW + ring_numbers[slot][(y + r) * HALO_W + x + s]) * COLUMN + pair];
                sum.x += part.x, sum.y += part.y;
            }
        }
        if (own && stores)
            consumer::store(out + (y * to.Q + x) * to.K + pair * 2, sum.x, sum.y);
    }
}

static __device__ __forceinline__ void consume(const consumer &to)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    unsigned held[STEPS][4];
    /* Row g of a warp's 16 is channel 2 g, row g + 8 is 2 g + 1: a lane ends up with two neighbours. */
    unsigned own = shared_address(ring) + (threadIdx.x / 32 % 4 * 16 + lane % 8 * 2 + lane / 8 % 2) * WEIGHTS_PITCH + lane / 16 * 16;
    barrier_wait(shared_address(&weights_come), 0);
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        load_matrix_4(held[i], own + i * 32);
    if (lane == 0)
        barrier_arrive(shared_address(&weights_held));
    for (int i = me;; i += 2) {
        int slot = i % STAGES;
        barrier_wait(shared_address(&full[slot]), i / STAGES & 1);
        work tile = ring_work[slot];
        if (__shfl_sync(~0u, tile.at.y, 0) < 0)
            return;
        unsigned stage = shared_address(ring) + slot * STAGE_BYTES;
        TYPE *out = to.tile(tile.at);
        int inputs = __shfl_sync(~0u, tile.inputs, 0);
        if (!FEW || inputs > FEW) {
            float sum[4 * ROWS];
            multiply_whole(sum, stage, held);
            if (lane == 0)
                barrier_arrive(shared_address(&empty[slot]));
            unsigned long long own = to.stores ? tile.active >> (lane % 4 * 2) : 0;
            out += lane % 4 * 2 * to.K + lane / 4 * 2;
#pragma unroll
            for (int row = 0; row < ROWS; row++, out += to.Q * to.K) {
                if (own >> (8 * row) & 1)
                    consumer::store(out, sum[4 * row] + to.bias0, sum[4 * row + 2] + to.bias1);
                if (own >> (8 * row) & 2)
                    consumer::store(out + to.K, sum[4 * row + 1] + to.bias0, sum[4 * row + 3] + to.bias1);
            }
        } else {
            float2 *parts = reinterpret_cast<float2 *>(ring + RING_BYTES) + (threadIdx.x / 32 - 4) * (TAPS * FEW * COLUMN);
#pragma unroll 1
            for (int first = 0; first < inputs; first += 8)
                multiply_inputs(parts, stage, slot, first, inputs, held);
            __syncwarp();
            add_outputs(to, out, parts, slot, tile.active);
            __syncwarp(); /* the parts, and what the ring says about the tile, have been read */
            if (lane == 0)
                barrier_arrive(shared_address(&empty[slot]));
        }
    }
}

extern "C" __global__ void __maxnreg__(160)
conv_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, const unsigned long long *tiles, const unsigned char *inputs,
           const unsigned *sums, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(shared_address(&full[i]), 1);
            barrier_init(shared_address(&empty[i]), 4); /* a lane of each warp of the consumer whose turn it is */
        }
        barrier_init(shared_address(&weights_come), 1);
        barrier_init(shared_address(&weights_held), 8);
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        give_registers<48>();
        int words = (count + 31) / 32;
        produce(producer{input, mask_in, image{H, W, P, Q, pad, tiles_x, tiles_y}}, share{tiles, inputs, sums, count, words, (words + 127) / 128}, filter, K,
                tiles_active);
    } else {
        take_registers<216>();
        int k0 = blockIdx.y * 64 + threadIdx.x / 32 % 4 * 16, k = k0 + threadIdx.x % 32 / 4 * 2;
        bool stores = k < K;
        consume({output + k0, K, P, GATHERED ? 8 : Q, stores, EPI_BIAS && stores ? bias[k] : 0.0f, EPI_BIAS && stores ? bias[k + 1] : 0.0f});
    }
}
