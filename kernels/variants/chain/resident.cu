/* bench 1
op: chain
what: one launch for all equal 3x3 layers - activations stay in L2, blocks wait for their neighbours only, the next layer's weights are on their way
needs:
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - width >= 16 and width % 16 == 0
  - straight == 1 and plain == 1 and back <= 2
  - n * h * w * width < 2147483648
layout: {input: NHWC, output: NHWC}
dtype: {input: [f16, bf16], filter: same, bias: f32, output: same, accumulate: f32}
algorithm: implicit_gemm
params:
  TH: {values: [4, 6, 8], default: 6}         # rows of output pixels in a tile
  TW: {values: [4, 6, 8, 12, 16], default: 6} # columns
  KB: {values: [16, 32, 64], default: 32}     # output channels of a block
  SPLIT: {values: [1, 3, 9], default: 3}      # ways the nine taps are split between warps
let:
  steps: 9 * width / 16                       # of 16 in the depth of the product
  m_tiles: ceil(TH * TW, 16)
  warps: m_tiles * SPLIT
  tiles_x: ceil(w, TW)
  tiles_y: ceil(h, TH)
  tiles: n * tiles_y * tiles_x
  groups_k: width / KB
  weight_bytes: KB * 9 * width * 2
  tile_bytes: (TH + 2) * (TW + 2) * (2 * width + 16)
  smem: 2 * weight_bytes + tile_bytes + SPLIT * m_tiles * 16 * (KB + 4) * 4 + runs * (KB + 2) * 4
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(1024, 32 * warps)))
where:
  - width % KB == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 80
define:
  TYPE: type(input)
  C: width
  PER_SM: per_sm
scratch:
  weights: input[runs * width * width * 9]
  ping: input[n * h * w * width]
  pong: input[n * h * w * width]
  flags: u32[tiles * groups_k]
prepare:
  - kernel: order_weights
    grid: runs * groups_k
    block: 256
    args: filter, weights
  - fill: flags = 0
steps:
  - kernel: run_layers
    grid: min(tiles * groups_k, per_sm * sm_count)
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, ping, pong, output, flags, runs, n, h, w, tiles_x, tiles_y, tiles
    attributes: {cooperative: yes}
*/

/* A residual network of 64 channels on a small image is not limited by arithmetic: 48 x 48 pixels are 0.17 GFLOP a layer, a fifth of a microsecond. It is
 * limited by what lies between layers: a launch, the drain of the last block, the fetch of 74 KB of weights by every SM, and the trip of the activations
 * through L2. So this kernel runs all layers in one launch.
 *
 *  - A block owns a tile of TH x TW pixels and KB output channels, the same ones in every layer. 6 x 6 pixels and 32 channels make 128 blocks of 48 x 48 x 64:
 *    as many as there are SMs, each with half of a layer's weights. Larger images give a block several tiles, one after another in each layer.
 *  - Blocks do not meet at a barrier of the whole grid. Each raises a flag when its tile of a layer is in memory; the next layer's tile waits for the 3 x 3
 *    tiles around it only. Flags count on from launch to launch, so nothing has to be reset. A block that is waited for is always resident (cooperative
 *    launch) and never waits for a later layer, so there is no deadlock.
 *  - Two buffers are enough: who writes layer l over layer l - 2 has seen all neighbours finish layer l - 1, and nobody else reads there. A residual comes from
 *    two links back, which is the very element that is written over, by the same thread, or from the chain's input.
 *  - The weights of layer l + 1 depend on nothing, so they travel while layer l is computed. They were put in the order of the instruction's fragments once
 *    (order_weights): a lane loads its share of 16 x 16 weights as 16 bytes, without conflicts.
 *  - Biases and what the links differ in are in shared memory from the start, and the residual is asked for before the wait: nothing but the tile itself is
 *    fetched between a flag and the products.
 *  - The depth (9 taps) is split between SPLIT warps for each 16 pixels, because a single chain of 36 dependent products would take longer than anything else here.
 *    Their sums meet in shared memory. */
#include "element.cuh"
#include "mma.cuh"

constexpr int PITCH = 2 * C + 16;
constexpr int PIECES = C / 8;
constexpr int WIDE = TW + 2, TALL = TH + 2;
constexpr int M_TILES = (TH * TW + 15) / 16;
constexpr int WARPS = M_TILES * SPLIT;
constexpr int GROUPS = C / KB;
constexpr int PAIRS = KB / 16;           /* of 8-column tiles */
constexpr int K_STEPS = 9 * C / 16;
constexpr int WEIGHT_BYTES = KB * 9 * C * 2;
constexpr int TILE_BYTES = TALL * WIDE * PITCH;
constexpr int SUM_PITCH = KB + 4;        /* floats */
constexpr int COLUMNS = 8;               /* of a row of `links` */
constexpr int ITEMS = (TH * TW * (KB / 4) + 32 * WARPS - 1) / (32 * WARPS); /* groups of four channels that a thread stores */

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

