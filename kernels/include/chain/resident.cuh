/* chain/resident: what the kernels of op chain share that compute a row of equal 3x3 layers in one launch: the order of weights, words with a flag of their
 * own, the halo tile, the products and the epilogue. Needs TYPE (2 bytes), C, KB, TH, TW, WAYS and M_WARPS as constants: see chain/resident. */
#pragma once
#include "element/element.cuh"
#include "element/flagged_words.cuh"
#include "tensor_core/mma.cuh"

constexpr int PITCH = 2 * C + 16;
constexpr int PIECES = C / 8;
constexpr int WIDE = TW + 2, TALL = TH + 2;
constexpr int ROW = WIDE * PITCH + (128 - 2 * PITCH % 128) % 128; /* of a halo tile: pixels that follow each other in the tile inside it lie in other banks, across rows too */
constexpr int M_TILES = (TH * TW + 15) / 16;
constexpr int WARPS = M_WARPS * WAYS;
constexpr int OWN = M_TILES / M_WARPS;   /* groups of 16 pixels of a warp */
constexpr int GROUPS = C / KB;
constexpr int PAIRS = KB / 16;           /* of 8-column tiles */
constexpr int K_STEPS = 9 * C / 16;
constexpr int WEIGHT_BYTES = KB * 9 * C * 2;
constexpr int TILE_BYTES = TALL * ROW;
constexpr int SUM_PITCH = KB + 4;        /* floats */
constexpr int COLUMNS = 8;               /* of a row of `links` */
constexpr int ITEMS = (TH * TW * (KB / 4) + 32 * WARPS - 1) / (32 * WARPS); /* groups of four channels that a thread stores */

extern __shared__ __align__(128) unsigned char shared[];

/* weights[link][group][step of 16 in depth][pair of 8 columns][lane][8]: what lane l needs of b for two products side by side. */
static __device__ __forceinline__ void order_filter(const TYPE *filter, TYPE *weights)
{
    int link = blockIdx.x / GROUPS, group = blockIdx.x % GROUPS;
    filter += (size_t)link * C * C * 9;
    weights += (size_t)blockIdx.x * (KB * 9 * C);
    for (int i = threadIdx.x; i < KB * 9 * C; i += blockDim.x) {
        int e = i % 8, lane = i / 8 % 32, pair = i / 256 % PAIRS, step = i / 256 / PAIRS;
        int column = pair * 16 + e / 4 * 8 + lane / 4;                /* output channel in the group */
        int depth = e / 2 % 2 * 8 + lane % 4 * 2 + e % 2;             /* of the 16 */
        int tap = step / (C / 16), c = step % (C / 16) * 16 + depth;
        weights[i] = filter[((size_t)(group * KB + column) * C + c) * 9 + tap];
    }
}

constexpr int QUADS = C / 4;                                                          /* of channels in a pixel */
constexpr int LOADS = (TALL * WIDE * QUADS + 32 * WARPS - 1) / (32 * WARPS);          /* of a thread, for the halo tile */

/* Quad i of the halo tile at (y0, x0): its place in the tile in shared memory, and whether it is inside the image; then `from` is its element. */
static __device__ __forceinline__ bool halo_quad(int i, int y0, int x0, int H, int W, unsigned *to, size_t *from)
{
    int quad = i % QUADS, x = i / QUADS % WIDE, y = i / QUADS / WIDE;
    *to = y * ROW + x * PITCH + quad * 8;
    *from = ((size_t)(y0 + y) * W + x0 + x) * C + quad * 4;
    return i < TALL * WIDE * QUADS && y0 + y >= 0 && y0 + y < H && x0 + x >= 0 && x0 + x < W;
}

/* The halo tile from the chain's input; zeros outside the image. */
static __device__ __forceinline__ void load_first(unsigned char *tile, const TYPE *input, int y0, int x0, int H, int W)
{
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
        unsigned to;
        size_t from;
        int i = threadIdx.x + j * 32 * WARPS;
        bool inside = halo_quad(i, y0, x0, H, W, &to, &from);
        if (i < TALL * WIDE * QUADS)
            *(uint2 *)(tile + to) = inside ? *(const uint2 *)(input + from) : make_uint2(0, 0);
    }
}

/* The halo tile as layer `layer` leaves it, as soon as it does. */
static __device__ __forceinline__ void load_next(unsigned char *tile, const unsigned *buffer, int y0, int x0, int H, int W, unsigned layer)
{
    words v[LOADS];
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
        unsigned to;
        size_t from;
        if (halo_quad(threadIdx.x + j * 32 * WARPS, y0, x0, H, W, &to, &from))
            v[j] = load_words(buffer + from);
    }
#pragma unroll
    for (int j = 0; j < LOADS; j++) {
        unsigned to;
        size_t from;
        int i = threadIdx.x + j * 32 * WARPS;
        bool inside = halo_quad(i, y0, x0, H, W, &to, &from);
        while (inside && !is_of(v[j], layer))
            v[j] = load_words(buffer + from);
        if (i < TALL * WIDE * QUADS)
            *(uint2 *)(tile + to) = inside ? make_uint2((unsigned)v[j].a, (unsigned)v[j].b) : make_uint2(0, 0);
    }
}

