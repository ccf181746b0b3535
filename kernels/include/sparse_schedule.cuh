/* sparse_schedule: which tiles of a sparse convolution are active, and which of them a block computes. Tiles are ROWS rows of 8 outputs.
 *
 * A kernel of its own, list_tiles, looks at the mask, a thread a tile: the marks ORed over the filter are the output's mask and the tile's own 8 ROWS bits; for
 * every 32 tiles it notes how many are active, and how many of their pixels. The kernel that computes is launched beside it (pdl) and loads its weights meanwhile;
 * it must leave 4096 registers of an SM free, or it has to wait: hence 160 a thread at most, not the 168 that 384 threads could have. Then the first
 * warpgroup of each block adds the notes up and so knows which tiles are the block's: an equal share of the active tiles, or of the active pixels, in the
 * order of the image, listed some hundred at a time. There are no atomics: the same mask gives the same schedule.
 *
 * Needs ROWS, R, S as constants; STRIDE and DILATION where they are not 1. */
#pragma once
#include "mask_bits.cuh"
#include "wgmma_tile.cuh"

#ifndef STRIDE
#define STRIDE 1
#define DILATION 1
#endif
constexpr int TAPS = R * S, HALO_H = ROWS + R - 1, HALO_W = 8 + S - 1; /* of a tile with stride and dilation 1 */
struct place {
    int n, y, x; /* of a tile's first output pixel */
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    return {tile / tiles_x / tiles_y, tile / tiles_x % tiles_y * ROWS, tile % tiles_x * 8};
}

struct work {
    place at; /* y < 0: no more */
    int first; /* its number among the active tiles, or the number of its first pixel among the active pixels */
    unsigned long long active;
};
constexpr int LIST = 256; /* tiles listed at once */
static __shared__ work list[LIST];                             /* by rank modulo LIST */
static __shared__ unsigned pixels_before[129], tiles_before[129]; /* by slice of the sums */
static __shared__ unsigned near_sums[1024];                   /* the first of the sums */
static __shared__ unsigned rank_first, rank_end, warp_pixels[4], warp_tiles[4];

struct image {
    int H, W, P, Q, pad, tiles_x, tiles_y; /* tiles_x counts the padding of the mask's words, too */
};

/* What all blocks share in global memory. */
struct share {
    const unsigned long long *tiles; /* bit 8 i + j of tiles[tile] is output pixel (i, j) of the tile */
    const unsigned *sums;            /* of 32 tiles: active pixels * 256 + active tiles */
    int count, words, slice;         /* tiles; sums; how many of them a thread adds up */
};

/* Bits 0, STRIDE, 2 STRIDE ... of eight outputs. */
static __device__ __forceinline__ unsigned every_stride(unsigned bits)
{
    unsigned out = 0;
#pragma unroll
    for (int j = 0; j < 8; j++)
        out |= (bits >> (j * STRIDE) & 1) << j;
    return out;
}

/* The output's mask and the bits of one tile. */
static __device__ __forceinline__ unsigned long long look_at(int tile, const image &im, const unsigned *mask_in, unsigned char *mask_out)
{
    place at = place_of(tile, im.tiles_x, im.tiles_y);
    int words = (im.W + 31) / 32;
    mask_in += (size_t)at.n * im.H * words;
    unsigned inside = at.x + 8 <= im.Q ? 0xff : at.x < im.Q ? (1u << (im.Q - at.x)) - 1 : 0;
    unsigned long long active = 0;
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
    return active;
}

extern "C" __global__ void __launch_bounds__(128, 16)
list_tiles(const unsigned *mask_in, unsigned char *mask_out, unsigned long long *tiles, unsigned *sums, int H, int W, int P, int Q, int pad, int tiles_x,
           int tiles_y, int count)
{
    asm volatile("griddepcontrol.launch_dependents;");
    int tile = blockIdx.x * 128 + threadIdx.x;
    unsigned long long active = tile < count ? look_at(tile, {H, W, P, Q, pad, tiles_x, tiles_y}, mask_in, mask_out) : 0;
    if (tile < count)
        tiles[tile] = active;
    unsigned sum = __reduce_add_sync(~0u, __popcll(active) * 256 + (active != 0));
    if (threadIdx.x % 32 == 0 && tile < count)
        sums[tile / 32] = sum;
}

