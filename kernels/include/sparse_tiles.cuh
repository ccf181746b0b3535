/* sparse_tiles: a sparse convolution on tensor cores, in place, for sm_90a. Its variants differ in what a product's columns are:
 *   conv2d/sparse_tile    WHOLE: the pixels of an active tile, active or not
 *   conv2d/very_sparse    PIXELS: 64 active pixels from wherever they are
 *   conv2d/sparse_auto    both: one of them for the whole launch, from the numbers of active tiles and pixels
 *   conv2d/sparse_gather  WHOLE, and GATHERED: tiles come from and go to memory of their own, which other kernels fill and empty
 *
 * Tiles are ROWS rows of 8 pixels. Behind list_tiles one launch, a block an SM, three warpgroups:
 *   producer   finds out which tiles are the block's (sparse_schedule.cuh); then its four warps fill a ring in shared memory. Whole: a slot is a tile with
 *              its halo (sparse_copy.cuh), a tap is the same operand from another start. Pixels: a slot is one tap of 64 pixels, so every input comes
 *              once a tap, but only what is marked is read: the rest are zeros.
 *   consumers  (two) take tiles, or 64 pixels, in turn. All R * S * C weights of 16 output channels lie in a warp's registers (144 for 3x3 of 64 channels);
 *              R * S * C / 16 wgmma of 64 channels by 8 ROWS or 64 pixels.
 *
 * Needs TYPE, C, R, S, ROWS, STAGES, WHOLE, PIXELS, SWITCH, EPI_BIAS, EPI_SLOPE as constants. SWITCH: with both, pixels are taken when fewer than so many of
 * a hundred in the active tiles are active. */
#pragma once
#define SLICE C
#include "sparse_copy.cuh"
#include "sparse_store.cuh"

#ifndef GATHERED
#define GATHERED 0
#endif
constexpr int DEPTH = STAGES / 4; /* tiles that a warp has on their way */

/* One tap of 64 pixels: planes of 8 channels as a tile's, all pixels side by side. */
constexpr int TAP_STAGES = TAPS < 3 ? TAPS * 8 : 20, TAP_DEPTH = 2, TAP_PLANE = 64 * 16 + 16, TAP_BYTES = PIECES * TAP_PLANE;
constexpr int SLOTS = STAGES > TAP_STAGES ? STAGES : TAP_STAGES;
constexpr int NUMBERED = 1024; /* ten times 64 pixels may be under way, eight of them in the ring, when LIST + 63 are numbered behind 63 that wait */

struct pixel {
    int in_row, out_row, x; /* rows of all images: of the first tap, n * H + y * STRIDE - pad, and n * P + y */
    unsigned marks;         /* bit r * S + s: the input through tap (r, s) is marked */
};

extern __shared__ __align__(128) unsigned char ring[];              /* of tiles or taps; before the first of them, the weights */
static __shared__ unsigned long long full[SLOTS], empty[SLOTS], weights_come, weights_held, decided, turn[2]; /* barriers */
static __shared__ work ring_work[SLOTS];
static __shared__ pixel numbered[PIXELS ? NUMBERED : 1];            /* by number modulo NUMBERED, from the block's first */
static __shared__ int ring_pixels[SLOTS];                           /* of 64, how many there are; < 0: no more */
static __shared__ bool by_pixels;
static __shared__ __align__(128) unsigned char staging[2][staged_bytes(PIXELS ? 8 : ROWS)];

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
                ring_work[slot] = {{(int)rank, 0, 0}, 0, ~0ull};
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
                ring_work[slot] = {{0, -1, 0}, 0, 0};
            arrive_oldest();
        }
    }
};

/* The filter of channels k0 .. k0 + 63 comes to shared memory, a row for each, WEIGHTS_PITCH apart: eight rows start in eight different groups of banks. A warp. */
static __device__ __forceinline__ void ask_weights(const TYPE *filter, int k0, int K)
{
    unsigned come = shared_address(&weights_come);
    int lane = threadIdx.x % 32;
    if (lane == 0)
        barrier_arrive_expect(come, 64 * TAPS * C * 2);
    __syncwarp();
    for (int i = lane; i < 64; i += 32) /* channels past the last are copies of it: they are computed and not stored */
        copy_bytes(shared_address(ring) + i * WEIGHTS_PITCH, filter + (size_t)min(k0 + i, K - 1) * TAPS * C, TAPS * C * 2, come);
}

