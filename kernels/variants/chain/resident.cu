/* bench 1
op: chain
what: one launch for all equal 3x3 layers - activations stay in L2 and carry their own flags, the next layer's weights are on their way
needs:
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - width >= 16 and width % 16 == 0
  - straight == 1 and plain == 1 and back <= 2
  - n * h * w * width < 1073741824
layout: {input: NHWC, output: NHWC}
dtype: {input: [f16, bf16], filter: same, bias: f32, output: same, accumulate: f32}
algorithm: implicit_gemm
params:
  TH: {values: [4, 6, 8], default: 6}         # rows of output pixels in a tile
  TW: {values: [4, 6, 8, 12, 16], default: 6} # columns
  KB: {values: [16, 32, 64], default: 32}     # output channels of a block
  SPLIT: {values: [auto, 3, 4, 6, 9, 12], default: auto} # ways the depth is split between warps
  ROWS: {values: [all, one], default: one}    # of 16 pixels that a warp multiplies: all of the tile's, or one
  CLUSTER: {values: [1, 2, 4], default: 1}    # blocks that share what they fetch of the weights
let:
  steps: 9 * width / 16                       # of 16 in the depth of the product
  ways: select(SPLIT == 'auto', select(steps % 4 == 0, 4, 3), SPLIT)
  m_tiles: ceil(TH * TW, 16)
  warps: select(ROWS == 'all', ways, ways * m_tiles)
  tiles_x: ceil(w, TW)
  tiles_y: ceil(h, TH)
  tiles: n * tiles_y * tiles_x
  groups_k: width / KB
  weight_bytes: KB * 9 * width * 2
  tile_bytes: (TH + 2) * (TW + 2) * (2 * width + 16)
  blocks: ceil(tiles, CLUSTER) * CLUSTER * groups_k
  smem: 128 + 2 * weight_bytes + tile_bytes + ways * m_tiles * 16 * (KB + 4) * 4 + runs * (KB + 2) * 4
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, 32 * warps)))
where:
  - width % KB == 0
  - steps % ways == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 90
  - sm_count >= CLUSTER * groups_k
define:
  TYPE: type(input)
  C: width
  PER_SM: per_sm
  M_WARPS: warps / ways
  WAYS: ways
scratch:
  weights: input[runs * width * width * 9]
  ping: u32[n * h * w * width]                # two channels and their flag in 8 bytes
  pong: u32[n * h * w * width]
  launches: u32[blocks]
prepare:
  - kernel: order_weights
    grid: runs * groups_k
    block: 256
    args: filter, weights
  - fill: ping = 0
  - fill: pong = 0
  - fill: launches = 0
steps:
  - kernel: run_layers
    grid: min(blocks, floor(per_sm * sm_count, CLUSTER * groups_k) * CLUSTER * groups_k)
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, ping, pong, output, launches, runs, n, h, w, tiles_x, tiles_y, tiles
    attributes: {cooperative: yes, cluster: CLUSTER}
*/

/* A residual network of 64 channels on a small image is not limited by arithmetic: 48 x 48 pixels are 0.17 GFLOP a layer, a fifth of a microsecond. It is
 * limited by what lies between layers: a launch, the drain of the last block, the fetch of 74 KB of weights by every SM, and the trip of the activations
 * through L2. So this kernel runs all layers in one launch.
 *
 *  - A block owns a tile of TH x TW pixels and KB output channels, the same ones in every layer. 6 x 6 pixels and 32 channels make 128 blocks of 48 x 48 x 64:
 *    as many as there are SMs, each with half of a layer's weights. Larger images give a block several tiles, one after another in each layer.
 *  - There is no barrier between layers, not even a flag beside the data: two channels and the number of the layer that made them are one 8-byte word, which
 *    is written and read whole. A block polls the words of its own halo until they are of the layer it needs. So a layer costs one store and one load through
 *    L2, where a flag costs a fence, a store, a poll and then the load.
 *  - Numbers go on from launch to launch (each block counts its launches), so nothing has to be cleared. A block that is waited for is always resident
 *    (cooperative launch) and never waits for a later layer, so there is no deadlock.
 *  - Two buffers are enough: who writes layer l over layer l - 2 has read words of layer l - 1 from each of its neighbours, who therefore have read all that they
 *    need of l - 2. A residual comes from two links back, which is the very word that is written over, by the same thread, or from the chain's input.
 *  - The weights depend on nothing, so the copy engine brings those of layer l + 2 as soon as those of layer l have been read. They were put in the order of the
 *    instruction's fragments once (order_weights): a lane loads its share of 16 x 16 weights as 16 bytes, without conflicts. All blocks together want 4.7 MB a
 *    layer from L2, which takes longer than the arithmetic; CLUSTER blocks of the same channels each fetch a part and send it to all of them.
 *  - The depth of 9 x 64 is split between WAYS warps, because one chain of 36 dependent products would take longer than anything else here. The sums meet in
 *    shared memory. */
