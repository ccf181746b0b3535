/* sparse/schedule: which tiles of a sparse convolution are active, and which of them a block computes. Tiles are ROWS rows of 8 outputs.
 *
 * Every block reads an equal share of the tiles, a thread a row of four tiles: the marks ORed over the filter are a word of the output's mask,
 * and the words of eight rows, transposed, the bits of the tiles. The block writes these, a sum for every 16 tiles, and a note with the sums
 * of its share. All of them are element/flagged_words.cuh with the number of the launch, so they are data and grid barrier in one, without a
 * fence or an atomic (all blocks must be resident). From the notes of all blocks the first warpgroup of each finds the block's tiles: an equal
 * share of the active tiles, or of their weight, in the order of the image, listed some at a time. The same mask gives the same schedule.
 *
 * If tiles are not computed whole, the weight of a tile is its work: its active outputs or, with
 * INPUTS, its marked inputs, counted once for each part of a tile whose outputs they reach.
 *
 * Needs ROWS, R, S as constants; STRIDE and DILATION where they are not 1. */
#pragma once
#include "element/flagged_words.cuh"
#include "element/mask_bits.cuh"
#include "tensor_core/wgmma_tile.cuh"

#ifndef STRIDE
#define STRIDE 1
#define DILATION 1
#endif
constexpr int TAPS = R * S, HALO_H = ROWS + R - 1, HALO_W = 8 + S - 1; /* of a tile with stride and dilation 1 */
#ifndef INPUTS
#define INPUTS 0
#endif
#ifndef PAD_MORE
#define PAD_MORE 0 /* of the left side, beside that of the top */
#endif
#ifndef BOTH
#define BOTH 0 /* 1: outputs are active where inputs are marked, instead of wherever a marked one reaches */
#endif
#ifndef TOGETHER
#define TOGETHER 4 /* words of tiles that a lister reads together; who has few registers says 2 */
#endif
/* With INPUTS: a part of a tile is so many rows of outputs that its inputs, halo included, are at most 64. */
constexpr int PART_ROWS = (7 + R) * HALO_W <= 64 && ROWS == 8 ? 8 : 4, PART_HALO_H = PART_ROWS + R - 1;
struct place {
    int n, y, x; /* of a tile's first output pixel */
};
/* Divides numbers below 2^31 by the same one: a division is some hundred cycles, which a warp alone waits for. */
struct divider {
    unsigned by, scale; /* 2^32 / by, rounded up */
    __device__ __forceinline__ divider(unsigned by) : by(by), scale(~0u / by + 1) {}
    __device__ __forceinline__ unsigned operator()(unsigned x) const
    {
        unsigned quotient = by == 1 ? x : __umulhi(x, scale); /* right, or one too large */
        return quotient - (quotient * by > x);
    }
};
struct image {
    int H, W, P, Q, pad, tiles_x, tiles_y; /* pad: above; tiles_x counts the padding of the mask's words, too */
    divider by_x, by_y;                     /* by tiles_x and tiles_y */

    __device__ __forceinline__ image(int H, int W, int P, int Q, int pad, int tiles_x, int tiles_y)
        : H(H), W(W), P(P), Q(Q), pad(pad), tiles_x(tiles_x), tiles_y(tiles_y), by_x(tiles_x), by_y(tiles_y)
    {
    }
    __device__ __forceinline__ int left() const { return pad + PAD_MORE; }
    __device__ __forceinline__ place place_of(int tile) const
    {
        unsigned row = by_x(tile), n = by_y(row);
        return {(int)n, (int)(row - n * tiles_y) * ROWS, (int)(tile - row * tiles_x) * 8};
    }
};

