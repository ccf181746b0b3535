/* volume/mma: a convolution of volumes or images on tensor cores by mma.sync, NDHWC; an image is a volume of one plane. Its variants differ in which tiles there are:
 *   conv3d/mma_sync                      all
 *   conv3d/sparse_mma, conv2d/sparse_mma  those that a marked input reaches (volume/schedule.cuh)
 *
 * A tile is TILE_D x TILE_H x 8 outputs by BLOCK_K channels, and belongs to a group of warps. The block's weights lie in shared memory; each group has STAGES places
 * for tiles with halo, and cp.async fills the others while one is multiplied. A block has WARP_GROUPS groups, which do not wait for each other: one multiplies while another
 * stores.
 *
 *  - In shared memory a tile is planes of one or two pieces of 16 bytes, [piece][z][y][x], so that reads of eight adjacent outputs have no bank conflicts without padding,
 *    and any tap is at a constant distance (one for each column of the filter). Two pieces if they make pairs: 32 bytes of global memory that go to two places would be
 *    fetched twice. The pieces of a pair are swapped every four voxels. With a stride the columns of one remainder are adjacent.
 *  - The 16 rows of a product are 8 columns of two rows of outputs: the same row of two planes, or with PLANES 1 rows 4 apart. A warp has 4 such pairs below each other, so
 *    a fragment serves every filter row to which it belongs.
 *  - The depth of a product is two columns of the filter: a column is a piece of one (t, s), 8 channels (4 of f32). If there are two pieces or a multiple, the columns are
 *    adjacent pieces; otherwise they may be of different taps, and an odd one at the end meets weights of 0. Channels that fill no piece are zeros.
 *  - One bit for each input says whether it is read, a word for a row of the tile: inside the volume and, in a sparse convolution, marked. The others arrive as zeros.
 *  - f32 is multiplied in TF32 (tensor_core/mma.cuh): weights are rounded once, inputs each time they are loaded into registers.
 *
 * Needs TYPE, C, FILTER_D, R, S, STRIDE, PAD, PLANES (1 or 2, of a warp), TILE_D (a multiple of it), TILE_H (of 8 / PLANES), BLOCK_K, WARP_K (channels of a warp),
 * WARP_GROUPS, STAGES, VEC_IN (divides C and a piece), STORE (divides WARP_K / 4 and K), EPI_BIAS and EPI_SLOPE as constants; DILATION where it is not 1; FLAT: an image;
 * MASKED: only outputs that a read input reaches are stored. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma.cuh"

#ifndef MASKED
#define MASKED 0
#endif
#ifndef BOTH
#define BOTH 0 /* 1: outputs are active where inputs are marked, instead of wherever a marked one reaches */
#endif
#ifndef DILATION
#define DILATION 1
#endif
#ifndef FLAT
#define FLAT 0
#endif
#ifndef PAD_LEFT
#define PAD_LEFT PAD /* of the columns */
#endif
constexpr int PAD_D = FLAT ? 0 : PAD; /* an image has no planes around it */
constexpr int PIECE = 16 / sizeof(TYPE), PIECES = (C + PIECE - 1) / PIECE; /* channels of 16 bytes; of them in a voxel */
constexpr int REACH_H = (R - 1) * DILATION, REACH_W = (S - 1) * DILATION;
constexpr int IN_D = (TILE_D - 1) * STRIDE + FILTER_D, IN_H = (TILE_H - 1) * STRIDE + REACH_H + 1, IN_W = 7 * STRIDE + REACH_W + 1;
constexpr int IN_ROWS = IN_D * IN_H, PART_W = (IN_W + STRIDE - 1) / STRIDE, PITCH = STRIDE * PART_W; /* voxels of a row, those of one remainder together */
constexpr int PAIRED = PIECES % 2 == 0, UNIT = PAIRED ? 32 : 16;              /* bytes of a voxel in a plane */
constexpr int PLANE = (IN_ROWS * PITCH * UNIT + 127) / 128 * 128 + 32;       /* pieces of a voxel in different banks */
constexpr int STAGE_BYTES = PIECES * 16 / UNIT * PLANE;
constexpr int COLUMNS = FILTER_D * S * PIECES, STEPS = (COLUMNS + 1) / 2;
constexpr int WEIGHT_BYTES = STEPS * 2 * R * BLOCK_K * 16; /* [step][row of the filter][half of the depth][output channel][piece] */
constexpr int FRAGMENT_ROWS = 3 * STRIDE + REACH_H + 1, OWN = WARP_K / 4; /* channels that a lane stores */
constexpr int WARP_ROWS = 8 / PLANES;                                     /* of a plane */
constexpr int GROUP_WARPS = TILE_D / PLANES * (TILE_H / WARP_ROWS) * (BLOCK_K / WARP_K), GROUP_THREADS = 32 * GROUP_WARPS, THREADS = WARP_GROUPS * GROUP_THREADS;
constexpr int MARKS = (IN_ROWS + GROUP_THREADS - 1) / GROUP_THREADS; /* rows of a tile that a thread looks after */
/* A tile's products in turns, one for each plane of the filter, where they are many: the code has to come from memory, too. */
constexpr int TURNS = STEPS * R * WARP_K > 1024 && S * PIECES % 2 == 0 ? FILTER_D : 1, TURN_STEPS = STEPS / TURNS, UNROLLED = TURN_STEPS * R <= 160 ? TURN_STEPS : 4;

