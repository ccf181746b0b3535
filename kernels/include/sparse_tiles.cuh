/* sparse_tiles: a sparse convolution on tensor cores, in place, for sm_90a. Its variants differ in one number, WHOLE_ABOVE:
 *   conv2d/sparse_tile   0: every active tile is computed whole
 *   conv2d/very_sparse  64: of every active tile only the active pixels
 *   conv2d/sparse_auto  between: tile by tile, whichever is cheaper
 *   conv2d/sparse_gather  0, and GATHERED: tiles come from and go to memory of their own, which other kernels fill and empty
 *
 * Tiles are ROWS rows of 8 pixels. Behind list_tiles one launch, a block an SM, three warpgroups:
 *   producer   finds out which tiles are the block's (sparse_schedule.cuh); then each of its four warps copies tiles to a ring in shared memory
 *              (sparse_copy.cuh)
 *   consumers  (two) take tiles in turn. All R * S * C weights of 16 output channels lie in a warp's registers (144 for 3x3 of 64 channels), in the order
 *              in which both wgmma and mma.sync take their left operand. Whole: R * S * C / 16 wgmma of 64 channels by 8 ROWS pixels. Pixels: the
 *              active ones are numbered, and eight of them at a time are the columns of an mma, fetched by ldmatrix from wherever in the tile
 *              they lie.
 *
 * Needs TYPE, C, R, S, ROWS, STAGES, WHOLE_ABOVE, EPI_BIAS, EPI_SLOPE as constants. */
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
static __shared__ unsigned char numbered[8][64];                    /* by consuming warp: its active pixels, as bits of the tile */

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
    __device__ __forceinline__ void put(const work &tile, const row_marks &marks, unsigned rank)
    {
        int slot = issued % STAGES;
        barrier_wait(shared_address(&empty[slot]), issued / STAGES & 1 ^ 1);
        if (GATHERED) { /* the whole tile is one piece of memory */
            if (threadIdx.x % 32 == 0) {
                ring_work[slot] = {{(int)rank, 0, 0}, ~0ull};
                barrier_arrive_expect(shared_address(&full[slot]), STAGE_BYTES);
                copy_bytes(shared_address(ring) + slot * STAGE_BYTES, input + (size_t)rank * (STAGE_BYTES / 2), STAGE_BYTES, shared_address(&full[slot]));
            }
            __syncwarp();
            issued += 4, arrived += 4;
            return;
        }
        if (threadIdx.x % 32 == 0)
            ring_work[slot] = tile;
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
                ring_work[slot] = {{0, -1, 0}, 0};
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
    TYPE *output; /* of the lane's first channel */
    int K, P, Q;
    bool stores;  /* its two channels exist */
    float bias0, bias1;

    __device__ __forceinline__ TYPE *tile(const place &at) const
    {
        return output + (GATHERED ? (size_t)at.n * (8 * ROWS) * K : (((size_t)at.n * P + at.y) * Q + at.x) * K);
    }
    __device__ __forceinline__ void store(TYPE *pixel, float low, float high) const
    {
        pack<TYPE, 2> out;
        out.item[0] = from_f32<TYPE>(activate(low + bias0));
        out.item[1] = from_f32<TYPE>(activate(high + bias1));
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

/* GROUPS times eight pixels: lane i has the tile's bit of number i, `count` are pixels. A sum of a few pixels is made in several parts, so that four products are always under way. */
template <int GROUPS>
static __device__ __forceinline__ void multiply_pixels(const consumer &to, TYPE *tile, unsigned stage, const unsigned (*held)[4], int pixel, int count)
{
    constexpr int PARTS = 4 / GROUPS;
    int lane = threadIdx.x % 32;
    float sum[GROUPS][PARTS][4] = {};
    unsigned own[GROUPS]; /* a lane addresses pixel lane % 8 of plane lane / 8 */
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        int bit = __shfl_sync(~0u, pixel, 8 * g + lane % 8);
        own[g] = stage + (bit / 8 * HALO_W + bit % 8) * 16;
    }
    /* Two products' worth of all groups: steps i and i + 1. */
    auto load = [&](unsigned b[GROUPS][4], int i) {
        int tap = i / (C / 16), next = i + 1 < STEPS ? i + 1 : i, t = next / (C / 16);
        unsigned offset = (tap / S * HALO_W + tap % S) * 16 + i % (C / 16) * 2 * PLANE;
        unsigned offset1 = (t / S * HALO_W + t % S) * 16 + next % (C / 16) * 2 * PLANE; /* may be another tap's */
#pragma unroll
        for (int g = 0; g < GROUPS; g++)
            load_matrix_4(b[g], C % 32 == 0 ? own[g] + lane / 8 * PLANE + offset : own[g] + lane / 8 % 2 * PLANE + (lane < 16 ? offset : offset1));
    };
    unsigned b[2][GROUPS][4];
    load(b[0], 0);
#pragma unroll
    for (int i = 0; i < STEPS; i += 2) {
        if (i + 2 < STEPS)
            load(b[(i / 2 + 1) % 2], i + 2); /* on their way while these are multiplied */
#pragma unroll
        for (int half = 0; half < 2 && i + half < STEPS; half++)
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
                multiply_16x8x16<TYPE>(sum[g][(i + half) % PARTS], held[i + half], &b[i / 2 % 2][g][half * 2]);
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float low = 0, high = 0;
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                low += sum[g][part][e], high += sum[g][part][2 + e];
            int number = 8 * g + lane % 4 * 2 + e, bit = __shfl_sync(~0u, pixel, number);
            if (number < count && to.stores)
                to.store(tile + (bit / 8 * to.Q + bit % 8) * to.K, low, high);
        }
}

/* Numbers the active pixels of the tile, for this warp. */
static __device__ __forceinline__ void number_pixels(unsigned char *pixels, unsigned long long active)
{
    __syncwarp(); /* the last tile's have been read */
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int bit = half * 32 + threadIdx.x % 32;
        if (active >> bit & 1)
            pixels[__popcll(active & ((1ull << bit) - 1))] = bit;
    }
    __syncwarp();
}