#include "element.cuh"
#include "wgmma.cuh"

constexpr int PITCH = 2 * C + 16;
constexpr int PIECES = C / 8;
constexpr int WIDE = TW + 2, TALL = TH + 2;
constexpr int M_TILES = (TH * TW + 15) / 16;
constexpr int WARPS = M_WARPS * WAYS;
constexpr int OWN = M_TILES / M_WARPS;   /* groups of 16 pixels of a warp */
constexpr int GROUPS = C / KB;
constexpr int PAIRS = KB / 16;           /* of 8-column tiles */
constexpr int K_STEPS = 9 * C / 16;
constexpr int WEIGHT_BYTES = KB * 9 * C * 2;
constexpr int TILE_BYTES = TALL * WIDE * PITCH;
constexpr int SUM_PITCH = KB + 4;        /* floats */
constexpr int COLUMNS = 8;               /* of a row of `links` */
constexpr int ITEMS = (TH * TW * (KB / 4) + 32 * WARPS - 1) / (32 * WARPS); /* groups of four channels that a thread stores */

constexpr int BARRIERS = 128;             /* bytes in front: one barrier for each buffer of weights */

extern __shared__ __align__(128) unsigned char shared[];

/* weights[link][group][step of 16 in depth][pair of 8 columns][lane][8]: what lane l needs of b for two products side by side. */
extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights)
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

/* Four channels in two words: {two channels, layer} each. Every word is written and read whole. */
struct words {
    unsigned long long a, b;
};
static __device__ __forceinline__ words load_words(const unsigned *p)
{
    words v;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(v.a), "=l"(v.b) : "l"(p) : "memory");
    return v;
}
static __device__ __forceinline__ void store_words(unsigned *p, uint2 data, unsigned layer)
{
    unsigned long long a = (unsigned long long)layer << 32 | data.x, b = (unsigned long long)layer << 32 | data.y;
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(a), "l"(b) : "memory");
}
static __device__ __forceinline__ bool is_of(const words &v, unsigned layer) { return (unsigned)(v.a >> 32) == layer && (unsigned)(v.b >> 32) == layer; }

constexpr int QUADS = C / 4;                                                          /* of channels in a pixel */
constexpr int LOADS = (TALL * WIDE * QUADS + 32 * WARPS - 1) / (32 * WARPS);          /* of a thread, for the halo tile */

/* Quad i of the halo tile at (y0, x0): its place in the tile in shared memory, and whether it is inside the image; then `from` is its element. */
static __device__ __forceinline__ bool halo_quad(int i, int y0, int x0, int H, int W, unsigned *to, size_t *from)
{
    int quad = i % QUADS, x = i / QUADS % WIDE, y = i / QUADS / WIDE;
    *to = (y * WIDE + x) * PITCH + quad * 8;
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

__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

/* One thread: this block's part of a layer's weights, to all blocks of the cluster; their barriers count what arrives. */
static __device__ __forceinline__ void fetch(unsigned base, int link, int rank, int group, const TYPE *weights)
{
    constexpr unsigned part = WEIGHT_BYTES / CLUSTER;
    unsigned barrier = base + (link & 1) * 8, to = base + BARRIERS + (link & 1) * WEIGHT_BYTES + rank * part;
    const char *from = (const char *)(weights + ((size_t)link * GROUPS + group) * (KB * 9 * C)) + rank * part;
    barrier_arrive_expect(barrier, WEIGHT_BYTES);
    if (CLUSTER == 1)
        copy_bytes(to, from, part, barrier);
    else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from),
                     "r"(part), "r"(barrier), "h"((unsigned short)((1 << CLUSTER) - 1))
                     : "memory");
}

