/* volume_mma: a three-dimensional convolution on tensor cores by mma.sync, NDHWC. Its variants differ in which tiles there are:
 *   conv3d/mma_sync     all
 *   conv3d/sparse_mma   those that a marked input reaches (volume_schedule.cuh)
 *
 * A tile is TILE_D x TILE_H x 8 outputs by BLOCK_K channels, and belongs to a group of warps. The block's weights lie in shared memory; each group has two places for tiles
 * with halo, and cp.async fills one while the other is multiplied. A block has WARP_GROUPS groups, which do not wait for each other: one multiplies while another stores.
 *
 *  - In shared memory a tile is planes of 8 channels, [channel / 8][z][y][x][16 bytes], so eight outputs side by side are 128 bytes side by side, for ldmatrix without
 *    bank conflicts and without padding, and any tap is a constant further on. With a stride the columns of one remainder lie together, for the same reason.
 *  - 16 rows of a product are 8 columns of two planes of outputs. A warp has 4 such rows one below the other, so a fragment serves every filter row that it belongs to.
 *  - The depth of a product is two columns of the filter: a column is 8 channels of one (t, s). With 16 channels or a multiple they are neighbours; with 8 they
 *    are different taps; an odd one at the end meets weights of 0.
 *  - Which inputs are read is one bit each, a word for a row of the tile: inside the volume and, in a sparse convolution, marked. The others arrive as zeros.
 *
 * Needs TYPE, C, FILTER_D, R, S, STRIDE, PAD, TILE_D, TILE_H, BLOCK_K, WARP_K (channels of a warp), WARP_GROUPS, VEC_IN (divides 8 and C), STORE (divides WARP_K / 4 and K), EPI_BIAS
 * and EPI_SLOPE as constants; MASKED: only outputs that a read input reaches are stored. */
#pragma once
#include "element.cuh"
#include "epilogue.cuh"
#include "mma.cuh"

#ifndef MASKED
#define MASKED 0
#endif
constexpr int PIECES = (C + 7) / 8; /* of 16 bytes in a voxel */
constexpr int IN_D = (TILE_D - 1) * STRIDE + FILTER_D, IN_H = (TILE_H - 1) * STRIDE + R, IN_W = 7 * STRIDE + S;
constexpr int IN_ROWS = IN_D * IN_H, PART_W = (IN_W + STRIDE - 1) / STRIDE, PITCH = STRIDE * PART_W; /* voxels of a row, those of one remainder together */
constexpr int PLANE = (IN_ROWS * PITCH + 7) / 8 * 128 + (PIECES == 2 ? 64 : PIECES == 4 ? 32 : 16);   /* pieces of a voxel in different banks */
constexpr int STAGE_BYTES = PIECES * PLANE;
constexpr int COLUMNS = FILTER_D * S * PIECES, STEPS = (COLUMNS + 1) / 2;
constexpr int WEIGHT_BYTES = STEPS * 2 * R * BLOCK_K * 16; /* [step][row of the filter][half of the depth][output channel][8 channels] */
constexpr int FRAGMENT_ROWS = 3 * STRIDE + R, OWN = WARP_K / 4; /* channels that a lane stores */
constexpr int GROUP_WARPS = TILE_D / 2 * (TILE_H / 4) * (BLOCK_K / WARP_K), GROUP_THREADS = 32 * GROUP_WARPS, THREADS = WARP_GROUPS * GROUP_THREADS;
constexpr int MARKS = (IN_ROWS + GROUP_THREADS - 1) / GROUP_THREADS; /* rows of a tile that a thread looks after */
constexpr int UNROLLED = STEPS * R <= 160 ? STEPS : 4;

extern __shared__ __align__(128) unsigned char space[]; /* the weights, then two stages for each group */
static __shared__ unsigned inside[WARP_GROUPS][2][IN_ROWS];  /* bit x: input x of the row is read */

struct volume {
    int D, H, W, K, O, P, Q; /* input and output */
};
struct volume_place {
    int n, o, p, q; /* first output of a tile; n < 0: none */
};