static __device__ __forceinline__ void produce_tiles(producer p, const common &all, unsigned from, unsigned end)
{
    int warp = threadIdx.x / 32, before = 0; /* tiles of earlier rounds */
    p.issued = p.arrived = warp;
    for (; from < end; from += LIST) {
        list_round(all, p.im, {false}, from, min(from + LIST, end));
        unsigned rank = rank_first - before; /* of the ring's tile 0 */
        before += rank_end - rank_first;
        if (p.issued >= before)
            continue;
        row_marks marks = load_marks(list[(rank + p.issued) % LIST], p.im, p.mask);
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

#if PIXELS
/* The ring of taps: slot i is tap i % TAPS of the block's 64 pixels number i / TAPS, and warp i % 4 fills it. */
struct tap_producer {
    const TYPE *input;
    const unsigned *mask;
    image im;
    int issued, arrived;

    __device__ __forceinline__ void arrive_oldest()
    {
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&full[arrived % TAP_STAGES]));
        arrived += 4;
    }
    /* A warp numbers the active pixels of a tile. first: the number of the block's first. */
    __device__ __forceinline__ void number_pixels(const work &tile, unsigned first) const
    {
        int words = (im.W + 31) / 32;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int bit = half * 32 + threadIdx.x % 32, y = tile.at.y + bit / 8, x = tile.at.x + bit % 8;
            if (!(tile.active >> bit & 1))
                continue;
            unsigned marks = 0;
#pragma unroll
            for (int r = 0; r < R; r++) {
                unsigned row = mask_bits(mask + (size_t)tile.at.n * im.H * words, y * STRIDE - im.pad + r * DILATION, x * STRIDE - im.pad, im.H, words);
#pragma unroll
                for (int s = 0; s < S; s++)
                    marks |= (row >> (s * DILATION) & 1) << (r * S + s);
            }
            numbered[(tile.first - first + __popcll(tile.active & ((1ull << bit) - 1))) % NUMBERED] = {tile.at.n * im.H + y * STRIDE - im.pad, tile.at.n * im.P + y, x, marks};
        }
    }
    /* The warp's taps of 64 pixels, `count` of which there are. */
    __device__ __forceinline__ void put(int sixty_four, int count)
    {
        int lane = threadIdx.x % 32;
        unsigned at[2], marks[2]; /* of pixels lane and lane + 32: where their first tap lies, in 16 bytes */
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int number = half * 32 + lane;
            const pixel &own = numbered[(sixty_four * 64 + min(number, count - 1)) % NUMBERED];
            at[half] = ((unsigned)own.in_row * im.W + own.x * STRIDE - im.pad) * PIECES;
            marks[half] = number < count ? own.marks : 0;
        }
        for (; issued < (sixty_four + 1) * TAPS; issued += 4) {
            int tap = issued % TAPS, slot = issued % TAP_STAGES;
            unsigned to = shared_address(ring) + slot * TAP_BYTES, further = (tap / S * im.W + tap % S) * DILATION * PIECES;
            barrier_wait(shared_address(&empty[slot]), issued / TAP_STAGES & 1 ^ 1);
            if (lane == 0)
                ring_pixels[slot] = count;
#pragma unroll 4 /* all of them would need more registers than there are */
            for (int j = 0; j < 2 * PIECES; j++) {
                int number = (j * 32 + lane) / PIECES, piece = (j * 32 + lane) % PIECES;
                unsigned from = __shfl_sync(~0u, j < PIECES ? at[0] : at[1], number % 32), own = __shfl_sync(~0u, j < PIECES ? marks[0] : marks[1], number % 32);
                if (32 % PIECES != 0) { /* the lanes' pixels may be of both halves */
                    unsigned low = __shfl_sync(~0u, at[0], number % 32), low_own = __shfl_sync(~0u, marks[0], number % 32);
                    unsigned high = __shfl_sync(~0u, at[1], number % 32), high_own = __shfl_sync(~0u, marks[1], number % 32);
                    from = number < 32 ? low : high, own = number < 32 ? low_own : high_own;
                }
                from += further + piece; /* right where the input is marked, whatever was below 0 */
                copy_async_16_of(to + piece * TAP_PLANE + number * 16, input + (size_t)from * 8, own >> tap << 4 & 16);
            }
            copy_async_commit();
            if (issued + 4 - arrived == 4 * TAP_DEPTH) {
                copy_async_wait<TAP_DEPTH - 1>();
                arrive_oldest();
            }
        }
    }
    __device__ __forceinline__ void finish(int all)
    {
        copy_async_wait<0>();
        while (arrived < issued)
            arrive_oldest();
        for (int i = all * TAPS; i <= (all + 1) * TAPS; i += TAPS) { /* the first taps that do not come, one for each consumer */
            if (i % 4 != threadIdx.x / 32)
                continue;
            barrier_wait(shared_address(&empty[i % TAP_STAGES]), i / TAP_STAGES & 1 ^ 1);
            if (threadIdx.x % 32 == 0)
                ring_pixels[i % TAP_STAGES] = -1;
            arrived = i;
            arrive_oldest();
        }
    }
};