/* OWN groups of 16 pixels by KB channels, over one split of the depth. */
static __device__ __forceinline__ void multiply(float sum[OWN][PAIRS * 2][4], unsigned tile, unsigned weights, int m_tile, int split)
{
    int lane = threadIdx.x % 32;
    unsigned own[OWN];
#pragma unroll
    for (int m = 0; m < OWN; m++) {
        int pixel = min((m_tile + m) * 16 + lane % 16, TH * TW - 1); /* rows past the tile repeat its last pixel; nobody stores them */
        own[m] = tile + pixel / TW * ROW + pixel % TW * PITCH + lane / 16 * 16;
    }
#pragma unroll
    for (int t = 0; t < K_STEPS / WAYS; t++) {
        int step = split * (K_STEPS / WAYS) + t, tap = step / (C / 16), c = step % (C / 16);
        unsigned shift = tap / 3 * ROW + tap % 3 * PITCH + c * 32;
        uint4 b[PAIRS];
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            b[pair] = *(const uint4 *)(shared + (weights + ((step * PAIRS + pair) * 32 + lane) * 16));
#pragma unroll
        for (int m = 0; m < OWN; m++) {
            unsigned a[4];
            load_matrix_4(a, own[m] + shift);
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++) {
                unsigned low[2] = {b[pair].x, b[pair].y}, high[2] = {b[pair].z, b[pair].w};
                multiply_16x8x16<TYPE>(sum[m][pair * 2], a, low);
                multiply_16x8x16<TYPE>(sum[m][pair * 2 + 1], a, high);
            }
        }
    }
}

struct place {
    int n, y0, x0;
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    return {tile / tiles_x / tiles_y, tile / tiles_x % tiles_y * TH, tile % tiles_x * TW};
}

/* Four channels that this thread stores of a tile: item j. False: none. */
static __device__ __forceinline__ bool own_quad(int j, const place &at, int group, int H, int W, int *pixel, int *k, size_t *to)
{
    int i = threadIdx.x + j * 32 * WARPS;
    *k = i % (KB / 4) * 4;
    *pixel = i / (KB / 4);
    int y = at.y0 + *pixel / TW, x = at.x0 + *pixel % TW;
    *to = ((size_t)y * W + x) * C + group * KB + *k;
    return *pixel < TH * TW && y < H && x < W;
}

/* What a link adds, when it is known before the link begins: from two links back it is what this thread wrote. */
static __device__ __forceinline__ void load_residual(uint2 add[ITEMS], int source, const TYPE *input, const unsigned *buffer, const place &at, int group, int H, int W)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int pixel, k;
        size_t where;
        if (!own_quad(j, at, group, H, W, &pixel, &k, &where))
            continue;
        words v = source ? load_words(buffer + where) : words{0, 0};
        add[j] = source ? make_uint2((unsigned)v.a, (unsigned)v.b) : *(const uint2 *)(input + where);
    }
}

static __device__ __forceinline__ void share_sums(float *sums, const float sum[OWN][PAIRS * 2][4], int m_tile, int split)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < OWN; m++) {
        float *own = sums + (split * M_TILES + m_tile + m) * 16 * SUM_PITCH;
#pragma unroll
        for (int i = 0; i < PAIRS * 2; i++) {
            *(float2 *)(own + lane / 4 * SUM_PITCH + i * 8 + lane % 4 * 2) = make_float2(sum[m][i][0], sum[m][i][1]);
            *(float2 *)(own + (lane / 4 + 8) * SUM_PITCH + i * 8 + lane % 4 * 2) = make_float2(sum[m][i][2], sum[m][i][3]);
        }
    }
}

/* Four channels: their sums over the splits, bias, activation, residual. */
static __device__ __forceinline__ uint2 finish(const float *sums, const float *bias, int pixel, int k, float slope, bool adds, uint2 add)
{
    float4 v = *(const float4 *)(bias + k);
#pragma unroll
    for (int s = 0; s < WAYS; s++) {
        float4 part = *(const float4 *)(sums + (s * M_TILES * 16 + pixel) * SUM_PITCH + k);
        v.x += part.x, v.y += part.y, v.z += part.z, v.w += part.w;
    }
    float values[4] = {v.x, v.y, v.z, v.w};
    pack<TYPE, 4> out, other;
    other.word = add;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float u = values[e] < 0.0f ? values[e] * slope : values[e];
        out.item[e] = from_f32<TYPE>(adds ? u + to_f32(other.item[e]) : u);
    }
    return out.word;
}

/* Biases of this block's channels, and of each link the source of its residual and its slope. The caller synchronises. */
static __device__ __forceinline__ void keep_links(float *own_bias, float *own_links, const float *bias, const float *links, int group, int runs)
{
    for (int i = threadIdx.x; i < runs * KB; i += 32 * WARPS)
        own_bias[i] = bias[i / KB * C + group * KB + i % KB];
    for (int i = threadIdx.x; i < runs * 2; i += 32 * WARPS)
        own_links[i] = links[i / 2 * COLUMNS + 3 + i % 2];
}

/* A tile of a link from its sums: bias, activation, residual; to the next link's buffer, or to the output. */
static __device__ __forceinline__ void store_tile(const float *sums, const float *bias, float slope, int source, int link, bool last, uint2 add[ITEMS],
                                                  const unsigned char *halo, TYPE *output, unsigned *to, unsigned layer, const place &at, int group, int H, int W)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int pixel, k;
        size_t where;
        if (!own_quad(j, at, group, H, W, &pixel, &k, &where))
            continue;
        if (source == link) /* the link before, or the input of the first: the middle of the halo tile */
            add[j] = *(const uint2 *)(halo + (pixel / TW + 1) * ROW + (pixel % TW + 1) * PITCH + (group * KB + k) * 2);
        uint2 out = finish(sums, bias, pixel, k, slope, source >= 0, add[j]);
        if (last)
            *(uint2 *)(output + where) = out;
        else
            store_words(to + where, out, layer);
    }
}