static __device__ __forceinline__ unsigned load_flag(const unsigned *flag)
{
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    return v;
}
static __device__ __forceinline__ void store_flag(unsigned *flag, unsigned v) { asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(v) : "memory"); }

/* The halo tile of image n at (y0, x0) to shared memory; zeros outside. From L2: other SMs wrote it in this launch. */
static __device__ __forceinline__ void load_tile(unsigned to, const TYPE *from, int y0, int x0, int H, int W)
{
    for (int i = threadIdx.x; i < TALL * WIDE * PIECES; i += 32 * WARPS) {
        int piece = i % PIECES, x = i / PIECES % WIDE, y = i / PIECES / WIDE;
        bool valid = y0 + y >= 0 && y0 + y < H && x0 + x >= 0 && x0 + x < W;
        copy_async_16(to + (y * WIDE + x) * PITCH + piece * 16, valid ? from + ((size_t)(y0 + y) * W + x0 + x) * C + piece * 8 : from, valid);
    }
}

static __device__ __forceinline__ void load_weights(unsigned to, const TYPE *from)
{
    for (int i = threadIdx.x; i < WEIGHT_BYTES / 16; i += 32 * WARPS)
        copy_async_16(to + i * 16, from + i * 8, true);
}

/* 16 pixels by KB channels, over the taps of one split. */
static __device__ __forceinline__ void multiply(float sum[PAIRS * 2][4], unsigned tile, unsigned weights, int m_tile, int split)
{
    int lane = threadIdx.x % 32;
    int pixel = min(m_tile * 16 + lane % 16, TH * TW - 1); /* rows past the tile repeat its last pixel; nobody stores them */
    unsigned own = tile + (pixel / TW * WIDE + pixel % TW) * PITCH + lane / 16 * 16;
    constexpr int taps = 9 / SPLIT;
#pragma unroll
    for (int t = 0; t < taps; t++) {
        int tap = split * taps + t;
        unsigned shifted = own + (tap / 3 * WIDE + tap % 3) * PITCH;
#pragma unroll
        for (int c = 0; c < C / 16; c++) {
            unsigned a[4];
            load_matrix_4(a, shifted + c * 32);
#pragma unroll
            for (int pair = 0; pair < PAIRS; pair++) {
                uint4 b = *(const uint4 *)(shared + (weights + (((tap * (C / 16) + c) * PAIRS + pair) * 32 + lane) * 16));
                unsigned low[2] = {b.x, b.y}, high[2] = {b.z, b.w};
                multiply_16x8x16<TYPE>(sum[pair * 2], a, low);
                multiply_16x8x16<TYPE>(sum[pair * 2 + 1], a, high);
            }
        }
    }
}

/* Everything about a tile's place. */
struct place {
    int n, y0, x0, ty, tx;
};
static __device__ __forceinline__ place place_of(int tile, int tiles_x, int tiles_y)
{
    int tx = tile % tiles_x, ty = tile / tiles_x % tiles_y;
    return {tile / tiles_x / tiles_y, ty * TH, tx * TW, ty, tx};
}

/* Until the 3 x 3 tiles around are in memory up to `wanted`, all their channels. */
static __device__ __forceinline__ void wait_neighbours(const unsigned *flags, const place &at, int tiles_x, int tiles_y, unsigned wanted)
{
    for (int i = threadIdx.x; i < 9 * GROUPS; i += 32 * WARPS) {
        int y = at.ty + i / GROUPS / 3 - 1, x = at.tx + i / GROUPS % 3 - 1;
        if (y < 0 || y >= tiles_y || x < 0 || x >= tiles_x)
            continue;
        const unsigned *flag = flags + ((size_t)(at.n * tiles_y + y) * tiles_x + x) * GROUPS + i % GROUPS;
        while ((int)(load_flag(flag) - wanted) < 0) {
        }
    }
    __syncthreads();
}

/* Sums of the splits, bias, activation, residual; four channels an item. */
static __device__ __forceinline__ void store_tile(const float *sums, const float *bias, float slope, bool adds, const pack<TYPE, 4> *add, TYPE *to, const place &at,
                                                  int group, int H, int W)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int i = threadIdx.x + j * 32 * WARPS, k = i % (KB / 4) * 4, pixel = i / (KB / 4), y = at.y0 + pixel / TW, x = at.x0 + pixel % TW;
        if (pixel >= TH * TW || y >= H || x >= W)
            continue;
        float4 v = *(const float4 *)(bias + k);
#pragma unroll
        for (int s = 0; s < SPLIT; s++) {
            float4 part = *(const float4 *)(sums + (s * M_TILES * 16 + pixel) * SUM_PITCH + k);
            v.x += part.x, v.y += part.y, v.z += part.z, v.w += part.w;
        }
        float values[4] = {v.x, v.y, v.z, v.w};
        pack<TYPE, 4> out;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float u = values[e] < 0.0f ? values[e] * slope : values[e];
            out.item[e] = from_f32<TYPE>(adds ? u + to_f32(add[j].item[e]) : u);
        }
        store_pack<TYPE, 4>(to + ((size_t)y * W + x) * C + group * KB + k, out);
    }
}