/* What list_tiles wrote is there. */
static __device__ __forceinline__ void wait_for_tiles() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

static __device__ __forceinline__ unsigned scan(unsigned x)
{
#pragma unroll
    for (int i = 1; i < 32; i *= 2) {
        unsigned other = __shfl_up_sync(~0u, x, i);
        x += threadIdx.x % 32 >= i ? other : 0;
    }
    return x;
}

/* Fills pixels_before and tiles_before; the last ones are all of them. */
static __device__ __forceinline__ void add_up(const share &all)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned pixels = 0, tiles = 0;
#pragma unroll 4
    for (int i = threadIdx.x * all.slice; i < min((threadIdx.x + 1) * all.slice, all.words); i++) {
        unsigned sum = all.sums[i];
        if (i < 1024)
            near_sums[i] = sum;
        pixels += sum >> 8, tiles += sum & 255;
    }
    unsigned to_pixels = scan(pixels), to_tiles = scan(tiles);
    if (lane == 31)
        warp_pixels[warp] = to_pixels, warp_tiles[warp] = to_tiles;
    warpgroup_sync(0);
    for (int i = 0; i < warp; i++)
        to_pixels += warp_pixels[i], to_tiles += warp_tiles[i];
    pixels_before[threadIdx.x + 1] = to_pixels, tiles_before[threadIdx.x + 1] = to_tiles;
    if (threadIdx.x == 0)
        pixels_before[0] = tiles_before[0] = 0;
    warpgroup_sync(0);
}

/* What is counted: active tiles, or active pixels. */
struct counting {
    bool pixels;
    __device__ __forceinline__ unsigned of(unsigned sum) const { return pixels ? sum >> 8 : sum & 255; }
    __device__ __forceinline__ unsigned before(int slice) const { return pixels ? pixels_before[slice] : tiles_before[slice]; }
};

/* The 32 tiles of a word, of which the first active one has this rank and number: those whose numbers are in [from, to) are listed; the tile that holds number
 * from - 1 is the last before them, the one that holds to - 1 the last of them. */
static __device__ __forceinline__ void list_word(const share &all, const image &im, const counting &count, int word, unsigned number, unsigned rank, unsigned from,
                                                 unsigned to)
{
    int lane = threadIdx.x % 32, tile = word * 32 + lane;
    unsigned long long active = tile < all.count ? all.tiles[tile] : 0;
    unsigned own = count.pixels ? __popcll(active) : active != 0, is = __ballot_sync(~0u, active != 0);
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
static __device__ __forceinline__ void list_round(const share &all, const image &im, const counting &count, unsigned from, unsigned to)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    warpgroup_sync(0); /* the last round is out */
    if (threadIdx.x == 0 && from == 0)
        rank_first = 0;
    unsigned below = from ? from - 1 : 0;
    for (int s0 = 0; s0 < 128; s0 += 32) {
        unsigned here = count.before(s0 + lane), next = count.before(s0 + lane + 1);
        unsigned hit = __ballot_sync(~0u, here < next && here < to && next > below); /* not the empty ones */
        for (; hit; hit &= hit - 1) {
            int s = s0 + __ffs(hit) - 1, limit = min((s + 1) * all.slice, all.words);
            unsigned number = count.before(s), rank = tiles_before[s];
            for (int first = s * all.slice; first < limit; first += 32) {
                int word = first + lane;
                unsigned sum = word >= limit ? 0 : word < 1024 ? near_sums[word] : all.sums[word], numbers = scan(count.of(sum)), ranks = scan(sum & 255);
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