extern __shared__ __align__(128) unsigned char space[]; /* the weights, then STAGES stages for each group */
static __shared__ unsigned inside[WARP_GROUPS][STAGES][IN_ROWS]; /* bit x: input x of the row is read */

struct volume {
    int D, H, W, K, O, P, Q; /* input and output */
};
struct volume_place {
    int n, o, p, q; /* first output of a tile; n < 0: none */
};

static __device__ __forceinline__ int own_group() { return threadIdx.x / GROUP_THREADS; }
static __device__ __forceinline__ void group_sync() { asm volatile("bar.sync %0, %1;" ::"r"(own_group() + 1), "n"(GROUP_THREADS) : "memory"); }
static __device__ __forceinline__ unsigned stage_address(int stage) { return shared_address(space) + WEIGHT_BYTES + (own_group() * STAGES + stage) * STAGE_BYTES; }

/* Where column x of a tile's row lies, in voxels. */
static __host__ __device__ constexpr int column_place(int x) { return x / STRIDE + x % STRIDE * PART_W; }
/* Where a piece of a voxel lies in a row of its plane, and which plane that is. */
static __device__ __forceinline__ unsigned in_row(int place, int piece) { return place * UNIT + (PAIRED ? (piece ^ place >> 2) % 2 * 16 : 0); }
static __host__ __device__ constexpr int plane_of(int piece) { return PAIRED ? piece / 2 : piece; }
/* Bytes from an output's own voxel to column `column` of the filter, but for its place in the row when pieces are paired. */
static __host__ __device__ constexpr int column_offset(int column)
{
    int tap = column / PIECES;
    return (tap / S * IN_H * PITCH + (PAIRED ? 0 : column_place(tap % S * DILATION))) * UNIT + plane_of(column % PIECES) * PLANE;
}