static __device__ __forceinline__ void load_residual(pack<TYPE, 4> *add, const TYPE *from, const place &at, int group, int H, int W)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int i = threadIdx.x + j * 32 * WARPS, k = i % (KB / 4) * 4, pixel = i / (KB / 4), y = at.y0 + pixel / TW, x = at.x0 + pixel % TW;
        if (pixel < TH * TW && y < H && x < W)
            add[j].word = __ldcg((const uint2 *)(from + ((size_t)y * W + x) * C + group * KB + k));
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, PER_SM)
run_layers(const TYPE *input, const TYPE *weights, const float *bias, const float *links, TYPE *ping, TYPE *pong, TYPE *output, unsigned *flags, int runs, int n,
           int H, int W, int tiles_x, int tiles_y, int tiles)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m_tile = warp / SPLIT, split = warp % SPLIT;
    unsigned base = shared_address(shared), tile_at = base + 2 * WEIGHT_BYTES;
    float *sums = (float *)(shared + 2 * WEIGHT_BYTES + TILE_BYTES), *own_bias = sums + SPLIT * M_TILES * 16 * SUM_PITCH, *own_links = own_bias + runs * KB;
    int group = blockIdx.x % GROUPS, first = blockIdx.x / GROUPS, stride = gridDim.x / GROUPS;
    if (first >= stride) /* the odd block of a grid that the groups do not divide */
        return;
    unsigned before = load_flag(flags + (size_t)first * GROUPS + group); /* all flags are equal between launches */
    load_weights(base, weights + (size_t)group * (KB * 9 * C));
    copy_async_commit();
    for (int i = threadIdx.x; i < runs * KB; i += 32 * WARPS)
        own_bias[i] = bias[i / KB * C + group * KB + i % KB];
    for (int i = threadIdx.x; i < runs * 2; i += 32 * WARPS)
        own_links[i] = links[i / 2 * COLUMNS + 3 + i % 2];
    __syncthreads();
    for (int link = 0; link < runs; link++) {
        const TYPE *from = link == 0 ? input : link & 1 ? ping : pong;
        TYPE *to = link == runs - 1 ? output : link & 1 ? pong : ping;
        int source = (int)own_links[link * 2];
        const TYPE *residual = source == 0 ? input : source == link ? from : link & 1 ? pong : ping; /* two links back: the buffer of this parity */
        bool fetched = link + 1 == runs;
        for (int tile = first; tile < tiles; tile += stride) {
            place at = place_of(tile, tiles_x, tiles_y);
            size_t image = (size_t)at.n * H * W * C;
            pack<TYPE, 4> add[ITEMS];
            if (source >= 0 && source != link)
                load_residual(add, residual + image, at, group, H, W);
            if (link)
                wait_neighbours(flags, at, tiles_x, tiles_y, before + link);
            load_tile(tile_at, from + image, at.y0 - 1, at.x0 - 1, H, W);
            copy_async_commit();
            if (source == link && link > 0)
                load_residual(add, residual + image, at, group, H, W);
            if (!fetched) { /* behind the tile, so that the wait below is not for them */
                load_weights(base + (link + 1 & 1) * WEIGHT_BYTES, weights + ((size_t)(link + 1) * GROUPS + group) * (KB * 9 * C));
                copy_async_commit();
                copy_async_wait<1>();
                fetched = true;
            } else {
                copy_async_wait<0>();
            }
            __syncthreads();
            float sum[PAIRS * 2][4];
#pragma unroll
            for (int i = 0; i < PAIRS * 8; i++)
                sum[i / 4][i % 4] = 0.0f;
            multiply(sum, tile_at, (link & 1) * WEIGHT_BYTES, m_tile, split);
            float *own = sums + (split * M_TILES + m_tile) * 16 * SUM_PITCH;
#pragma unroll
            for (int i = 0; i < PAIRS * 2; i++) {
                *(float2 *)(own + lane / 4 * SUM_PITCH + i * 8 + lane % 4 * 2) = make_float2(sum[i][0], sum[i][1]);
                *(float2 *)(own + (lane / 4 + 8) * SUM_PITCH + i * 8 + lane % 4 * 2) = make_float2(sum[i][2], sum[i][3]);
            }
            __syncthreads();
            store_tile(sums, own_bias + link * KB, own_links[link * 2 + 1], source >= 0, add, to + image, at, group, H, W);
            __syncthreads(); /* all of the tile is stored, and the sums are free */
            if (threadIdx.x == 0)
                store_flag(flags + (size_t)tile * GROUPS + group, before + link + 1);
        }
    }
}