static __device__ __forceinline__ void consume(const consumer &to)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    unsigned held[STEPS][4];
    /* Row g of a warp's 16 is channel 2 g, row g + 8 is 2 g + 1: a lane ends up with two neighbours (pair_store.cuh). */
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
        int count = __shfl_sync(~0u, __popcll(tile.active), 0);
        TYPE *out = to.tile(tile.at);
        if (count > WHOLE_ABOVE) {
            float sum[4 * ROWS];
            multiply_whole(sum, stage, held);
            if (lane == 0)
                barrier_arrive(shared_address(&empty[slot]));
            unsigned long long own = to.stores ? tile.active >> (lane % 4 * 2) : 0;
            out += lane % 4 * 2 * to.K;
#pragma unroll
            for (int row = 0; row < ROWS; row++, out += to.Q * to.K) {
                if (own >> (8 * row) & 1)
                    to.store(out, sum[4 * row], sum[4 * row + 2]);
                if (own >> (8 * row) & 2)
                    to.store(out + to.K, sum[4 * row + 1], sum[4 * row + 3]);
            }
        } else {
            unsigned char *pixels = numbered[threadIdx.x / 32 - 4];
            number_pixels(pixels, tile.active);
#pragma unroll 1
            for (; count > 0; count -= 32, pixels += 32) {
                int pixel = lane < count ? pixels[lane] : 0;
                if (count > 16)
                    multiply_pixels<4>(to, out, stage, held, pixel, count);
                else if (count > 8)
                    multiply_pixels<2>(to, out, stage, held, pixel, count);
                else
                    multiply_pixels<1>(to, out, stage, held, pixel, count);
            }
            __syncwarp();
            if (lane == 0)
                barrier_arrive(shared_address(&empty[slot]));
        }
    }
}

extern "C" __global__ void __maxnreg__(160)
conv_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, const unsigned long long *tiles, const unsigned *sums,
           unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count)
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
        produce(producer{input, mask_in, image{H, W, P, Q, pad, tiles_x, tiles_y}}, share{tiles, sums, count, words, (words + 127) / 128}, filter, K,
                tiles_active);
    } else {
        take_registers<216>();
        int k = blockIdx.y * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 * 2;
        bool stores = k < K;
        consume({output + k, K, P, GATHERED ? 8 : Q, stores, EPI_BIAS && stores ? bias[k] : 0.0f, EPI_BIAS && stores ? bias[k + 1] : 0.0f});
    }
}