static __device__ __forceinline__ void produce_pixels(tap_producer p, const common &all, unsigned from, unsigned end)
{
    unsigned first = 0, last = 0; /* numbers of the block's first pixel, and of the one behind its last so far */
    int done = 0;                 /* groups of 64 */
    p.issued = p.arrived = threadIdx.x / 32;
    for (bool begun = false; from < end; from += LIST) {
        list_round(all, p.im, {true}, from, min(from + LIST, end));
        if (rank_first < rank_end) {
            const work &tail = list[(rank_end - 1) % LIST];
            first = begun ? first : list[rank_first % LIST].first;
            last = tail.first + __popcll(tail.active);
            begun = true;
        }
        for (unsigned rank = rank_first + threadIdx.x / 32; rank < rank_end; rank += 4)
            p.number_pixels(list[rank % LIST], first);
        warpgroup_sync(0);
        bool over = from + LIST >= end;
        for (; (done + 1) * 64 <= last - first || (over && done * 64 < last - first); done++)
            p.put(done, min(64, last - first - done * 64));
    }
    p.finish(done);
}
#endif

static __device__ __forceinline__ void produce(const producer &p, const common &all, unsigned launch, unsigned *tiles_active)
{
    add_up(all, launch);
    unsigned tiles = tiles_before[SHARES], pixels = pixels_before[SHARES];
    bool choice = PIXELS && (!WHOLE || pixels * 100ull < tiles * (8ull * ROWS * SWITCH));
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0 && blockIdx.y == 0)
            *tiles_active = tiles;
        by_pixels = choice;
        barrier_arrive(shared_address(&decided));
    }
    unsigned total = choice ? pixels : tiles;
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
    if (from < end)
        barrier_wait(shared_address(&weights_held), 0);
#if PIXELS
    if (choice) {
        produce_pixels({p.input, p.mask, p.im, 0, 0}, all, from, end);
        return;
    }
#endif
    produce_tiles(p, all, from, end);
}

/* --- consumers: two warpgroups --- */

struct consumer {
    staged_pixels staged;
    TYPE *output; /* of the first channel */
    int K, P, Q;
};

/* The consumers take turns: one computes while the other stores. Side by side they would share the tensor cores and then store together. */
static __device__ __forceinline__ void multiply_whole(float sum[4 * ROWS], unsigned stage, const unsigned (*held)[4], int me, int round)
{
    unsigned long long tile = matrix_planes(stage, PLANE, HALO_W * 16);
    barrier_wait(shared_address(&turn[me]), (me == 0) ^ (round & 1));
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        int tap = i / (C / 16), c = i % (C / 16); /* descriptors count in 16 bytes */
        wgmma_registers<TYPE, 8 * ROWS>(sum, held[i], tile + (c * 2 * PLANE / 16 + tap / S * HALO_W + tap % S), i > 0);
    }
    wgmma_commit();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(shared_address(&turn[me ^ 1]));
    wgmma_wait<0>();
}

static __device__ __forceinline__ void consume_tiles(const consumer &to, const unsigned (*held)[4])
{
    int lane = threadIdx.x % 32;
    int me = warpgroup_index() - 1;
    for (int i = me;; i += 2) {
        int slot = i % STAGES;
        barrier_wait(shared_address(&full[slot]), i / STAGES & 1);
        work tile = ring_work[slot];
        if (__shfl_sync(~0u, tile.at.y, 0) < 0)
            return;
        float sum[4 * ROWS];
        multiply_whole(sum, shared_address(ring) + slot * STAGE_BYTES, held, me, i / 2);
        if (lane == 0)
            barrier_arrive(shared_address(&empty[slot]));
        int first = to.staged.first_pixel();
        TYPE *out = to.output + (GATHERED ? (size_t)tile.at.n * (8 * ROWS) * to.K : (((size_t)tile.at.n * to.P + tile.at.y) * to.Q + tile.at.x) * to.K) +
                    (first / 8 * to.Q + first % 8) * to.K;
        to.staged.store<ROWS>(sum, [&](int ahead, int pixel) { return tile.active >> pixel & 1 ? out + (ahead / 8 * to.Q + ahead % 8) * to.K : nullptr; });
    }
}

