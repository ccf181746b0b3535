/* volume/schedule: which tiles of a sparse convolution of volumes are active, and which of them a group of warps computes.
 *
 * A unit is four adjacent tiles: their rows of outputs are words of the output's mask. Every block reads an equal share of the units, a lane a row, and writes which of its
 * tiles are active and how many there are in its share. Both are element/flagged_words.cuh with the number of the launch: data and grid barrier in one (all blocks must be
 * resident). From the sums each block computes its own share of the active tiles, by rank, and its groups visit the units that contain them. The same mask gives the same
 * schedule.
 *
 * Needs what volume/mma.cuh needs. */
#pragma once
#include "element/flagged_words.cuh"
#include "element/mask_bits.cuh"
#include "volume/mma.cuh"

constexpr int SHARES = 128;                                    /* of the units, at most */
constexpr int REACH = (31 * STRIDE + REACH_W + 32) / 32;       /* words of inputs under 32 outputs */
constexpr int TILE_ROWS = TILE_D * TILE_H, UNIT_LANES = TILE_ROWS < 32 ? TILE_ROWS : 32; /* rows of a tile, a power of two; lanes that look at a unit */
static __shared__ unsigned tiles_before[SHARES + 1], looked_tiles[THREADS / 32];

struct schedule {
    unsigned *units, *notes; /* 4 words a unit: bit i is tile i, and the launch; 4 words a block: active tiles of its share */
    int count, shares, per_share, words_q, tiles_p, tiles_o; /* units; tiles of a volume, down and deep */
    unsigned launch;

    __device__ __forceinline__ volume_place first_of(int unit) const
    {
        int row = unit / words_q, plane = row / tiles_p;
        return {plane / tiles_o, plane % tiles_o * TILE_D, row % tiles_p * TILE_H, unit % words_q * 32};
    }
    __device__ __forceinline__ unsigned read(const unsigned *p) const
    {
        words v;
        do
            v = load_words(p);
        while (!is_of(v, launch));
        return (unsigned)v.a;
    }
};

/* One bit for each of 32 outputs from q on of a row: does its window hold a marked input? mask: of the volume. */
static __device__ __forceinline__ unsigned row_marks(const unsigned *mask, const volume &v, int o, int p, int q)
{
    int across = (v.W + 31) / 32, x = q * STRIDE - PAD_LEFT;
    if (BOTH) /* as the inputs are marked */
        return mask_bits(mask + (long long)o * v.H * across, p, q, v.H, across);
    unsigned inputs[REACH + 1] = {0}, reached = 0;
#pragma unroll
    for (int t = 0; t < FILTER_D; t++) {
        int z = o * STRIDE - PAD_D + t;
        bool real = z >= 0 && z < v.D; /* no branch around the loads: they are on their way together */
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int j = 0; j < REACH; j++)
                inputs[j] |= mask_bits(mask + (long long)z * v.H * across, p * STRIDE - PAD + r * DILATION, x + j * 32, real ? v.H : 0, across);
    }
#pragma unroll
    for (int s = 1; s < S; s *= 2) /* after it bit i is the marks of 2 s taps from i on, or of the whole window */
#pragma unroll
        for (int j = 0; j < REACH; j++)
            inputs[j] |= __funnelshift_r(inputs[j], inputs[j + 1], (2 * s <= S ? s : S - s) * DILATION);
#pragma unroll
    for (int i = 0; i < 32; i++)
        reached |= (inputs[i * STRIDE / 32] >> i * STRIDE % 32 & 1) << i;
    return v.Q - q < 32 ? reached & ((1u << (v.Q - q)) - 1) : reached;
}