static __device__ __forceinline__ int own_group() { return threadIdx.x / GROUP_THREADS; }
static __device__ __forceinline__ void group_sync() { asm volatile("bar.sync %0, %1;" ::"r"(own_group() + 1), "n"(GROUP_THREADS) : "memory"); }
static __device__ __forceinline__ unsigned stage_address(int stage) { return shared_address(space) + WEIGHT_BYTES + (own_group() * 2 + stage) * STAGE_BYTES; }

/* Where column x of a tile's row lies, in voxels. */
static __host__ __device__ constexpr int column_place(int x) { return x / STRIDE + x % STRIDE * PART_W; }
/* Bytes from an output's own voxel to column `column` of the filter. */
static __device__ constexpr int column_offset(int column)
{
    int tap = column / PIECES;
    return (tap / S * IN_H * PITCH + column_place(tap % S)) * 16 + column % PIECES * PLANE;
}

/* The filter of channels k0 .. k0 + BLOCK_K - 1, stored K, FILTER_D*R, S, C. The caller commits; all threads of the block. */
static __device__ __forceinline__ void load_weights(const TYPE *filter, int k0, int K)
{
    unsigned to = shared_address(space);
    for (int i = threadIdx.x; i < STEPS * 2 * R * BLOCK_K; i += THREADS) {
        int k = i % BLOCK_K, rest = i / BLOCK_K, column = rest / 2 / R * 2 + rest % 2, r = rest / 2 % R, tap = column / PIECES, c = column % PIECES * 8;
        int o = k % WARP_K; /* channel OWN t + 2 j + e goes to column 8 j + 2 t + e of the product: a lane stores OWN neighbours */
        unsigned at = to + (rest * BLOCK_K + k - o + o % OWN / 2 * 8 + o / OWN * 2 + o % 2) * 16;
        bool valid = column < COLUMNS && k0 + k < K;
        const TYPE *from = filter + (((size_t)(valid ? k0 + k : 0) * FILTER_D * R + tap / S * R + r) * S + tap % S) * C + c;
        if (VEC_IN == 8) {
            copy_async_16(at, valid ? from : filter, valid);
        } else {
            pack<TYPE, 8> v;
#pragma unroll
            for (int j = 0; j < 8; j++)
                v.item[j] = valid && c + j < C ? from[j] : from_f32<TYPE>(0.0f);
            *reinterpret_cast<uint4 *>(space + (at - to)) = v.word;
        }
    }
}

/* Channels that no voxel has are zeros for as long as the block runs. */
static __device__ __forceinline__ void clear_stages()
{
    for (int i = threadIdx.x; C % 8 && i < WARP_GROUPS * 2 * STAGE_BYTES / 16; i += THREADS)
        reinterpret_cast<uint4 *>(space + WEIGHT_BYTES)[i] = make_uint4(0, 0, 0, 0);
}

/* Bits of row `row` of a tile: which of its columns lie in the volume. */
static __device__ __forceinline__ unsigned inside_bits(const volume &v, const volume_place &at, int row)
{
    int z = at.o * STRIDE - PAD + row / IN_H, y = at.p * STRIDE - PAD + row % IN_H, x = at.q * STRIDE - PAD;
    if (z < 0 || z >= v.D || y < 0 || y >= v.H || x >= v.W)
        return 0;
    unsigned bits = v.W - x >= 32 ? ~0u : (1u << (v.W - x)) - 1;
    return x >= 0 ? bits : x > -32 ? bits & ~0u << -x : 0;
}

