/* sparse_schedule: which tiles of a sparse convolution are active, and which of them a block computes. Tiles are ROWS rows of 8 outputs.
 *
 * A kernel of its own, list_tiles, looks at the mask, a thread a tile: the marks ORed over the filter are the output's mask and the tile's own 8 ROWS bits; for
 * every 32 tiles it notes how many are active and what they will cost. The kernel that computes is launched beside it (pdl) and loads its weights meanwhile;
 * it must leave 4096 registers of an SM free, or it has to wait: hence 160 a thread at most, not the 168 that 384 threads could have. Then the first
 * warpgroup of each block adds the notes up and so knows which tiles are the block's: an equal share of the cost, in the order of the image, listed
 * some hundred at a time. There are no atomics: the same mask gives the same schedule.
 *
 * Needs ROWS, R, S, FEW as constants; FEW: marked inputs of a tile (with its halo) up to which it is computed input by input, a multiple of 8. */
#pragma once
#include "mask_bits.cuh"
#include "wgmma_tile.cuh"

constexpr int TAPS = R * S, HALO_H = ROWS + R - 1, HALO_W = 8 + S - 1;
constexpr int COST_WHOLE = ROWS + 1, COST_LEAST = FEW ? 3 : COST_WHOLE;
constexpr int LIST = 256, ROUND = (LIST - 1) * COST_LEAST; /* cost of a round: at most LIST tiles */

/* In eighths of a whole tile's products, and one for what every tile costs. Eight inputs take about a quarter of a whole tile's time. */
static __device__ __forceinline__ int cost_of(bool active, int inputs) { return !active ? 0 : inputs > FEW ? COST_WHOLE : 1 + (inputs + 7) / 8 * 2; }

struct place {
    int n, y, x; /* of a tile's first output pixel */
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    return {tile / tiles_x / tiles_y, tile / tiles_x % tiles_y * ROWS, tile % tiles_x * 8};
}

struct work {
    place at; /* y < 0: no more */
    int inputs;
    unsigned long long active;
};
static __shared__ work list[LIST];                             /* by rank modulo LIST */
static __shared__ unsigned cost_before[129], rank_before[129]; /* by slice of the sums */
static __shared__ unsigned near_sums[1024];                   /* the first of the sums */
static __shared__ unsigned rank_first, rank_end, warp_cost[4], warp_rank[4];

struct image {
    int H, W, P, Q, pad, tiles_x, tiles_y; /* tiles_x counts the padding of the mask's words, too */
};

/* What all blocks share in global memory. */
struct share {
    const unsigned long long *tiles; /* bit 8 i + j of tiles[tile] is output pixel (i, j) of the tile */
    const unsigned char *inputs;     /* marked inputs of a tile, with its halo; 255: or more */
    const unsigned *sums;            /* of 32 tiles: cost * 256 + active tiles */
    int count, words, slice;         /* tiles; sums; how many of them a thread adds up */
};

/* The output's mask, the bits and the marked inputs of one tile. */
static __device__ __forceinline__ unsigned long long look_at(int tile, const image &im, const unsigned *mask_in, unsigned char *mask_out, int &inputs)
{
    place at = place_of(tile, im.tiles_x, im.tiles_y);
    int words = (im.W + 31) / 32;
    mask_in += (size_t)at.n * im.H * words;
    unsigned last[R] = {}; /* rows of the halo, ORed over the filter's columns */
    unsigned inside = at.x + 8 <= im.Q ? 0xff : at.x < im.Q ? (1u << (im.Q - at.x)) - 1 : 0;
    unsigned long long active = 0;
    mask_out += ((size_t)at.n * im.P + at.y) * im.tiles_x + at.x / 8;
#pragma unroll
    for (int i = 0; i < HALO_H; i++) {
        unsigned row = mask_bits(mask_in, at.y - im.pad + i, at.x - im.pad, im.H, words) & ((1u << HALO_W) - 1), bits = 0;
        inputs += __popc(row);
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
    return active;
}

extern "C" __global__ void __launch_bounds__(128, 16)
list_tiles(const unsigned *mask_in, unsigned char *mask_out, unsigned long long *tiles, unsigned char *inputs, unsigned *sums, int H, int W, int P, int Q, int pad, int tiles_x,
           int tiles_y, int count)
{
    asm volatile("griddepcontrol.launch_dependents;");
    int tile = blockIdx.x * 128 + threadIdx.x, marked = 0;
    unsigned long long active = tile < count ? look_at(tile, {H, W, P, Q, pad, tiles_x, tiles_y}, mask_in, mask_out, marked) : 0;
    if (tile < count) {
        tiles[tile] = active;
        inputs[tile] = min(marked, 255);
    }
    unsigned sum = __reduce_add_sync(~0u, cost_of(active != 0, marked) * 256 + (active != 0));
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

/* Fills cost_before and rank_before; the last ones are all of it. */
static __device__ __forceinline__ void add_up(const share &all)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned cost = 0, rank = 0;
#pragma unroll 4
    for (int i = threadIdx.x * all.slice; i < min((threadIdx.x + 1) * all.slice, all.words); i++) {
        unsigned sum = all.sums[i];
        if (i < 1024)
            near_sums[i] = sum;
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
    unsigned long long active = tile < all.count ? all.tiles[tile] : 0;
    int inputs = tile < all.count ? all.inputs[tile] : 0;
    unsigned own = cost_of(active != 0, inputs), is = __ballot_sync(~0u, own != 0);
    cost += scan(own) - own;
    rank += __popc(is & ((1u << lane) - 1));
    if (own == 0)
        return;
    if (cost >= from && cost < to)
        list[rank % LIST] = {place_of(tile, im.tiles_x, im.tiles_y), inputs, active};
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
        unsigned here = cost_before[s0 + lane], next = cost_before[s0 + lane + 1];
        unsigned hit = __ballot_sync(~0u, here < next && here < to && next > below); /* not the empty ones */
        for (; hit; hit &= hit - 1) {
            int s = s0 + __ffs(hit) - 1;
            unsigned cost = cost_before[s], rank = rank_before[s];
            for (int first = s * all.slice; first < min((s + 1) * all.slice, all.words); first += 32) {
                int word = first + lane, limit = min((s + 1) * all.slice, all.words);
                unsigned sum = word >= limit ? 0 : word < 1024 ? near_sums[word] : all.sums[word], costs = scan(sum >> 8), ranks = scan(sum & 255);
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
static __device__ __forceinline__ row_marks load_marks(const work &tile, const image &im, const unsigned *mask)
{
    int lane = threadIdx.x % 32, words = (im.W + 31) / 32, y = tile.at.y - im.pad + lane, word = (tile.at.x - im.pad) >> 5;
    bool inside = lane < HALO_H && y >= 0 && y < im.H;
    const unsigned *row = mask + ((size_t)tile.at.n * im.H + (inside ? y : 0)) * words;
    return {inside && word >= 0 && word < words ? __ldg(row + word) : 0, inside && word + 1 < words ? __ldg(row + word + 1) : 0};
}