/* Looks at the block's share, writes the output's mask of it, and adds up what all blocks saw. All threads of the block. */
static __device__ __forceinline__ void look_at_share(const schedule &all, const volume &v, int own, const unsigned *mask_in, unsigned *mask_out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, end = own < all.shares ? min((own + 1) * all.per_share, all.count) : 0;
    unsigned tiles = 0;
    for (int first = own * all.per_share + warp * (32 / UNIT_LANES); first < end; first += THREADS / UNIT_LANES) {
        int unit = first + lane / UNIT_LANES;
        volume_place at = all.first_of(unit);
        unsigned any = 0;
#pragma unroll
        for (int row = lane % UNIT_LANES; row < TILE_ROWS; row += UNIT_LANES) {
            int o = at.o + row / TILE_H, p = at.p + row % TILE_H;
            if (unit >= end || o >= v.O || p >= v.P)
                continue;
            unsigned word = row_marks(mask_in + (size_t)at.n * v.D * v.H * ((v.W + 31) / 32), v, o, p, at.q);
            mask_out[(((size_t)at.n * v.O + o) * v.P + p) * all.words_q + at.q / 32] = word;
            any |= word;
        }
#pragma unroll
        for (int i = 1; i < UNIT_LANES; i *= 2)
            any |= __shfl_xor_sync(~0u, any, i);
        unsigned active = ((any & 255) != 0) | (any >> 8 & 255 ? 2 : 0) | (any >> 16 & 255 ? 4 : 0) | (any >> 24 ? 8 : 0);
        if (lane % UNIT_LANES == 0 && unit < end) {
            store_words(all.units + (size_t)unit * 4, make_uint2(active, 0), all.launch);
            tiles += __popc(active);
        }
    }
    tiles = __reduce_add_sync(~0u, tiles);
    if (lane == 0)
        looked_tiles[warp] = tiles;
    __syncthreads();
    if (warp == 0) {
        tiles = __reduce_add_sync(~0u, lane < THREADS / 32 ? looked_tiles[lane] : 0);
        if (lane == 0)
            store_words(all.notes + own * 4, make_uint2(tiles, 0), all.launch);
        unsigned before = 0;
        for (int first = 0; first < SHARES; first += 32) {
            unsigned sum = first + lane < all.shares ? all.read(all.notes + (first + lane) * 4) : 0;
#pragma unroll
            for (int i = 1; i < 32; i *= 2) {
                unsigned other = __shfl_up_sync(~0u, sum, i);
                sum += lane >= i ? other : 0;
            }
            tiles_before[first + lane + 1] = before + sum;
            before += __shfl_sync(~0u, sum, 31);
        }
        if (lane == 0)
            tiles_before[0] = 0;
    }
    __syncthreads();
}

/* The active tiles in the order of their ranks. A warp; all warps of a group walk alike. */
struct walk {
    const schedule &all;
    int first;                       /* unit of the 32 that are looked at */
    unsigned before, here;           /* active tiles before them, and among them */
    unsigned active, before_in_here; /* this lane's unit, and how many of them come before it */

    __device__ __forceinline__ void read_units()
    {
        int lane = threadIdx.x % 32, unit = first + lane;
        active = unit < all.count ? all.read(all.units + (size_t)unit * 4) : 0;
        here = before_in_here = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned tiles = __ballot_sync(~0u, active >> i & 1);
            here += __popc(tiles);
            before_in_here += __popc(tiles & ((1u << lane) - 1));
        }
    }
    /* At the share that holds this rank, which exists. */
    __device__ __forceinline__ walk(const schedule &all, unsigned rank) : all(all)
    {
        unsigned share = 0;
        for (int from = 0; from < SHARES; from += 32)
            share += __popc(__ballot_sync(~0u, tiles_before[from + threadIdx.x % 32 + 1] <= rank));
        first = share * all.per_share, before = tiles_before[share];
        read_units();
    }
    /* The tile of a rank, not smaller than any before. */
    __device__ __forceinline__ volume_place seek(unsigned rank)
    {
        while (rank - before >= here) {
            before += here;
            first += 32;
            read_units();
        }
        unsigned own = rank - before - before_in_here; /* that of the unit's active tiles, if it is this lane's unit */
        int lane = __ffs(__ballot_sync(~0u, own < __popc(active))) - 1;
        unsigned tiles = __shfl_sync(~0u, active, lane);
        for (own = __shfl_sync(~0u, own, lane); own; own--)
            tiles &= tiles - 1;
        volume_place at = all.first_of(first + lane);
        at.q += (__ffs(tiles) - 1) * 8;
        return at;
    }
};

/* conv3d/sparse_mma and conv2d/sparse_mma; an image is one plane. count: units; shares: blocks that look. */
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
conv_active_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, unsigned *units, unsigned *notes,
                  unsigned *tiles_active, TYPE *output, int D, int H, int W, int K, int O, int P, int Q, int count, int shares, int words_q, int tiles_p, int tiles_o)
{
    volume v = {D, H, W, K, O, P, Q};
    int own = blockIdx.y * gridDim.x + blockIdx.x;
    schedule all = {units, notes, count, shares, (count + shares - 1) / shares, words_q, tiles_p, tiles_o, (unsigned)(load_words(notes + own * 4).a >> 32) + 1};
    look_at_share(all, v, own, mask_in, mask_out);
    unsigned total = tiles_before[SHARES];
    if (own == 0 && threadIdx.x == 0)
        *tiles_active = total;
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x, rank = from + own_group();
    if (from == end)
        return;
    walk tiles(all, from);
    convolve_tiles(
        input, filter, bias, output, v,
        [&]() {
            volume_place at = {-1, 0, 0, 0};
            if (rank < end)
                at = tiles.seek(rank);
            rank += WARP_GROUPS;
            return at;
        },
        [&](const volume_place &at, int row) {
            int z = at.o * STRIDE - PAD_D + row / IN_H, y = at.p * STRIDE - PAD + row % IN_H, words = (W + 31) / 32;
            return z >= 0 && z < D ? mask_bits(mask_in + ((size_t)at.n * D + z) * H * words, y, at.q * STRIDE - PAD_LEFT, H, words) : 0;
        });
}
