/* sparse_schedule: which tiles of a sparse convolution are active, and which of them a block computes. Tiles are ROWS rows of 8 outputs.
 *
 * Every block looks at an equal share of the tiles, a thread a tile: the marks ORed over the filter are the output's mask and the tile's own 8 ROWS bits; for
 * every 32 tiles it writes down how many are active, and how much they weigh. Then it leaves a note with the sums of its share, which carries the number
 * of the launch in every word: a note is read until that number is there, so it is data and barrier of the grid in one (all blocks must be resident). From
 * the notes of all blocks the first warpgroup of each knows which tiles are the block's: an equal share of the active tiles, or of their weight, in the order
 * of the image, listed some hundred at a time. There are no atomics: the same mask gives the same schedule.
 *
 * A tile weighs what work it is when it is not computed whole: its active outputs or, with INPUTS, its marked inputs, counted once for each part of a tile whose
 * outputs they reach.
 *
 * Needs ROWS, R, S as constants; STRIDE and DILATION where they are not 1. */
#pragma once
#include "flagged_words.cuh"
#include "mask_bits.cuh"
#include "wgmma_tile.cuh"

#ifndef STRIDE
#define STRIDE 1
#define DILATION 1
#endif
constexpr int TAPS = R * S, HALO_H = ROWS + R - 1, HALO_W = 8 + S - 1; /* of a tile with stride and dilation 1 */
#ifndef INPUTS
#define INPUTS 0
#endif
/* With INPUTS: a part of a tile is so many rows of outputs that its inputs, halo included, are at most 64. */
constexpr int PART_ROWS = (7 + R) * HALO_W <= 64 && ROWS == 8 ? 8 : 4, PART_HALO_H = PART_ROWS + R - 1;
struct place {
    int n, y, x; /* of a tile's first output pixel */
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    return {tile / tiles_x / tiles_y, tile / tiles_x % tiles_y * ROWS, tile % tiles_x * 8};
}

struct work {
    place at; /* y < 0: no more */
    int first; /* what the active tiles before it weigh, or how many they are */
    unsigned long long active;
};
constexpr int LIST = 256;   /* tiles listed at once */
constexpr int SHARES = 128; /* of the tiles, at most: one for each thread that reads notes */
static __shared__ work list[LIST];                                          /* by rank modulo LIST */
static __shared__ unsigned weight_before[SHARES + 1], tiles_before[SHARES + 1]; /* by share */
static __shared__ unsigned rank_first, rank_end, warp_weight[4], warp_tiles[4], looked_weight[16], looked_tiles[16];

struct image {
    int H, W, P, Q, pad, tiles_x, tiles_y; /* tiles_x counts the padding of the mask's words, too */
};

/* What all blocks share in global memory. */
struct common {
    unsigned long long *tiles; /* bit 8 i + j of tiles[tile] is output pixel (i, j) of the tile */
    unsigned char *weights;    /* with INPUTS: of the tiles */
    unsigned *sums;            /* of 32 tiles: weight * 256 + active tiles */
    unsigned *notes;           /* 4 words a block: weight, number of the launch, active tiles, number of the launch */
    int count, shares, words;  /* tiles; shares; sums of a share */
};
static __device__ __forceinline__ common common_of(unsigned long long *tiles, unsigned char *weights, unsigned *sums, unsigned *notes, int count, int shares)
{
    return {tiles, weights, sums, notes, count, shares, ((count + 31) / 32 + shares - 1) / shares};
}

/* Bits 0, STRIDE, 2 STRIDE ... of eight outputs. */
static __device__ __forceinline__ unsigned every_stride(unsigned bits)
{
    unsigned out = 0;
#pragma unroll
    for (int j = 0; j < 8; j++)
        out |= (bits >> (j * STRIDE) & 1) << j;
    return out;
}

/* Parts of a tile that need row i of its halo. */
static __host__ __device__ constexpr int parts_with(int i)
{
    int n = 0;
    for (int first = 0; first < ROWS; first += PART_ROWS)
        n += i >= first && i < first + PART_HALO_H;
    return n;
}

