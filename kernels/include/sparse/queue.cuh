/* sparse/queue: the active tiles of a sparse convolution as a queue in global memory, instead of the ranks of sparse/schedule. As soon as a
 * block has read its share of the mask, it puts the active tiles there; the tile at position t belongs to block t % blocks. So no block
 * waits for all shares, except at the end of the queue. The positions differ between launches; results do not depend on them.
 *
 * Blocks wait for each other, but need not all be resident: a warp that has waited long reads the shares of blocks that have not begun.
 *
 * Needs what sparse/schedule.cuh needs, and THREADS, those of a block. */
#pragma once
#include "sparse/schedule.cuh"

constexpr int WARPS = THREADS / 32;
/* A tile is 32 bytes, {its outputs, launch} twice, {its number, launch}, {0, launch}. */
struct queue {
    unsigned *tiles, *owners;     /* of each share: the launch in which it was taken; the last launch of its block */
    unsigned long long *end;      /* of this launch, 0 before: how many tiles there are; in the upper half how many shares were looked at */
    int count, shares, per_share; /* tiles; shares, one for each block; of 16 tiles in a share */
    unsigned launch;

    __device__ __forceinline__ queue(unsigned *tiles, unsigned *owners, unsigned long long *ends, int own, int count, int shares,
                                     int per_share)
        : tiles(tiles), owners(owners), count(count), shares(shares), per_share(per_share), launch(owners[2 * own + 1] + 1)
    {
        end = ends + launch % 2;
        if (own == 0 && threadIdx.x == 0)
            ends[(launch + 1) % 2] = 0; /* of the next launch */
    }
    __device__ __forceinline__ unsigned long long add(unsigned tiles, unsigned shares) const
    {
        unsigned long long before, more = (unsigned long long)shares << 32 | tiles;
        asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(end), "l"(more) : "memory");
        return before;
    }
    __device__ __forceinline__ void store(unsigned at, unsigned long long active, int tile) const
    {
        store_words(tiles + (size_t)at * 8, make_uint2((unsigned)active, (unsigned)(active >> 32)), launch);
        store_words(tiles + (size_t)at * 8 + 4, make_uint2(tile, 0), launch);
    }
    /* True if nobody took this share before. A lane. */
    __device__ __forceinline__ bool take(int share) const { return atomicExch(owners + 2 * share, launch) != launch; }
    __device__ __forceinline__ bool is_free(int share) const
    {
        unsigned of;
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(of) : "l"(owners + 2 * share) : "memory");
        return of != launch;
    }
    /* Behind the last four tiles of a share. */
    __device__ __forceinline__ int fours_end(int share) const { return min((share + 1) * per_share * 4, (count + 15) / 16 * 4); }
};
static __shared__ unsigned long long found[WARPS * 16]; /* of the share that the block looks at: active tiles, 16 a warp */
static __shared__ int found_tile[WARPS * 16];
static __shared__ unsigned found_count[WARPS];

/* A warp looks at 16 tiles and writes the output's mask of them. A lane with lane % 8 < 4 returns the outputs of tile_of(four). */
static __device__ __forceinline__ unsigned long long look_at_sixteen(const queue &q, const image &im, int four, const unsigned *mask,
                                                                     unsigned *mask_out)
{
    int lane = threadIdx.x % 32, row = lane % 8, across = im.tiles_x / 4;
    unsigned bits = 0, counts;
    four += lane / 8;
    unsigned line = im.by_x(four * 4), n = im.by_y(line);
    int word = four - line * across, p = (line - n * im.tiles_y) * ROWS + row;
    if (four * 4 < q.count && row < ROWS && p < im.P) {
        bits = look_at(n, p, word * 32, false, im, mask, &counts);
        mask_out[((size_t)n * im.P + p) * across + word] = bits;
    }
    bits = turn_bytes(bits); /* lane 4 h + i: rows 4 h .. 4 h + 3 of tile i */
    unsigned other = __shfl_xor_sync(~0u, bits, 4);
    return row < 4 ? (unsigned long long)other << 32 | bits : 0;
}
static __device__ __forceinline__ int tile_of(int four) { return 4 * (four + threadIdx.x % 32 / 8) + threadIdx.x % 4; }

/* Reads share `own`, with all threads of the block. True if there was an active tile. All threads can read afterwards what each wrote to
 * shared memory before. */
