/* sparse_tiles: a sparse convolution on tensor cores, in place, for sm_90a. Its variants differ in one number, WHOLE_ABOVE:
 *   conv2d/sparse_tile   0: every active tile is computed whole
 *   conv2d/very_sparse  64: of every active tile only the active pixels
 *   conv2d/sparse_auto  between: tile by tile, whichever is cheaper
 *
 * Tiles are ROWS rows of 8 pixels, so a tile's row of a mask is a byte and belongs to nobody else. One cooperative launch, a block an SM, three warpgroups:
 *   producer   First all producers look at the mask, a thread a tile: the marks ORed over the filter are the output's mask and the tile's own 8 ROWS bits; for
 *              every 32 tiles they note how many are active and what they will cost. After a barrier of the grid each block adds those notes up and so
 *              knows which tiles are its own: an equal share of the cost, in the order of the image. No list is ever stored, no atomic decides an
 *              order: the same mask gives the same schedule. Then each of the four warps copies tiles with their halo to a ring in shared
 *              memory; only marked pixels are read, the others are zeros (nothing changed there, or the image ends).
 *   consumers  (two) take tiles in turn. All R * S * C weights of 16 output channels lie in a warp's registers (144 for 3x3 of 64 channels), in the order
 *              in which both wgmma and mma.sync take their left operand. Whole: R * S * C / 16 wgmma of 64 channels by 8 ROWS pixels. Pixels: the
 *              active ones are numbered, and eight of them at a time are the columns of an mma, fetched by ldmatrix from wherever in the tile
 *              they lie.
 *
 * A tile lies in shared memory as planes of 8 channels: [channel / 8][row][column][16 bytes]. Eight pixels side by side are a core matrix of wgmma, and any
 * tap is the same operand from another start; it runs at the rate of a swizzled operand (measured on an H200: 34 cycles for 64 columns). A plane is an
 * odd number of 16 bytes modulo 128, so the pieces of a pixel go to different banks.
 *
 * Needs TYPE, C, R, S, ROWS, STAGES, WHOLE_ABOVE, EPI_BIAS, EPI_SLOPE as constants. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "mask_bits.cuh"
#include "wgmma_tile.cuh"

constexpr int TAPS = R * S, PIECES = C / 8, STEPS = TAPS * C / 16; /* pieces of 16 bytes in a pixel; products of 16 channels */
constexpr int HALO_H = ROWS + R - 1, HALO_W = 8 + S - 1;
constexpr int PLANE = (HALO_H * HALO_W * 16 - 16 + 127) / 128 * 128 + 16;
constexpr int STAGE_BYTES = PIECES * PLANE;
constexpr int DEPTH = STAGES / 4;                  /* tiles that a warp has on their way */
constexpr int WEIGHTS_PITCH = TAPS * C * 2 + 16;   /* of an output channel's weights in shared memory */
constexpr int COST_WHOLE = ROWS + 1, COST_LEAST = WHOLE_ABOVE ? 3 : COST_WHOLE;
constexpr int LIST = 256, ROUND = (LIST - 1) * COST_LEAST; /* cost of a round: at most LIST tiles */

/* In eighths of a whole tile's products, and one for what every tile costs. Eight single pixels take about twice as long as eight of a whole tile. */
static __device__ __forceinline__ int cost_of(unsigned long long active)
{
    int pixels = __popcll(active);
    return pixels == 0 ? 0 : pixels > WHOLE_ABOVE ? COST_WHOLE : 1 + (pixels + 7) / 8 * 2;
}

struct place {
    int n, y, x; /* of a tile's first output pixel */
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    return {tile / tiles_x / tiles_y, tile / tiles_x % tiles_y * ROWS, tile % tiles_x * 8};
}

struct work {
    place at; /* y < 0: no more */
    unsigned long long active;
};
extern __shared__ __align__(128) unsigned char ring[];              /* of tiles; before the first of them, the weights */
static __shared__ unsigned long long full[STAGES], empty[STAGES], weights_come, weights_held; /* barriers */
static __shared__ work ring_work[STAGES], list[LIST];                /* list: by rank modulo LIST */
static __shared__ unsigned cost_before[129], rank_before[129];       /* by slice of the sums */
static __shared__ unsigned rank_first, rank_end, warp_cost[4], warp_rank[4];
static __shared__ unsigned char numbered[8][64];                     /* by consuming warp: its active pixels, as bits of the tile */

/* --- producer: 128 threads --- */