/* The output's mask, the bits and the weight of one tile. */
static __device__ __forceinline__ unsigned long long look_at(int tile, const image &im, const unsigned *mask_in, unsigned char *mask_out, unsigned &weight)
{
    place at = place_of(tile, im.tiles_x, im.tiles_y);
    int words = (im.W + 31) / 32;
    mask_in += (size_t)at.n * im.H * words;
    unsigned inside = at.x + 8 <= im.Q ? 0xff : at.x < im.Q ? (1u << (im.Q - at.x)) - 1 : 0;
    unsigned long long active = 0;
    unsigned inputs = 0;
    mask_out += ((size_t)at.n * im.P + at.y) * im.tiles_x + at.x / 8;
#if STRIDE > 1 || DILATION > 1
#pragma unroll 1
    for (int i = 0; i < ROWS && at.y + i < im.P; i++) {
        unsigned bits = 0;
        for (int tap = 0; tap < TAPS; tap++)
            bits |= every_stride(mask_bits(mask_in, (at.y + i) * STRIDE - im.pad + tap / S * DILATION, at.x * STRIDE - im.pad + tap % S * DILATION, im.H, words));
        bits &= inside;
        mask_out[i * im.tiles_x] = bits;
        active |= (unsigned long long)bits << (8 * i);
    }
#else
    unsigned last[R] = {}; /* rows of the halo, ORed over the filter's columns */
#pragma unroll
    for (int i = 0; i < HALO_H; i++) {
        unsigned row = mask_bits(mask_in, at.y - im.pad + i, at.x - im.pad, im.H, words) & ((1u << HALO_W) - 1), bits = 0;
        last[i % R] = row;
        inputs += INPUTS ? __popc(row) * parts_with(i) : 0;
#pragma unroll
        for (int s = 1; s < S; s++)
            last[i % R] |= row >> s;
#pragma unroll
        for (int r = 0; r < R; r++)
            bits |= last[r];
        bits &= inside;
        if (i >= R - 1 && at.y + i - (R - 1) < im.P) {
            mask_out[(i - (R - 1)) * im.tiles_x] = bits;
            active |= (unsigned long long)bits << (8 * (i - (R - 1)));
        }
    }
#endif
    weight = !INPUTS ? __popcll(active) : active ? inputs : 0;
    return active;
}

/* What every block does first: the number of this launch. Blocks without a share keep count in a note, too. */
static __device__ __forceinline__ unsigned launch_number(const common &all, int block) { return (unsigned)(load_words(all.notes + block * 4).a >> 32) + 1; }

/* Looks at share `own`. All threads of the block. */
static __device__ __forceinline__ void look_at_share(const common &all, int own, unsigned launch, const image &im, const unsigned *mask_in, unsigned char *mask_out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, end = min((own + 1) * all.words * 32, (all.count + 31) / 32 * 32);
    unsigned weight = 0, tiles = 0;
    for (int tile = own * all.words * 32 + threadIdx.x; own < all.shares && tile < end; tile += blockDim.x) {
        unsigned own_weight = 0;
        unsigned long long active = tile < all.count ? look_at(tile, im, mask_in, mask_out, own_weight) : 0;
        if (tile < all.count)
            all.tiles[tile] = active;
        if (INPUTS && tile < all.count)
            all.weights[tile] = own_weight;
        unsigned sum = __reduce_add_sync(~0u, own_weight * 256 + (active != 0));
        if (lane == 0)
            all.sums[tile / 32] = sum;
        weight += sum >> 8, tiles += sum & 255;
    }
    if (lane == 0)
        looked_weight[warp] = weight, looked_tiles[warp] = tiles;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < blockDim.x / 32; i++)
        weight += looked_weight[i], tiles += looked_tiles[i];
    __threadfence(); /* who reads the note can read the whole share */
    store_words(all.notes + own * 4, make_uint2(weight, tiles), launch);
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

/* Waits for all notes of a launch and fills weight_before and tiles_before; the last ones are all of them. 128 threads. */
static __device__ __forceinline__ void add_up(const common &all, unsigned launch)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    words note = {0, 0};
    if (threadIdx.x < all.shares)
        do
            note = load_words_acquire(all.notes + threadIdx.x * 4);
        while (!is_of(note, launch));
    unsigned weight = scan((unsigned)note.a), tiles = scan((unsigned)note.b);
    if (lane == 31)
        warp_weight[warp] = weight, warp_tiles[warp] = tiles;
    warpgroup_sync(0);
    for (int i = 0; i < warp; i++)
        weight += warp_weight[i], tiles += warp_tiles[i];
    weight_before[threadIdx.x + 1] = weight, tiles_before[threadIdx.x + 1] = tiles;
    if (threadIdx.x == 0)
        weight_before[0] = tiles_before[0] = 0;
    warpgroup_sync(0);
}