/* What the tensor cores see of f32: TF32. */
template <typename T> static __device__ __forceinline__ T rounded_weight(T x) { return x; }
template <> __device__ __forceinline__ float rounded_weight<float>(float x) { return __uint_as_float(round_tf32(x)); }
static __device__ __forceinline__ void load_inputs(unsigned a[4], unsigned from)
{
    load_matrix_4(a, from);
#pragma unroll
    for (int i = 0; i < 4 && sizeof(TYPE) == 4; i++)
        a[i] = round_tf32(__uint_as_float(a[i]));
}
template <typename T> static __device__ __forceinline__ void multiply_fragment(float d[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x16<T>(d, a, b); }
template <> __device__ __forceinline__ void multiply_fragment<float>(float d[4], const unsigned a[4], const unsigned b[2]) { multiply_16x8x8_tf32(d, a, b); }

/* The filter of channels k0 .. k0 + BLOCK_K - 1, stored K, FILTER_D*R, S, C. The caller commits; all threads of the block. */
static __device__ __forceinline__ void load_weights(const TYPE *filter, int k0, int K)
{
    unsigned to = shared_address(space);
    for (int i = threadIdx.x; i < STEPS * 2 * R * BLOCK_K; i += THREADS) {
        int k = i % BLOCK_K, rest = i / BLOCK_K, column = rest / 2 / R * 2 + rest % 2, r = rest / 2 % R, tap = column / PIECES, c = column % PIECES * PIECE;
        int o = k % WARP_K; /* channel OWN t + 2 j + e goes to column 8 j + 2 t + e of the product: a lane stores OWN neighbours */
        unsigned at = to + (rest * BLOCK_K + k - o + o % OWN / 2 * 8 + o / OWN * 2 + o % 2) * 16;
        bool valid = column < COLUMNS && k0 + k < K;
        const TYPE *from = filter + (((size_t)(valid ? k0 + k : 0) * FILTER_D * R + tap / S * R + r) * S + tap % S) * C + c;
        if (VEC_IN == PIECE && sizeof(TYPE) == 2) {
            copy_async_16(at, valid ? from : filter, valid);
        } else {
            pack<TYPE, PIECE> v;
#pragma unroll
            for (int j = 0; j < PIECE; j++)
                v.item[j] = valid && c + j < C ? rounded_weight(from[j]) : from_f32<TYPE>(0.0f);
            *reinterpret_cast<uint4 *>(space + (at - to)) = v.word;
        }
    }
}

/* Channels that no voxel has are zeros for as long as the block runs. */
static __device__ __forceinline__ void clear_stages()
{
    for (int i = threadIdx.x; C % PIECE && i < WARP_GROUPS * STAGES * STAGE_BYTES / 16; i += THREADS)
        reinterpret_cast<uint4 *>(space + WEIGHT_BYTES)[i] = make_uint4(0, 0, 0, 0);
}

/* Bits of row `row` of a tile: which of its columns lie in the volume. */
static __device__ __forceinline__ unsigned inside_bits(const volume &v, const volume_place &at, int row)
{
    int z = at.o * STRIDE - PAD_D + row / IN_H, y = at.p * STRIDE - PAD + row % IN_H, x = at.q * STRIDE - PAD_LEFT;
    if (z < 0 || z >= v.D || y < 0 || y >= v.H || x >= v.W)
        return 0;
    unsigned bits = v.W - x >= 32 ? ~0u : (1u << (v.W - x)) - 1;
    return x >= 0 ? bits : x > -32 ? bits & ~0u << -x : 0;
}

/* Loads a tile of the group; bits: which inputs of a row are read. The caller commits. A thread has one position in a row, or several if rows are longer than the group
 * is wide, and loads it in the rows of all planes. */
static __device__ __forceinline__ void load_tile(unsigned to, const TYPE *input, const volume &v, const volume_place &at, const unsigned *bits)
{
    constexpr int PARTS = C / VEC_IN, BYTES = VEC_IN * sizeof(TYPE), LONG = IN_W * PARTS, AT_ONCE = GROUP_THREADS < LONG ? 1 : GROUP_THREADS / LONG;
    const TYPE *first = input + (((long long)at.n * v.D + at.o * STRIDE - PAD_D) * v.H + at.p * STRIDE - PAD) * v.W * C + (long long)(at.q * STRIDE - PAD_LEFT) * C;
    long long line = (long long)v.W * C, plane = (v.H - IN_H) * line; /* what a tile's rows of a plane leave out */
    for (int e = threadIdx.x % GROUP_THREADS; e < AT_ONCE * LONG; e += GROUP_THREADS) {
        int x = e % LONG / PARTS, part = e % PARTS * VEC_IN, y = e / LONG;
        unsigned place = to + plane_of(part / PIECE) * PLANE + y * PITCH * UNIT + in_row(column_place(x), part / PIECE) + part % PIECE * sizeof(TYPE);
        const TYPE *from = first + y * line + x * C + part;
#pragma unroll 4
        for (int row = y; row < IN_ROWS; row += AT_ONCE) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; i += IN_H)
                if (y >= IN_H)
                    y -= IN_H, from += plane;
            bool valid = bits[row] >> x & 1;
            if (BYTES == 16)
                copy_async_16(place, valid ? from : input, valid);
            else if (BYTES == 8)
                copy_async_8(place, valid ? from : input, valid);
            else if (BYTES == 4)
                copy_async_4(place, valid ? from : input, valid);
            else
                reinterpret_cast<TYPE *>(space)[(place - shared_address(space)) / 2] = valid ? *from : from_f32<TYPE>(0.0f);
            y += AT_ONCE, from += AT_ONCE * line, place += AT_ONCE * PITCH * UNIT;
        }
    }
}