#if PIXELS
static __device__ __forceinline__ void consume_pixels(const consumer &to, const unsigned (*held)[4])
{
    int lane = threadIdx.x % 32;
    for (int sixty_four = warpgroup_index() - 1;; sixty_four += 2) {
        float sum[32];
        int count = 0;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            int i = sixty_four * TAPS + tap, slot = i % TAP_STAGES;
            barrier_wait(shared_address(&full[slot]), i / TAP_STAGES & 1);
            if (tap == 0) {
                count = __shfl_sync(~0u, ring_pixels[slot], 0);
                if (count < 0)
                    return;
            }
            unsigned long long pixels = matrix_planes(shared_address(ring) + slot * TAP_BYTES, TAP_PLANE, 128);
            wgmma_begin();
#pragma unroll
            for (int c = 0; c < C / 16; c++)
                wgmma_registers<TYPE, 64>(sum, held[tap * (C / 16) + c], pixels + c * 2 * (TAP_PLANE / 16), tap + c > 0);
            wgmma_commit();
            if (tap > 0) { /* the tap before has been read */
                wgmma_wait<1>();
                if (lane == 0)
                    barrier_arrive(shared_address(&empty[(i - 1) % TAP_STAGES]));
            }
        }
        wgmma_wait<0>();
        if (lane == 0)
            barrier_arrive(shared_address(&empty[(sixty_four * TAPS + TAPS - 1) % TAP_STAGES]));
        to.staged.store<8>(sum, [&](int, int number) {
            const pixel &own = numbered[(sixty_four * 64 + number) % NUMBERED];
            return number < count ? to.output + ((size_t)own.out_row * to.Q + own.x) * to.K : nullptr;
        });
    }
}
#endif

static __device__ __forceinline__ void consume(const consumer &to)
{
    int lane = threadIdx.x % 32;
    unsigned held[STEPS][4];
    unsigned own = shared_address(ring) + (threadIdx.x / 32 % 4 * 16 + lane % 16) * WEIGHTS_PITCH + lane / 16 * 16;
    barrier_wait(shared_address(&weights_come), 0);
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        load_matrix_4(held[i], own + i * 32);
    if (lane == 0)
        barrier_arrive(shared_address(&weights_held));
    barrier_wait(shared_address(&decided), 0);
#if PIXELS
    if (by_pixels) {
        consume_pixels(to, held);
        return;
    }
#endif
    consume_tiles(to, held);
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned char *mask_out, unsigned long long *tiles, unsigned *sums,
           unsigned *notes, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count, int shares)
{
    common all = common_of(tiles, sums, notes, count, shares);
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    int own = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned launch = GATHERED ? launch_number(all, 0) - 1 : launch_number(all, own); /* gathered: of the launch before, which looked */
    if (threadIdx.x == 0) {
        for (int i = 0; i < SLOTS; i++) {
            barrier_init(shared_address(&full[i]), 1);
            barrier_init(shared_address(&empty[i]), 4); /* a lane of each warp of the consumer whose turn it is */
        }
        barrier_init(shared_address(&weights_come), 1);
        barrier_init(shared_address(&weights_held), 8);
        barrier_init(shared_address(&decided), 1);
        barrier_init(shared_address(&turn[0]), 4);
        barrier_init(shared_address(&turn[1]), 4);
        barrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x >= 352)
        ask_weights(filter, blockIdx.y * 64, K);
    if (!GATHERED)
        look_at_share(all, own, launch, im, mask_in, mask_out);
    if (threadIdx.x < 128) {
        give_registers<56>();
        produce(producer{input, mask_in, im}, all, launch, tiles_active);
    } else {
        take_registers<224>();
        int k0 = blockIdx.y * 64, group = warpgroup_index();
        consume({staged_pixels(staging[group - 1], group, bias, k0, K), output + k0, K, P, GATHERED ? 8 : Q});
    }
}