struct image {
    int H, W, P, Q, pad, tiles_x, tiles_y; /* tiles_x counts the padding of the mask's words, too */
};

/* What all blocks share in global memory. */
struct share {
    unsigned long long *tiles; /* bit 8 i + j of tiles[tile] is output pixel (i, j) of the tile */
    unsigned *sums;            /* of 32 tiles: cost * 256 + active tiles */
    unsigned *arrived;         /* blocks at the barrier, of all launches so far */
    int count, words, slice;   /* tiles; sums; how many of them a thread adds up */
};

/* The output's mask and the bits of one tile. */
static __device__ __forceinline__ unsigned long long look_at(int tile, const image &im, const unsigned *mask_in, unsigned char *mask_out)
{
    place at = place_of(tile, im.tiles_x, im.tiles_y);
    int words = (im.W + 31) / 32;
    mask_in += (size_t)at.n * im.H * words;
    unsigned wide[HALO_H]; /* rows of the halo, ORed over the filter's columns */
#pragma unroll
    for (int i = 0; i < HALO_H; i++) {
        unsigned row = mask_bits(mask_in, at.y - im.pad + i, at.x - im.pad, im.H, words);
        wide[i] = row;
#pragma unroll
        for (int s = 1; s < S; s++)
            wide[i] |= row >> s;
    }
    unsigned inside = at.x + 8 <= im.Q ? 0xff : at.x < im.Q ? (1u << (im.Q - at.x)) - 1 : 0;
    unsigned long long active = 0;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        unsigned bits = 0;
#pragma unroll
        for (int r = 0; r < R; r++)
            bits |= wide[i + r];
        bits &= inside;
        if (at.y + i < im.P) {
            mask_out[((size_t)at.n * im.P + at.y + i) * im.tiles_x + at.x / 8] = bits;
            active |= (unsigned long long)bits << (8 * i);
        }
    }
    return active;
}

/* All tiles, by all blocks: a warp 32 of them. */
static __device__ __forceinline__ void look_at_all(const share &all, const image &im, const unsigned *mask_in, unsigned char *mask_out)
{
    int lane = threadIdx.x % 32, block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
    for (int word = block * 4 + threadIdx.x / 32; word < all.words; word += blocks * 4) {
        int tile = word * 32 + lane;
        unsigned long long active = tile < all.count ? look_at(tile, im, mask_in, mask_out) : 0;
        if (tile < all.count)
            all.tiles[tile] = active;
        unsigned sum = __reduce_add_sync(~0u, cost_of(active) * 256 + (active != 0));
        if (lane == 0)
            all.sums[word] = sum;
    }
}

/* Waits for the producers of all blocks: what they wrote before is there. The count only grows: every launch adds the number of blocks. */
static __device__ __forceinline__ void wait_for_all(unsigned *arrived)
{
    __threadfence();
    warpgroup_sync(0);
    if (threadIdx.x == 0) {
        unsigned blocks = gridDim.x * gridDim.y, before, now;
        asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
        unsigned whole = before - before % blocks + blocks;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
        while ((int)(now - whole) < 0);
    }
    warpgroup_sync(0);
    __threadfence();
}

static __device__ __forceinline__ unsigned scan(unsigned x)
{
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
        unsigned other = __shfl_up_sync(~0u, x, i);
        x += threadIdx.x % 32 >= i ? other : 0;
    }
    return x;
}

/* Fills cost_before and rank_before; the last ones are all of it. */
static __device__ __forceinline__ void add_up(const share &all)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned cost = 0, rank = 0;
#pragma unroll 4
    for (int i = threadIdx.x * all.slice; i < min((threadIdx.x + 1) * all.slice, all.words); i++) {
        unsigned sum = __ldcg(all.sums + i);
        cost += sum >> 8, rank += sum & 255;
    }
    unsigned costs = scan(cost), ranks = scan(rank);
    if (lane == 31)
        warp_cost[warp] = costs, warp_rank[warp] = ranks;
    warpgroup_sync(0);
    costs -= cost, ranks -= rank;
    for (int i = 0; i < warp; i++)
        costs += warp_cost[i], ranks += warp_rank[i];
    cost_before[threadIdx.x] = costs, rank_before[threadIdx.x] = ranks;
    if (threadIdx.x == 127)
        cost_before[128] = costs + cost, rank_before[128] = ranks + rank;
    warpgroup_sync(0);
}