/* A warp's place in its group's tile: PLANES planes, WARP_ROWS rows, WARP_K channels. */
struct warp_place {
    int z, y, k;
    __device__ __forceinline__ warp_place()
    {
        int warp = threadIdx.x / 32 % GROUP_WARPS;
        k = warp % (BLOCK_K / WARP_K) * WARP_K;
        y = warp / (BLOCK_K / WARP_K) % (TILE_H / WARP_ROWS) * WARP_ROWS;
        z = warp / (BLOCK_K / WARP_K) / (TILE_H / WARP_ROWS) * PLANES;
    }
    /* Of half `half` of pair i. */
    __device__ __forceinline__ int plane(int half) const { return PLANES == 2 ? z + half : z; }
    __device__ __forceinline__ int row(int i, int half) const { return PLANES == 2 ? y + i : y + i + half * 4; }
};

/* Two columns of the filter, all its rows. inputs, weights: this lane's address. */
static __device__ __forceinline__ void multiply_step(float (&sum)[4][WARP_K / 8][4], unsigned inputs, unsigned weights)
{
    unsigned a[FRAGMENT_ROWS][4];
#pragma unroll
    for (int row = 0; row < FRAGMENT_ROWS; row++)
        load_inputs(a[row], inputs + row * PITCH * UNIT);
#pragma unroll
    for (int r = 0; r < R; r++) {
        unsigned b[WARP_K / 16][4];
#pragma unroll
        for (int j = 0; j < WARP_K / 16; j++)
            load_matrix_4(b[j], weights + r * 2 * BLOCK_K * 16 + j * 256);
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < WARP_K / 8; j++)
                multiply_fragment<TYPE>(sum[i][j], a[i * STRIDE + r * DILATION], &b[j / 2][j % 2 * 2]);
    }
}

/* sum[i][j]: rows are 8 columns of the two rows of pair i of this warp, columns 8 j .. 8 j + 7 of its channels. */
static __device__ __forceinline__ void multiply_tile(float (&sum)[4][WARP_K / 8][4], const warp_place &warp, unsigned stage)
{
    int lane = threadIdx.x % 32, half = lane / 16;
    unsigned voxels = stage + (warp.plane(lane / 8 % 2) * STRIDE * IN_H + warp.row(0, lane / 8 % 2) * STRIDE) * PITCH * UNIT;
    unsigned across[PAIRED ? S : 1]; /* this lane's voxel and half of the depth, for each column of the filter */
#pragma unroll
    for (int s = 0; s < (PAIRED ? S : 1); s++)
        across[s] = PAIRED ? in_row(lane % 8 + column_place(s * DILATION), half) : lane % 8 * 16 + half * PLANE;
    unsigned weights = shared_address(space) + (lane / 8 % 2 * BLOCK_K + warp.k + half * 8 + lane % 8) * 16;
#pragma unroll 1
    for (int t = 0; t < TURNS; t++, voxels += IN_H * PITCH * UNIT, weights += TURN_STEPS * R * 2 * BLOCK_K * 16)
#pragma unroll UNROLLED
        for (int step = 0; step < TURN_STEPS; step++) {
            int first = column_offset(2 * step), second = column_offset(2 * step + 1 < COLUMNS ? 2 * step + 1 : 2 * step);
            unsigned from = voxels + first + (PAIRED ? across[2 * step / PIECES % S] : across[0] + half * (second - first - PLANE));
            multiply_step(sum, from, weights + step * R * 2 * BLOCK_K * 16);
        }
}