struct work {
    place at; /* y < 0: no more */
    int first; /* what the active tiles before it weigh, or how many they are */
    unsigned long long active;
};
/* As the first lane reads it, for the whole warp: that lane alone says afterwards that it has been read. */
template <typename T> static __device__ __forceinline__ T read_first(const T &from)
{
    T own = 0;
    if (threadIdx.x % 32 == 0)
        own = from;
    return __shfl_sync(~0u, own, 0);
}
static __device__ __forceinline__ work read_work(const work &from)
{
    return {{read_first(from.at.n), read_first(from.at.y), read_first(from.at.x)}, 0, read_first(from.active)};
}
constexpr int LIST = 256;   /* tiles listed at once */
constexpr int SHARES = 128; /* of the tiles, at most: one for each thread that reads notes */
static __shared__ work list[LIST];                                              /* by rank modulo LIST, or a quarter of it for each warp */
static __shared__ unsigned weight_before[SHARES + 1], tiles_before[SHARES + 1]; /* by share */
static __shared__ unsigned rank_first[4], rank_end[4], warp_weight[4], warp_tiles[4], looked_weight[16], looked_tiles[16];

/* What all blocks share in global memory, words of {data, number of the launch}. */
struct common {
    unsigned *tiles;             /* 4 words a tile: bit 8 i + j is output pixel (i, j); the second number is launch << 8 | weight */
    unsigned *sums;              /* 4 words for 16 tiles: weight, active tiles */
    unsigned *notes;             /* 4 words a block: weight, active tiles, of its share */
    int count, shares, per_share; /* tiles; shares; of 32 tiles in a share */
    unsigned launch;