/* OWN groups of 16 pixels by KB channels, over one split of the depth. */
static __device__ __forceinline__ void multiply(float sum[OWN][PAIRS * 2][4], unsigned tile, unsigned weights, int m_tile, int split)
{
    int lane = threadIdx.x % 32;
    unsigned own[OWN];
#pragma unroll
    for (int m = 0; m < OWN; m++) {
        int pixel = min((m_tile + m) * 16 + lane % 16, TH * TW - 1); /* rows past the tile repeat its last pixel; nobody stores them */
        own[m] = tile + (pixel / TW * WIDE + pixel % TW) * PITCH + lane / 16 * 16;
    }
#pragma unroll
    for (int t = 0; t < K_STEPS / WAYS; t++) {
        int step = split * (K_STEPS / WAYS) + t, tap = step / (C / 16), c = step % (C / 16);
        unsigned shift = (tap / 3 * WIDE + tap % 3) * PITCH + c * 32;
        uint4 b[PAIRS];
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            b[pair] = *(const uint4 *)(shared + BARRIERS + (weights + ((step * PAIRS + pair) * 32 + lane) * 16));
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

/* Barriers; what the links differ in to shared memory. */
static __device__ __forceinline__ void begin(unsigned base, float *own_bias, float *own_links, const float *bias, const float *links, int group, int runs)
{
    if (threadIdx.x == 0) {
        barrier_init(base, 1);
        barrier_init(base + 8, 1);
        barrier_init_done();
    }
    for (int i = threadIdx.x; i < runs * KB; i += 32 * WARPS)
        own_bias[i] = bias[i / KB * C + group * KB + i % KB];
    for (int i = threadIdx.x; i < runs * 2; i += 32 * WARPS)
        own_links[i] = links[i / 2 * COLUMNS + 3 + i % 2];
    __syncthreads();
    if (CLUSTER > 1) { /* nobody sends before every barrier is there */
        cluster_arrive();
        cluster_wait();
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, PER_SM)
run_layers(const TYPE *input, const TYPE *weights, const float *bias, const float *links, unsigned *ping, unsigned *pong, TYPE *output, unsigned *launches, int runs,
           int n, int H, int W, int tiles_x, int tiles_y, int tiles)
{
    int warp = threadIdx.x / 32, m_tile = warp / WAYS * OWN, split = warp % WAYS;
    unsigned base = shared_address(shared);
    unsigned char *halo = shared + BARRIERS + 2 * WEIGHT_BYTES;
    float *sums = (float *)(halo + TILE_BYTES), *own_bias = sums + WAYS * M_TILES * 16 * SUM_PITCH, *own_links = own_bias + runs * KB;
    int rank = blockIdx.x % CLUSTER, group = blockIdx.x / CLUSTER % GROUPS, first = blockIdx.x / CLUSTER / GROUPS * CLUSTER + rank, stride = gridDim.x / GROUPS;
    unsigned before = launches[blockIdx.x] * (unsigned)runs; /* equal in all blocks */
    begin(base, own_bias, own_links, bias, links, group, runs);
    for (int link = 0; threadIdx.x == 0 && link < 2 && link < runs; link++)
        fetch(base, link, rank, group, weights);
    for (int link = 0; link < runs; link++) {
        unsigned *to = link & 1 ? pong : ping;
        int source = (int)own_links[link * 2];
        bool last = link + 1 == runs, left = false; /* left: done with the weights */
        barrier_wait(base + (link & 1) * 8, link >> 1 & 1);
        for (int tile = first; tile < tiles; tile += stride) {
            place at = place_of(tile, tiles_x, tiles_y);
            size_t image = (size_t)at.n * H * W * C;
            uint2 add[ITEMS];
            if (source >= 0 && source != link)
                load_residual(add, source, input + image, to + image, at, group, H, W);
            if (link)
                load_next(halo, (link & 1 ? ping : pong) + image, at.y0 - 1, at.x0 - 1, H, W, before + link);
            else
                load_first(halo, input + image, at.y0 - 1, at.x0 - 1, H, W);
            __syncthreads();
            float sum[OWN][PAIRS * 2][4] = {};
            multiply(sum, base + BARRIERS + 2 * WEIGHT_BYTES, (link & 1) * WEIGHT_BYTES, m_tile, split);
            share_sums(sums, sum, m_tile, split);
            if (tile + stride >= tiles && CLUSTER > 1) {
                cluster_arrive();
                left = true;
            }
            __syncthreads();
            if (tile + stride >= tiles && CLUSTER == 1 && threadIdx.x == 0 && link + 2 < runs)
                fetch(base, link + 2, rank, group, weights);
#pragma unroll
            for (int j = 0; j < ITEMS; j++) {
                int pixel, k;
                size_t where;
                if (!own_quad(j, at, group, H, W, &pixel, &k, &where))
                    continue;
                if (source == link) /* the link before, or the input of the first: the middle of the halo tile */
                    add[j] = *(const uint2 *)(halo + ((pixel / TW + 1) * WIDE + pixel % TW + 1) * PITCH + (group * KB + k) * 2);
                uint2 out = finish(sums, own_bias + link * KB, pixel, k, own_links[link * 2 + 1], source >= 0, add[j]);
                if (last)
                    *(uint2 *)(output + image + where) = out;
                else
                    store_words(to + image + where, out, before + link + 1);
            }
            if (tile + stride < tiles || source == link)
                __syncthreads(); /* the sums and the halo tile are free */
        }
        if (CLUSTER > 1) {
            if (!left)
                cluster_arrive();
            cluster_wait(); /* nobody in the cluster reads these weights any more */
            if (threadIdx.x == 0 && link + 2 < runs)
                fetch(base, link + 2, rank, group, weights);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        launches[blockIdx.x] = launches[blockIdx.x] + 1;
}