/* A tile of the group; bits: which inputs of a row are read. The caller commits. */
static __device__ __forceinline__ void load_tile(unsigned to, const TYPE *input, const volume &v, const volume_place &at, const unsigned *bits)
{
    constexpr int PARTS = C / VEC_IN;
    const TYPE *first = input + (((long long)at.n * v.D + at.o * STRIDE - PAD) * v.H + at.p * STRIDE - PAD) * v.W * C + (long long)(at.q * STRIDE - PAD) * C;
    for (int e = threadIdx.x % GROUP_THREADS; e < IN_ROWS * IN_W * PARTS; e += GROUP_THREADS) {
        int part = e % PARTS * VEC_IN, voxel = e / PARTS, row = voxel / IN_W, x = voxel % IN_W;
        bool valid = bits[row] >> x & 1;
        const TYPE *from = first + ((row / IN_H * v.H + row % IN_H) * v.W + x) * C + part;
        unsigned place = to + part / 8 * PLANE + (row * PITCH + column_place(x)) * 16 + part % 8 * 2;
        if (VEC_IN == 8)
            copy_async_16(place, valid ? from : input, valid);
        else if (VEC_IN == 4)
            copy_async_8(place, valid ? from : input, valid);
        else if (VEC_IN == 2)
            copy_async_4(place, valid ? from : input, valid);
        else
            reinterpret_cast<TYPE *>(space)[(place - shared_address(space)) / 2] = valid ? *from : from_f32<TYPE>(0.0f);
    }
}

/* A warp's place in its group's tile: 2 planes, 4 rows, WARP_K channels. */
struct warp_place {
    int z, y, k;
    __device__ __forceinline__ warp_place()
    {
        int warp = threadIdx.x / 32 % GROUP_WARPS;
        k = warp % (BLOCK_K / WARP_K) * WARP_K;
        y = warp / (BLOCK_K / WARP_K) % (TILE_H / 4) * 4;
        z = warp / (BLOCK_K / WARP_K) / (TILE_H / 4) * 2;
    }
};

/* sum[i][j]: rows are 8 columns of two planes of output row i of this warp, columns 8 j .. 8 j + 7 of its channels. */
static __device__ __forceinline__ void multiply_tile(float (&sum)[4][WARP_K / 8][4], const warp_place &warp, unsigned stage)
{
    int lane = threadIdx.x % 32, half = lane / 16;
    unsigned voxels = stage + (((warp.z + lane / 8 % 2) * STRIDE * IN_H + warp.y * STRIDE) * PITCH + lane % 8) * 16 + half * PLANE;
    unsigned weights = shared_address(space) + (lane / 8 % 2 * BLOCK_K + warp.k + half * 8 + lane % 8) * 16;
#pragma unroll UNROLLED
    for (int step = 0; step < STEPS; step++) {
        int first = column_offset(2 * step), second = column_offset(2 * step + 1 < COLUMNS ? 2 * step + 1 : 2 * step);
        unsigned from = voxels + first + half * (second - first - PLANE); /* nothing to do where the second is the same voxel's next channels */
        unsigned a[FRAGMENT_ROWS][4];
#pragma unroll
        for (int row = 0; row < FRAGMENT_ROWS; row++)
            load_matrix_4(a[row], from + row * PITCH * 16);
#pragma unroll
        for (int r = 0; r < R; r++) {
            unsigned b[WARP_K / 16][4];
#pragma unroll
            for (int j = 0; j < WARP_K / 16; j++)
                load_matrix_4(b[j], weights + (step * R + r) * 2 * BLOCK_K * 16 + j * 256);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < WARP_K / 8; j++)
                    multiply_16x8x16<TYPE>(sum[i][j], a[i * STRIDE + r], &b[j / 2][j % 2 * 2]);
        }
    }
}

/* wanted(z, y): is this lane's column of that row of the tile, which is inside the volume, to be written? k: the lane's first channel; K may end behind it. */
template <typename WANTED>
static __device__ __forceinline__ void store_tile(TYPE *output, const volume &v, const volume_place &at, const warp_place &warp, const float (&sum)[4][WARP_K / 8][4],
                                                  const float (&own_bias)[OWN], int k, WANTED wanted)
{
    int q = at.q + threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int z = 0; z < 2; z++) {
            int o = at.o + warp.z + z, p = at.p + warp.y + i;
            float x[OWN];
#pragma unroll
            for (int j = 0; j < OWN; j++)
                x[j] = activate(sum[i][j / 2][z * 2 + j % 2] + own_bias[j]);
            pack<TYPE, OWN> out = rounded<TYPE, OWN>(x);
            if (!wanted(z, i) || o >= v.O || p >= v.P || q >= v.Q)
                continue;
            TYPE *to = output + ((((size_t)at.n * v.O + o) * v.P + p) * v.Q + q) * v.K + k;
#pragma unroll
            for (int j = 0; j < OWN; j += STORE)
                if (k + j < v.K) {
                    pack<TYPE, STORE> part;
#pragma unroll
                    for (int e = 0; e < STORE; e++)
                        part.item[e] = out.item[j + e];
                    store_pack<TYPE, STORE>(to + j, part);
                }
        }
}