    /* Before this block leaves a note. Blocks without a share keep count in a note, too. */
    __device__ __forceinline__ common(unsigned *tiles, unsigned *sums, unsigned *notes, int block, int count, int shares, int per_share)
        : tiles(tiles), sums(sums), notes(notes), count(count), shares(shares), per_share(per_share),
          launch((unsigned)(load_words(notes + block * 4).a >> 32) + 1)
    {
    }
};
struct seen {
    unsigned long long active;
    unsigned weight;
};
static __device__ __forceinline__ words load_tile(const common &all, int tile) { return load_words(all.tiles + (size_t)tile * 4); }
/* What was loaded of a tile; again, until it is of this launch. */
static __device__ __forceinline__ seen read_tile(const common &all, int tile, words v)
{
    while ((unsigned)(v.a >> 32) != all.launch || (unsigned)(v.b >> 40) != (all.launch & 0xffffff))
        v = load_tile(all, tile);
    return {v.b << 32 | (unsigned)v.a, (unsigned)(v.b >> 32) & 255};
}
/* Weight and number of active tiles, of a note or a sum. */
static __device__ __forceinline__ uint2 read_sum(const common &all, const unsigned *sum)
{
    words v;
    do
        v = load_words(sum);
    while (!is_of(v, all.launch));
    return make_uint2((unsigned)v.a, (unsigned)v.b);
}
/* Of 32 tiles. */
static __device__ __forceinline__ uint2 read_sums(const common &all, int word)
{
    uint2 low = read_sum(all, all.sums + word * 8), high = read_sum(all, all.sums + word * 8 + 4);
    return make_uint2(low.x + high.x, low.y + high.y);
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

/* 32 columns of a mask's row y from x on, as mask_bits, but without a branch: the loads of several rows are on their way together. */
static __device__ __forceinline__ uint2 load_row(const unsigned *mask, int y, int x, int H, int words)
{
    int word = x >> 5;
    const unsigned *row = mask + (long long)min(max(y, 0), H - 1) * words;
    unsigned low = __ldg(row + min(max(word, 0), words - 1)), high = __ldg(row + min(max(word + 1, 0), words - 1));
    bool inside = y >= 0 && y < H;
    return make_uint2(inside && word >= 0 && word < words ? low : 0, inside && word >= -1 && word + 1 < words ? high : 0);
}

/* A row of four tiles: 32 outputs of row p from column x on. `weights`: a byte for each tile, with INPUTS. The last row of a part counts the inputs of later rows. */
static __device__ __forceinline__ unsigned look_at(int n, int p, int x, bool last, const image &im, const unsigned *mask, unsigned *weights)
{
    int words = (im.W + 31) / 32;
    unsigned bits = 0, count = 0;
    mask += (size_t)n * im.H * words;
#if BOTH
    bits = mask_bits(mask, p, x, im.H, words);
#elif STRIDE > 1 || DILATION > 1
#pragma unroll 1
    for (int tap = 0; tap < TAPS; tap++)
        for (int i = 0; i < 32; i += 8)
            bits |= every_stride(mask_bits(mask, p * STRIDE - im.pad + tap / S * DILATION, (x + i) * STRIDE - im.left() + tap % S * DILATION, im.H, words)) << i;
#else
    uint2 rows[R];
    unsigned ahead[R];
#pragma unroll
    for (int r = 0; r < R; r++) { /* on their way together */
        rows[r] = load_row(mask, p - im.pad + r, x - im.left(), im.H, words);
        ahead[r] = load_row(mask, p - im.pad + r, x - im.left() + 32, im.H, words).y;
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
        unsigned low = __funnelshift_r(rows[r].x, rows[r].y, x - im.left()), high = __funnelshift_r(rows[r].y, ahead[r], x - im.left());
#pragma unroll
        for (int s = 0; s < S; s++)
            bits |= __funnelshift_r(low, high, s);
#pragma unroll
        for (int i = 0; i < 32; i += 8)
            if (INPUTS && (r == 0 || last))
                count += __popc(__funnelshift_r(low, high, i) & ((1u << HALO_W) - 1)) << i;
    }
#endif
    *weights = count;
    return x + 32 <= im.Q ? bits : x < im.Q ? bits & ((1u << (im.Q - x)) - 1) : 0;
}

/* Rows of bytes a lane, of four lanes, to columns of bytes: lane i gets byte i of each, the first lane's lowest. */
static __device__ __forceinline__ unsigned turn_bytes(unsigned own)
{
    int lane = threadIdx.x % 4;
    unsigned other = __shfl_xor_sync(~0u, own, 1);
    own = lane & 1 ? __byte_perm(other, own, 0x7351) : __byte_perm(own, other, 0x6240); /* bytes 0 2 or 1 3 of two rows, in pairs of rows */
    other = __shfl_xor_sync(~0u, own, 2);
    return lane & 2 ? __byte_perm(other, own, 0x7632) : __byte_perm(own, other, 0x5410);
}

/* Looks at share `own` and writes the output's mask of it. All threads of the block; what each wrote to shared memory before, all can read after. */
static __device__ __forceinline__ void look_at_share(const common &all, int own, const image &im, const unsigned *mask, unsigned *mask_out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane % 8, across = im.tiles_x / 4; /* words of a row */
    int end = min((own + 1) * all.per_share * 8, (all.count + 31) / 32 * 8);                       /* in four tiles */
    unsigned weight = 0, tiles = 0;
    for (int first = (own * all.per_share * 8) + warp * 4; own < all.shares && first < end; first += blockDim.x / 8) {
        int four = first + lane / 8;
        unsigned line = im.by_x(four * 4), n = im.by_y(line), bits = 0, counts = 0;
        int word = four - line * across, p = (line - n * im.tiles_y) * ROWS + row;
        if (four * 4 < all.count && row < ROWS && (INPUTS || p < im.P)) { /* with INPUTS outputs that are none have inputs nevertheless */
            bits = look_at(n, p, word * 32, row % PART_ROWS == PART_ROWS - 1, im, mask, &counts);
            if (p < im.P)
                mask_out[((size_t)n * im.P + p) * across + word] = bits;
            else
                bits = 0;
        }
        bits = turn_bytes(bits); /* lane 4 h + i: rows 4 h .. 4 h + 3 of tile i */
#pragma unroll
        for (int i = 1; i < 8; i *= 2)
            counts += __shfl_xor_sync(~0u, counts, i);
        unsigned other = __shfl_xor_sync(~0u, bits, 4), size = INPUTS ? counts >> lane % 4 * 8 & 255 : __popc(bits) + __popc(other);
        size = bits | other ? size : 0;
        if (four * 4 < all.count) { /* each half with a flag of its own */
            unsigned long long data = (unsigned long long)(row < 4 ? all.launch : all.launch << 8 | size) << 32 | bits;
            asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(all.tiles + (size_t)four * 16 + lane % 4 * 4 + row / 4 * 2), "l"(data) : "memory");
        }
        unsigned sixteen_weight = __reduce_add_sync(~0u, row < 4 ? size : 0), sixteen_tiles = __popc(__ballot_sync(~0u, row < 4 && (bits | other)));
        if (lane == 0)
            store_words(all.sums + first, make_uint2(sixteen_weight, sixteen_tiles), all.launch);
        weight += sixteen_weight, tiles += sixteen_tiles;
    }
    if (lane == 0)
        looked_weight[warp] = weight, looked_tiles[warp] = tiles;
    __syncthreads();
    if (warp > 0)
        return;
    weight = __reduce_add_sync(~0u, lane < blockDim.x / 32 ? looked_weight[lane] : 0), tiles = __reduce_add_sync(~0u, lane < blockDim.x / 32 ? looked_tiles[lane] : 0);
    if (lane == 0)
        store_words(all.notes + own * 4, make_uint2(weight, tiles), all.launch);
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

/* Waits for all notes and fills weight_before and tiles_before; the last ones are all of them. 128 threads. */
static __device__ __forceinline__ void add_up(const common &all)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint2 note = threadIdx.x < all.shares ? read_sum(all, all.notes + threadIdx.x * 4) : make_uint2(0, 0);
    unsigned weight = scan(note.x), tiles = scan(note.y);
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

/* Lists tiles for a warpgroup (WARPS 4) or for each of its warps (1); what is counted are active tiles, or their weight. */
template <int WARPS> struct lister {
    static constexpr int MOST = WARPS == 4 ? LIST : LIST / 4; /* at once */
    const common &all;
    const image &im;
    bool by_weight;

    static __device__ __forceinline__ int own() { return WARPS == 4 ? 0 : threadIdx.x / 32; }
    static __device__ __forceinline__ void sync()
    {
        if (WARPS == 4)
            warpgroup_sync(0);
        else
            __syncwarp();
    }
    static __device__ __forceinline__ work &tile(unsigned rank) { return list[own() * MOST + rank % MOST]; }
    static __device__ __forceinline__ unsigned first() { return rank_first[own()]; } /* ranks of the round */
    static __device__ __forceinline__ unsigned end() { return rank_end[own()]; }
    __device__ __forceinline__ unsigned before(int share) const { return by_weight ? weight_before[share] : tiles_before[share]; }

    /* Lists the tiles of one word, one a lane; `number` and `rank` are those of the first active one. Tiles with numbers in [from, to) are listed; the tile with
     * number from - 1 is the last before them, that with to - 1 the last of them. Moves number and rank on to the next word's. */
    __device__ __forceinline__ void word(bool wanted, int at, const seen &what, unsigned &number, unsigned &rank, unsigned from, unsigned to) const
    {
        int lane = threadIdx.x % 32;
        unsigned is = __ballot_sync(~0u, what.active != 0), size = by_weight ? what.weight : what.active != 0;
        unsigned all_sizes = by_weight ? __reduce_add_sync(~0u, size) : __popc(is), start = number, start_rank = rank;
        number += all_sizes, rank += __popc(is);
        if (!wanted || start >= to || number < from)
            return;
        unsigned first = start - size + (by_weight ? scan(size) : __popc(is & ~0u >> (31 - lane))), own_rank = start_rank + __popc(is & ((1u << lane) - 1));
        if (what.active == 0)
            return;
        if (first >= from && first < to)
            tile(own_rank) = {im.place_of(at), (int)first, what.active};
        if (first < from && first + size >= from)
            rank_first[own()] = own_rank + 1;
        if (first < to && first + size >= to)
            rank_end[own()] = own_rank + 1;
    }
    __device__ __forceinline__ bool wants(int word) const { return WARPS == 1 || word % 4 == threadIdx.x / 32; }

    /* A share of at most TOGETHER words: all of its tiles are on their way together. To read first where in it the wanted ones are takes longer. */
    __device__ __forceinline__ void short_share(int share, unsigned from, unsigned to) const
    {
        int first = share * all.per_share * 32 + threadIdx.x % 32, end = min((share + 1) * all.per_share * 32, all.count);
        unsigned number = before(share), rank = tiles_before[share];
        words loaded[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++)
            loaded[i] = first + i * 32 < end ? load_tile(all, first + i * 32) : words{0, 0};
#pragma unroll 1 /* or the code is four times as long */
        for (int i = 0; i < all.per_share; i++) {
            int at = first + i * 32;
            seen what = {0, 0};
            if (at < end)
                what = read_tile(all, at, loaded[0]);
            word(true, at, what, number, rank, from, to);
#pragma unroll
            for (int j = 1; j < TOGETHER; j++)
                loaded[j - 1] = loaded[j];
        }
    }
    /* A share of any length: only words that hold some of [below, to) are read. */
    __device__ __forceinline__ void long_share(int share, unsigned below, unsigned from, unsigned to) const
    {
        int lane = threadIdx.x % 32, limit = min((share + 1) * all.per_share, (all.count + 31) / 32);
        unsigned number = before(share), rank = tiles_before[share];
        for (int first = share * all.per_share; first < limit; first += 32) {
            uint2 sum = first + lane < limit ? read_sums(all, first + lane) : make_uint2(0, 0);
            unsigned size = by_weight ? sum.x : sum.y, numbers = scan(size), ranks = scan(sum.y), start = number + numbers - size;
            unsigned mine = __ballot_sync(~0u, size != 0 && start < to && start + size > below);
            for (; mine; mine &= mine - 1) {
                int i = __ffs(mine) - 1, at = (first + i) * 32 + lane;
                unsigned c = __shfl_sync(~0u, start, i), k = rank + __shfl_sync(~0u, ranks - sum.y, i);
                if (!wants(first + i))
                    continue;
                seen what = {0, 0};
                if (at < all.count)
                    what = read_tile(all, at, load_tile(all, at));
                word(true, at, what, c, k, from, to);
            }
            number += __shfl_sync(~0u, numbers, 31), rank += __shfl_sync(~0u, ranks, 31);
        }
    }

    /* Lists the tiles whose numbers are in [from, to), at most MOST apart. */
    __device__ __forceinline__ void round(unsigned from, unsigned to) const
    {
        int lane = threadIdx.x % 32;
        sync(); /* the last round is out */
        if (threadIdx.x % (32 * WARPS) == 0 && from == 0)
            rank_first[own()] = 0;
        unsigned below = from ? from - 1 : 0;
        int turn = 0; /* short shares: a warp has every fourth, or all would wait for each of them */
        for (int s0 = 0; s0 < all.shares; s0 += 32) {
            unsigned here = before(s0 + lane), next = before(s0 + lane + 1);
            unsigned hit = __ballot_sync(~0u, here < next && here < to && next > below); /* not the empty ones */
            for (; hit; hit &= hit - 1) {
                int share = s0 + __ffs(hit) - 1;
                if (all.per_share > TOGETHER)
                    long_share(share, below, from, to);
                else if (WARPS == 1 || turn++ % 4 == threadIdx.x / 32)
                    short_share(share, from, to);
            }
        }
        sync();
    }
};

/* The marks of a tile's inputs: lane i has those of row i of its halo, as the two words they lie in. */
struct row_marks {
    unsigned low, high;
    __device__ __forceinline__ unsigned bits(const work &tile, int left) const { return __funnelshift_r(low, high, tile.at.x - left); }
};
static __device__ __forceinline__ row_marks load_marks(const work &tile, const image &im, const unsigned *mask)
{
    int lane = threadIdx.x % 32, words = (im.W + 31) / 32, y = tile.at.y - im.pad + lane, word = (tile.at.x - im.left()) >> 5;
    bool inside = lane < HALO_H && y >= 0 && y < im.H;
    const unsigned *row = mask + ((size_t)tile.at.n * im.H + (inside ? y : 0)) * words;
    return {inside && word >= 0 && word < words ? __ldg(row + word) : 0, inside && word + 1 < words ? __ldg(row + word + 1) : 0};
}