/* What is counted: active tiles, or their weight. */
struct counting {
    bool weight;
    __device__ __forceinline__ unsigned of(unsigned sum) const { return weight ? sum >> 8 : sum & 255; }
    __device__ __forceinline__ unsigned before(int share) const { return weight ? weight_before[share] : tiles_before[share]; }
};

/* The 32 tiles of a word, of which the first active one has this rank and number: those whose numbers are in [from, to) are listed; the tile that holds number
 * from - 1 is the last before them, the one that holds to - 1 the last of them. */
static __device__ __forceinline__ void list_word(const common &all, const image &im, const counting &count, int word, unsigned number, unsigned rank, unsigned from,
                                                 unsigned to)
{
    int lane = threadIdx.x % 32, tile = word * 32 + lane;
    unsigned long long active = tile < all.count ? __ldcg(all.tiles + tile) : 0;
    unsigned weight = !INPUTS ? __popcll(active) : active && count.weight ? __ldcg(all.weights + tile) : 0;
    unsigned own = count.weight ? weight : active != 0, is = __ballot_sync(~0u, active != 0);
    number += scan(own) - own;
    rank += __popc(is & ((1u << lane) - 1));
    if (active == 0)
        return;
    if (number >= from && number < to)
        list[rank % LIST] = {place_of(tile, im.tiles_x, im.tiles_y), (int)number, active};
    if (number < from && number + own >= from)
        rank_first = rank + 1;
    if (number < to && number + own >= to)
        rank_end = rank + 1;
}

/* Lists the tiles whose numbers are in [from, to), at most LIST apart: ranks rank_first .. rank_end - 1. */
static __device__ __forceinline__ void list_round(const common &all, const image &im, const counting &count, unsigned from, unsigned to)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    warpgroup_sync(0); /* the last round is out */
    if (threadIdx.x == 0 && from == 0)
        rank_first = 0;
    unsigned below = from ? from - 1 : 0;
    for (int s0 = 0; s0 < all.shares; s0 += 32) {
        unsigned here = count.before(s0 + lane), next = count.before(s0 + lane + 1);
        unsigned hit = __ballot_sync(~0u, here < next && here < to && next > below); /* not the empty ones */
        for (; hit; hit &= hit - 1) {
            int share = s0 + __ffs(hit) - 1, limit = min((share + 1) * all.words, (all.count + 31) / 32);
            unsigned number = count.before(share), rank = tiles_before[share];
            for (int first = share * all.words; first < limit; first += 32) {
                unsigned sum = first + lane < limit ? __ldcg(all.sums + first + lane) : 0, numbers = scan(count.of(sum)), ranks = scan(sum & 255);
                unsigned start = number + numbers - count.of(sum);
                unsigned mine = __ballot_sync(~0u, sum != 0 && start < to && number + numbers > below);
                for (; mine; mine &= mine - 1) {
                    int i = __ffs(mine) - 1;
                    unsigned c = __shfl_sync(~0u, start, i), r = rank + __shfl_sync(~0u, ranks - (sum & 255), i);
                    if ((first + i) % 4 == warp)
                        list_word(all, im, count, first + i, c, r, from, to);
                }
                number += __shfl_sync(~0u, numbers, 31), rank += __shfl_sync(~0u, ranks, 31);
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
static __device__ __forceinline__ row_marks load_marks(const work &tile, const image &im, const unsigned *mask)
{
    int lane = threadIdx.x % 32, words = (im.W + 31) / 32, y = tile.at.y - im.pad + lane, word = (tile.at.x - im.pad) >> 5;
    bool inside = lane < HALO_H && y >= 0 && y < im.H;
    const unsigned *row = mask + ((size_t)tile.at.n * im.H + (inside ? y : 0)) * words;
    return {inside && word >= 0 && word < words ? __ldg(row + word) : 0, inside && word + 1 < words ? __ldg(row + word + 1) : 0};
}