/* Which outputs of the warp's rows have a marked input: lane 2 y + z has those of row y of plane z, column x at bit x * STRIDE. */
static __device__ __forceinline__ unsigned reached(const unsigned *bits, const warp_place &warp)
{
    int lane = threadIdx.x % 8;
    unsigned any = 0, word = 0;
#pragma unroll
    for (int i = 0; i < FILTER_D * R; i++)
        any |= bits[((warp.z + lane % 2) * STRIDE + i / R) * IN_H + (warp.y + lane / 2) * STRIDE + i % R];
#pragma unroll
    for (int s = 0; s < S; s++)
        word |= any >> s;
    return word;
}

/* Everything. next(): the group's next tile, the same for all its threads; bits(at, row): which inputs of a row of a tile are read. All threads of the block. */
template <typename NEXT, typename BITS>
static __device__ __forceinline__ void convolve_tiles(const TYPE *input, const TYPE *filter, const float *bias, TYPE *output, const volume &v, NEXT next, BITS bits)
{
    warp_place warp;
    int group = own_group(), lane = threadIdx.x % 32, k0 = blockIdx.y * BLOCK_K, k = k0 + warp.k + lane % 4 * OWN;
    float own_bias[OWN];
#pragma unroll
    for (int j = 0; j < OWN; j++)
        own_bias[j] = EPI_BIAS && k + j < v.K ? bias[k + j] : 0.0f;
    unsigned rows[MARKS]; /* of the tile that is loaded next */
    auto look = [&](const volume_place &at) {
#pragma unroll
        for (int j = 0; j < MARKS; j++) {
            int row = threadIdx.x % GROUP_THREADS + j * GROUP_THREADS;
            rows[j] = at.n >= 0 && row < IN_ROWS ? bits(at, row) : 0;
        }
    };
    auto load = [&](const volume_place &at, int stage) {
#pragma unroll
        for (int j = 0; j < MARKS; j++)
            if (threadIdx.x % GROUP_THREADS + j * GROUP_THREADS < IN_ROWS)
                inside[group][stage][threadIdx.x % GROUP_THREADS + j * GROUP_THREADS] = rows[j];
        group_sync();
        if (at.n >= 0)
            load_tile(stage_address(stage), input, v, at, inside[group][stage]);
        copy_async_commit(); /* empty at the end, so that the wait below always means this tile */
    };
    clear_stages();
    load_weights(filter, k0, v.K);
    copy_async_commit();
    __syncthreads(); /* the stages are clear */
    volume_place at = {-1, 0, 0, 0}, ahead = next();
    look(ahead);
    for (int stage = 0;; stage ^= 1) {
        load(ahead, stage ^ 1);
        volume_place later = next();
        look(later); /* on its way while the tile is multiplied */
        copy_async_wait<1>();
        if (at.n < 0) {
            __syncthreads(); /* the weights are there; no tile yet */
        } else {
            group_sync();
            float sum[4][WARP_K / 8][4] = {{{0.0f}}};
            multiply_tile(sum, warp, stage_address(stage));
            unsigned own = MASKED ? reached(inside[group][stage], warp) : 0;
            store_tile(output, v, at, warp, sum, own_bias, k,
                       [&](int z, int y) { return !MASKED || __shfl_sync(~0u, own, y * 2 + z) >> (lane / 4 * STRIDE) & 1; });
            group_sync(); /* this stage may be overwritten */
        }
        at = ahead;
        if (at.n < 0)
            return;
        ahead = later;
    }
}