/* V results as they are stored; of 2-byte types relu takes two at a time. */
template <typename T, int V> static __device__ __forceinline__ pack<T, V> activated(float (&x)[V])
{
    constexpr bool PAIRS = EPI_SLOPE == 0 && sizeof(T) == 2 && V % 2 == 0;
#pragma unroll
    for (int i = 0; i < V; i++)
        x[i] = PAIRS ? x[i] : activate(x[i]);
    pack<T, V> v = rounded<T, V>(x);
    if constexpr (PAIRS) {
        unsigned *two = reinterpret_cast<unsigned *>(&v.word);
#pragma unroll
        for (int i = 0; i < V / 2; i++)
            two[i] = relu_of<T>(two[i]);
    }
    return v;
}

/* wanted(i, half): is this lane's column of that row of the warp to be written, if it is in the volume? k: the lane's first channel; K may end behind it. */
template <typename WANTED>
static __device__ __forceinline__ void store_tile(TYPE *output, const volume &v, const volume_place &at, const warp_place &warp, const float (&sum)[4][WARP_K / 8][4],
                                                  const float (&own_bias)[OWN], int k, WANTED wanted)
{
    int q = at.q + threadIdx.x % 32 / 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int o = at.o + warp.plane(half), p = at.p + warp.row(i, half);
            if (!wanted(i, half) || o >= v.O || p >= v.P || q >= v.Q)
                continue;
            TYPE *to = output + ((((size_t)at.n * v.O + o) * v.P + p) * v.Q + q) * v.K + k;
#pragma unroll
            for (int j = 0; j < OWN; j += STORE) {
                float x[STORE];
#pragma unroll
                for (int e = 0; e < STORE; e++)
                    x[e] = sum[i][(j + e) / 2][half * 2 + (j + e) % 2] + own_bias[j + e];
                if (k + j < v.K)
                    store_pack<TYPE, STORE>(to + j, activated<TYPE, STORE>(x));
            }
        }
}

/* Which outputs of the warp's rows have a marked input: lane 2 i + half has those of that row, column x at bit x * STRIDE. */
static __device__ __forceinline__ unsigned reached(const unsigned *bits, const warp_place &warp)
{
    int lane = threadIdx.x % 8;
    unsigned any = 0, word = 0;
    if (BOTH) /* the input at the output's place */
        return bits[(warp.plane(lane % 2) + PAD_D) * IN_H + warp.row(lane / 2, lane % 2) + PAD] >> PAD_LEFT;
#pragma unroll
    for (int i = 0; i < FILTER_D * R; i++)
        any |= bits[(warp.plane(lane % 2) * STRIDE + i / R) * IN_H + warp.row(lane / 2, lane % 2) * STRIDE + i % R * DILATION];
#pragma unroll
    for (int s = 0; s < S; s++)
        word |= any >> s * DILATION;
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
    volume_place coming[STAGES - 1], ahead = next(); /* tiles in shared memory, or on their way; the next one */
    look(ahead);
    for (int i = 0, stage = 0;; i++) {
        load(ahead, stage);
        stage = stage + 1 == STAGES ? 0 : stage + 1; /* of the oldest tile */
        volume_place at = coming[0];
#pragma unroll
        for (int j = 0; j < STAGES - 2; j++)
            coming[j] = coming[j + 1];
        coming[STAGES - 2] = ahead;
        ahead = next();
        look(ahead); /* on its way while the tile is multiplied */
        if (i < STAGES - 1)
            continue;
        copy_async_wait<STAGES - 1>();
        if (i == STAGES - 1)
            __syncthreads(); /* the weights are there, too */
        else
            group_sync();
        if (at.n < 0)
            return;
        float sum[4][WARP_K / 8][4] = {{{0.0f}}};
        multiply_tile(sum, warp, stage_address(stage));
        unsigned own = MASKED ? reached(inside[group][stage], warp) : 0;
        store_tile(output, v, at, warp, sum, own_bias, k,
                   [&](int i, int half) { return !MASKED || __shfl_sync(~0u, own, i * 2 + half) >> (lane / 4 * STRIDE) & 1; });
        group_sync(); /* this stage may be overwritten */
    }
}