/* The 32 tiles of a word, of which the first active one has this rank and starts at this cost: those that start in [from, to) are listed, the one that holds
 * cost from - 1 is the last before them, the one that holds to - 1 the last of them. */
static __device__ __forceinline__ void list_word(const share &all, const image &im, int word, unsigned cost, unsigned rank, unsigned from, unsigned to)
{
    int lane = threadIdx.x % 32, tile = word * 32 + lane;
    unsigned long long active = tile < all.count ? __ldcg(all.tiles + tile) : 0;
    unsigned own = cost_of(active), is = __ballot_sync(~0u, own != 0);
    cost += scan(own) - own;
    rank += __popc(is & ((1u << lane) - 1));
    if (own == 0)
        return;
    if (cost >= from && cost < to)
        list[rank % LIST] = {place_of(tile, im.tiles_x, im.tiles_y), active};
    if (cost < from && cost + own >= from)
        rank_first = rank + 1;
    if (cost < to && cost + own >= to)
        rank_end = rank + 1;
}

/* Lists the tiles that start in [from, to) of the cost. */
static __device__ __forceinline__ void list_round(const share &all, const image &im, unsigned from, unsigned to)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    warpgroup_sync(0); /* the last round is out */
    if (threadIdx.x == 0 && from == 0)
        rank_first = 0;
    unsigned below = from ? from - 1 : 0;
    for (int s0 = 0; s0 < 128; s0 += 32) {
        unsigned hit = __ballot_sync(~0u, cost_before[s0 + lane] < to && cost_before[s0 + lane + 1] > below);
        for (; hit; hit &= hit - 1) {
            int s = s0 + __ffs(hit) - 1;
            unsigned cost = cost_before[s], rank = rank_before[s];
            for (int first = s * all.slice; first < min((s + 1) * all.slice, all.words); first += 32) {
                int word = first + lane, limit = min((s + 1) * all.slice, all.words);
                unsigned sum = word < limit ? __ldcg(all.sums + word) : 0, costs = scan(sum >> 8), ranks = scan(sum & 255);
                unsigned start = cost + costs - (sum >> 8);
                unsigned mine = __ballot_sync(~0u, sum != 0 && start < to && cost + costs > below);
                for (; mine; mine &= mine - 1) {
                    int i = __ffs(mine) - 1;
                    unsigned c = __shfl_sync(~0u, start, i), r = rank + __shfl_sync(~0u, ranks - (sum & 255), i);
                    if ((first + i) % 4 == warp)
                        list_word(all, im, first + i, c, r, from, to);
                }
                cost += __shfl_sync(~0u, costs, 31), rank += __shfl_sync(~0u, ranks, 31);
            }
        }
    }
    warpgroup_sync(0);
}

/* The marks of a tile's inputs: lane i has those of row i of its halo, as the two words they lie in. */
struct row_marks {
    unsigned low, high;
    __device__ __forceinline__ unsigned bits(const work &tile, int pad) const { return __funnelshift_r(low, high, tile.at.x - pad); }
};

constexpr int CHUNKS = (HALO_W * PIECES + 31) / 32; /* of 32 pieces in a row of the halo */

/* A warp of the producer copies a tile by itself: the four have four tiles on their way, and up to DEPTH each. */
struct producer {
    const TYPE *input;
    const unsigned *mask;
    int H, W, pad;
    int issued, arrived; /* the ring's numbers of the warp's next tile to copy, and to announce */