static __device__ __forceinline__ bool look_at_own(const queue &q, int own, const image &im, const unsigned *mask, unsigned *mask_out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, begin = own * q.per_share * 4, end = q.fours_end(own);
    bool seen = false, mine = warp == WARPS - 1 && lane == 0 && q.take(own), over = false;
    for (int first = begin; !over; first += WARPS * 4) {
        int four = first + warp * 4;
        unsigned long long active = four < end ? look_at_sixteen(q, im, four, mask, mask_out) : 0;
        unsigned is = __ballot_sync(~0u, active != 0);
        if (active) {
            int at = warp * 16 + __popc(is & ((1u << lane) - 1));
            found[at] = active, found_tile[at] = tile_of(four);
        }
        if (lane == 0)
            found_count[warp] = __popc(is);
        seen |= __syncthreads_or(active != 0);
        over = first + WARPS * 4 >= end;
        if (warp == WARPS - 1 && __shfl_sync(~0u, mine, 0)) { /* it has the least to look at */
            unsigned count = lane < WARPS ? found_count[lane] : 0, before = scan(count), all = __shfl_sync(~0u, before, 31), base = 0;
            if (lane == 0)
                base = (unsigned)q.add(all, over);
            before += __shfl_sync(~0u, base, 0) - count;
#pragma unroll 1
            for (int i = 0; i < WARPS; i++) {
                unsigned at = __shfl_sync(~0u, before, i) + lane;
                if (lane < __shfl_sync(~0u, count, i))
                    q.store(at, found[i * 16 + lane], found_tile[i * 16 + lane]);
            }
        }
        if (!over)
            __syncthreads();
    }
    if (threadIdx.x == THREADS - 32)
        q.owners[2 * own + 1] = q.launch;
    return seen;
}

/* A warp looks at shares of blocks that have not begun, because those before them wait for room on an SM. */
static __device__ __forceinline__ void look_for_others(const queue &q, const image &im, const unsigned *mask, unsigned *mask_out)
{
    int lane = threadIdx.x % 32;
    for (int first = 0; first < q.shares; first += 32)
        for (unsigned left = __ballot_sync(~0u, first + lane < q.shares && q.is_free(first + lane)); left; left &= left - 1) {
            int share = first + __ffs(left) - 1;
            bool mine = lane == 0 && q.take(share);
            if (!__shfl_sync(~0u, mine, 0))
                continue;
            for (int four = share * q.per_share * 4; four < q.fours_end(share); four += 4) {
                unsigned long long active = look_at_sixteen(q, im, four, mask, mask_out);
                unsigned is = __ballot_sync(~0u, active != 0), at = lane == 0 ? (unsigned)q.add(__popc(is), 0) : 0;
                at = __shfl_sync(~0u, at, 0) + __popc(is & ((1u << lane) - 1));
                if (active)
                    q.store(at, active, tile_of(four));
            }
            if (lane == 0)
                q.add(0, 1);
        }
}

/* The tile at a place, when it is there, for a warp. at.y < 0: there are only at.n tiles. */
static __device__ __forceinline__ work queue_wait(const queue &q, unsigned place, const image &im, const unsigned *mask, unsigned *mask_out)
{
    int lane = threadIdx.x % 32;
    for (int tries = 1;; tries++) {
        words v = {0, 0};
        if (lane < 2 && place < q.count)
            v = load_words(q.tiles + (size_t)place * 8 + lane * 4);
        if (lane == 2)
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v.a) : "l"(q.end) : "memory");
        unsigned low = __shfl_sync(~0u, (unsigned)v.a, 0), high = __shfl_sync(~0u, (unsigned)v.b, 0);
        unsigned tile = __shfl_sync(~0u, (unsigned)v.a, 1);
        if (__ballot_sync(~0u, lane < 2 && is_of(v, q.launch)) == 3)
            return {im.place_of(tile), 0, (unsigned long long)high << 32 | low};
        unsigned tiles = __shfl_sync(~0u, (unsigned)v.a, 2), shares = __shfl_sync(~0u, (unsigned)(v.a >> 32), 2);
        if (shares == q.shares && place >= tiles)
            return {{(int)tiles, -1, 0}, 0, 0};
        if (tries % 64 == 0)
            look_for_others(q, im, mask, mask_out);
    }
}