    __device__ __forceinline__ row_marks marks(const work &tile) const
    {
        int lane = threadIdx.x % 32, words = (W + 31) / 32, y = tile.at.y - pad + lane, word = (tile.at.x - pad) >> 5;
        bool inside = lane < HALO_H && y >= 0 && y < H;
        const unsigned *row = mask + ((size_t)tile.at.n * H + (inside ? y : 0)) * words;
        return {inside && word >= 0 && word < words ? __ldg(row + word) : 0, inside && word + 1 < words ? __ldg(row + word + 1) : 0};
    }
    __device__ __forceinline__ void arrive_oldest()
    {
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&full[arrived % STAGES]));
        arrived += 4;
    }
    __device__ __forceinline__ void put(const work &tile, const row_marks &marks)
    {
        int lane = threadIdx.x % 32, slot = issued % STAGES;
        unsigned to = shared_address(ring) + slot * STAGE_BYTES + lane % PIECES * PLANE + lane / PIECES * 16, own = marks.bits(tile, pad);
        const TYPE *from = input + (((long long)tile.at.n * H + tile.at.y - pad) * W + tile.at.x - pad) * C + lane * 8;
        barrier_wait(shared_address(&empty[slot]), issued / STAGES & 1 ^ 1);
        if (lane == 0)
            ring_work[slot] = tile;
#pragma unroll
        for (int i = 0; i < HALO_H; i++, from += W * C, to += HALO_W * 16) {
            unsigned bits = __shfl_sync(~0u, own, i);
#pragma unroll
            for (int j = 0; j < CHUNKS; j++) {
                int piece = j * 32 + lane; /* 32 / PIECES pixels further on, or with 6 pieces somewhere else */
                unsigned here = 32 % PIECES == 0 ? to + j * (32 / PIECES * 16) : to + piece % PIECES * PLANE + piece / PIECES * 16 - (lane % PIECES * PLANE + lane / PIECES * 16);
                if (piece < HALO_W * PIECES) /* of 0 bytes nothing is read, wherever that would be */
                    copy_async_16_of(here, from + j * 256, bits >> (piece / PIECES) << 4 & 16);
            }
        }
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

static __device__ __forceinline__ void produce(producer p, const share &all, const image &im, unsigned char *mask_out, const TYPE *filter, int K,
                                               unsigned *tiles_active)
{
    if (threadIdx.x < 32)
        ask_weights(filter, blockIdx.y * 64, K);
    look_at_all(all, im, p.mask, mask_out);
    wait_for_all(all.arrived);
    add_up(all);
    if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        *tiles_active = rank_before[128];
    unsigned total = cost_before[128];
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
    int warp = threadIdx.x / 32, before = 0; /* tiles of earlier rounds */
    p.issued = p.arrived = warp;
    for (; from < end; from += ROUND) {
        list_round(all, im, from, min(from + ROUND, end));
        unsigned rank = rank_first - before; /* of the ring's tile 0 */
        before += rank_end - rank_first;
        if (p.issued >= before)
            continue;
        row_marks marks = p.marks(list[(rank + p.issued) % LIST]);
        if (p.issued < 4)
            barrier_wait(shared_address(&weights_held), 0);
        while (p.issued < before) {
            const work &tile = list[(rank + p.issued) % LIST];
            row_marks next = marks;
            if (p.issued + 4 < before) /* on their way while this tile's copies are issued */
                next = p.marks(list[(rank + p.issued + 4) % LIST]);
            p.put(tile, marks);
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

    __device__ __forceinline__ TYPE *tile(const place &at) const { return output + (((size_t)at.n * P + at.y) * Q + at.x) * K; }
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
#pragma unroll
    for (int i = 0; i < STEPS; i += 2) {
        int tap = i / (C / 16), c = i % (C / 16), offset = (tap / S * HALO_W + tap % S) * 16 + c * 2 * PLANE;
        unsigned b[GROUPS][4];
        if (C % 32 == 0) {
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
                load_matrix_4(b[g], own[g] + lane / 8 * PLANE + offset);
        } else { /* the next 16 channels may be another tap's */
            int next = i + 1 < STEPS ? i + 1 : i, t = next / (C / 16);
            int offset1 = (t / S * HALO_W + t % S) * 16 + next % (C / 16) * 2 * PLANE;
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
                load_matrix_4(b[g], own[g] + lane / 8 % 2 * PLANE + (lane < 16 ? offset : offset1));
        }
#pragma unroll
        for (int half = 0; half < 2 && i + half < STEPS; half++)
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
                multiply_16x8x16<TYPE>(sum[g][(i + half) % PARTS], held[i + half], &b[g][half * 2]);
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

extern "C" __global__ void __launch_bounds__(384, 1)
conv_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned char *mask_out, unsigned long long *tiles, unsigned *sums,
           unsigned *arrived, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count)
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
        give_registers<56>();
        int words = (count + 31) / 32;
        produce(producer{input, mask_in, H, W, pad}, share{tiles, sums, arrived, count, words, (words + 127) / 128}, image{H, W, P, Q, pad, tiles_x, tiles_y},
                mask_out, filter, K, tiles_active);
    } else {
        take_registers<224>();
        int k = blockIdx.y * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 * 2;
        bool stores = k < K;
        consume({output + k, K, P, Q, stores, EPI_BIAS && stores ? bias[k] : 0.0f, EPI_BIAS && stores ? bias[k + 1] : 0.0f});
    }
}
