/* bench 1
op: chain
what: the blocks of a tile are a cluster that exchange their channels in shared memory; only a tile's border goes through L2
from: resident_bulk
needs:
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - width >= 16 and width % 16 == 0
  - straight == 1 and plain == 1 and back <= 2
  - n * h * w * width * runs < 1073741824
layout: {input: NHWC, output: NHWC}
dtype: {input: [f16, bf16], filter: same, bias: f32, output: same, accumulate: f32}
algorithm: implicit_gemm
params:
  HEIGHT: {values: [auto, 4, 6, 8], default: auto} # rows of output pixels in a tile
  WIDTH: {values: [auto, 4, 6, 8, 12, 16], default: auto} # columns; auto: tiles of 6 x 6 if there is an SM for each of their blocks, else of 8 x 8
  CHANNELS: {values: [auto, 16, 32, 64], default: auto} # output channels of a block
  SPLIT: {values: [auto, 1, 2, 3, 4, 6, 8], default: auto} # ways the channels are split between warps; auto: 16 each
let:
  chunks: width / 16                          # of 16 channels
  ways: select(SPLIT == 'auto', chunks, SPLIT)
  kb: select(CHANNELS == 'auto', select(width % 32 == 0, 32, 16), CHANNELS)
  groups_k: width / kb
  side: select(n * ceil(h, 6) * ceil(w, 6) * groups_k <= sm_count, 6, 8)
  th: select(HEIGHT == 'auto', side, HEIGHT)
  tw: select(WIDTH == 'auto', side, WIDTH)
  m_tiles: ceil(th * tw, 16)
  warps: ways * m_tiles
  tiles_x: ceil(w, tw)
  tiles_y: ceil(h, th)
  tiles: n * tiles_y * tiles_x
  weight_bytes: kb * 9 * width * 2
  pitch: 2 * width + 16                       # of a pixel in shared memory
  tile_bytes: (th + 2) * ((tw + 2) * pitch + (128 - 2 * pitch % 128) % 128)
  smem: 128 + 2 * weight_bytes + 2 * tile_bytes + ways * m_tiles * 16 * (kb + 4) * 4
where:
  - width % kb == 0
  - chunks % ways == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 90
  - groups_k <= 8
  - tiles * groups_k <= sm_count              # a block on each SM, for one tile
  - 9 * chunks / ways * kb / 4 <= 80         # registers that hold weights
define:
  TYPE: type(input)
  C: width
  TH: th
  TW: tw
  M_WARPS: m_tiles
  KB: kb
  WAYS: ways
scratch:
  weights: input[runs * width * width * 9]
  exchange: u32[runs * n * h * w * width]     # two of the output's type for every output of every link: for launches of even and of odd number
  launches: u32[tiles * groups_k]
prepare:
  - kernel: order_weights
    grid: runs * groups_k
    block: 256
    args: filter, weights
  - fill: exchange = 2147516416                # negative zeros
  - fill: launches = 0
steps:
  - kernel: run_layers
    grid: tiles * groups_k
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, exchange, output, launches, runs, h, w, tiles_x, tiles_y, n * h * w * width
    attributes: {cooperative: yes, cluster: groups_k}
*/

/* What changed from resident_bulk, for images so small that a block has one tile: the overhead of a layer beside its products. On 48 x 48 pixels these are a tenth of it.
 *
 *  - The blocks of a tile, each with its channels, are a cluster: they store their outputs directly into each other's halo tile, which takes a fifth of the time through L2. An
 *    mbarrier there counts the bytes. (Plain stores and an arrival with release semantics would wait for all stores of the thread, also those to L2: 600 cycles per layer.) Only
 *    what other tiles read goes through L2: the pixels at the tile's border, 20 of 36; and 28 of the 64 in a halo tile come from there.
 *  - Words that go through L2 carry no layer number. A word of four channels is absent while it is four negative zeros, which no output is; so it takes half the bytes of a word
 *    with a number. Each link has a buffer of its own, which the launch clears for the launch after the next: two sets, and the end of a kernel between clearing and writing.
 *    (Three buffers in rotation, cleared by the link before, are slightly faster; but then only fences would ensure that a word is cleared before it is read again, and those
 *    cost more wherever they are.) Words that a launch has not touched recently are prefetched to L2 a link ahead, for cold caches.
 *  - A launch begins with what depends on nothing: barriers, then the weights. The thread that needs biases and slopes reads them one link ahead.
 *  - There are two halo tiles. If a block writes into the next one of another block, it has received that block's outputs of the layer before, so the other has finished the
 *    layer in which it read that tile. The same holds for the block's own outputs.
 *  - Addresses do not change from layer to layer: a thread computes once what it reads, where that goes, and what it stores. A dozen divisions a layer and thread, with three
 *    warps to a scheduler, took longer than the products.
 *  - A warp loads its weights into registers while it waits for the activations, which it requests first. It has the same 16 channels of every tap, so its addresses are a base
 *    plus constants.
 *  - The product is transposed: its 16 rows are channels, its 8 columns pixels. 36 pixels need five products, where they needed three rows of 16.
 *  - A residual from two links back was computed by the same thread: it stays in a register.
 *
 * On an H200 the 33 body layers of EDSR-baseline x2 at 48 x 48 are in it in the whole network's 86.4 us (a graph, cold, f16, older code), against 223.9 us of
 * cuDNN's best plans (reports/networks/edsr_x2_48-h200.md). The body alone at other sizes: 71.3 us at 32 x 32, 97.0 us at 64 x 64 in tiles of 8 x 8
 * (body_sizes-h200.md).
 * By clock64 in a copy of this file the way of a pixel from its store through L2 to the last of its neighbours is more than half of a layer; products are a fifth, at the rate of
 * mma.sync. That way does not bear more traffic: two polls in flight are slower, and so are pauses between polls and asking later. What is left to try: clusters of 16 blocks,
 * whose inner borders need no L2, and one exchange for two layers with the halo computed twice. */
#include "chain/resident_bulk.cuh"

constexpr int THREADS = 32 * WARPS;
constexpr int OCTETS = C / 8;                                /* of channels in a pixel */
constexpr int RING = (TALL * WIDE - TH * TW) * OCTETS;       /* octets of a halo tile that other tiles make */
constexpr int RING_LOADS = (RING + THREADS - 1) / THREADS;   /* of a thread */
constexpr int CHUNKS = C / 16 / WAYS;                        /* of 16 channels that a split takes of each tap */
constexpr unsigned HALOS = BARRIERS + 2 * WEIGHT_BYTES, PEERS = 16; /* in bytes; PEERS: the barriers for what comes from the cluster, one for each halo tile */

/* weights[link][group][step of 16 in depth][16 channels][lane][8]: what lane l needs of a. */
extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights)
{
    int link = blockIdx.x / GROUPS, group = blockIdx.x % GROUPS;
    filter += (size_t)link * C * C * 9;
    weights += (size_t)blockIdx.x * (KB * 9 * C);
    for (int i = threadIdx.x; i < KB * 9 * C; i += blockDim.x) {
        int e = i % 8, lane = i / 8 % 32, m = i / 256 % PAIRS, step = i / 256 / PAIRS;
        int channel = m * 16 + e / 2 % 2 * 8 + lane / 4, c = step % (C / 16) * 16 + e / 4 * 8 + lane % 4 * 2 + e % 2;
        weights[i] = filter[((size_t)(group * KB + channel) * C + c) * 9 + step / (C / 16)];
    }
}

/* Of another block of the cluster: the address there of what is at `address` here. */
static __device__ __forceinline__ unsigned address_in(unsigned block, unsigned address)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}
/* Four channels to there; the barrier there counts their bytes. Nobody waits for it here. */
static __device__ __forceinline__ void send_there(unsigned there, unsigned barrier, uint2 v)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(there), "l"((unsigned long long)v.y << 32 | v.x), "r"(barrier)
                 : "memory");
}
/* As barrier_wait, for what other blocks of the cluster have written. */
static __device__ __forceinline__ void wait_for_peers(unsigned barrier, unsigned parity)
{
    unsigned over;
    do
        asm volatile("{\n.reg .pred done;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2;\nselp.b32 %0, 1, 0, done;\n}"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    while (!over);
}

/* What is not there yet: no output is a negative zero where others read it. 8 bytes are written and read whole, so who reads something else has four channels. */
constexpr unsigned long long ABSENT = 0x8000800080008000;

/* Two values of 16 bits, negative zeros made positive. */
static __device__ __forceinline__ unsigned without_negative_zeros(unsigned v) { return v & ((v & 0x7fff7fff) + 0x7fff7fff | 0x7fff7fff); }
static __device__ __forceinline__ void leave(TYPE *there, unsigned long long v) { asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(there), "l"(v) : "memory"); }

/* What a thread reads of other tiles in every layer: element in the image and byte in the halo tile of each octet; from < 0: outside the image, or none. */
struct incoming {
    int from[RING_LOADS], to[RING_LOADS];
};
static __device__ __forceinline__ incoming incoming_of(const place &at, int H, int W)
{
    incoming in;
#pragma unroll
    for (int j = 0; j < RING_LOADS; j++) {
        int i = threadIdx.x + j * THREADS, pixel = i / OCTETS, side = pixel - 2 * WIDE; /* the rows above and below, then left and right */
        int y = side < 0 ? pixel / WIDE * (TALL - 1) : 1 + side / 2, x = side < 0 ? pixel % WIDE : side % 2 * (WIDE - 1);
        bool inside = i < RING && at.y0 + y > 0 && at.y0 + y <= H && at.x0 + x > 0 && at.x0 + x <= W;
        in.from[j] = inside ? ((at.y0 + y - 1) * W + at.x0 + x - 1) * C + i % OCTETS * 8 : -1;
        in.to[j] = y * ROW + x * PITCH + i % OCTETS * 16;
    }
    return in;
}

static __device__ __forceinline__ words load_octet(const TYPE *p) { return load_words((const unsigned *)p); }

/* Asks for what other tiles make. */
static __device__ __forceinline__ void ask(words v[RING_LOADS], const incoming &in, const TYPE *link)
{
#pragma unroll
    for (int j = 0; j < RING_LOADS; j++)
        if (in.from[j] >= 0)
            v[j] = load_octet(link + in.from[j]);
}

/* Takes what was asked for as soon as it is there. */
static __device__ __forceinline__ void receive(words v[RING_LOADS], const incoming &in, const TYPE *link, unsigned halo)
{
#pragma unroll
    for (int j = 0; j < RING_LOADS; j++) {
        while (in.from[j] >= 0 && (v[j].a == ABSENT || v[j].b == ABSENT))
            v[j] = load_octet(link + in.from[j]);
        if (in.from[j] >= 0)
            *(ulonglong2 *)(shared + halo + in.to[j]) = make_ulonglong2(v[j].a, v[j].b);
    }
}

/* To L2, before it is asked for: each link has a place of its own there, which the last launches may have lost. */
static __device__ __forceinline__ void fetch_early(const incoming &in, const TYPE *link)
{
#pragma unroll
    for (int j = 0; j < RING_LOADS; j++)
        if (in.from[j] >= 0)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(link + in.from[j]));
}

/* What a thread makes in every layer: four channels of a pixel. where: in the image; sums, own: where their sums and where they themselves lie; pixel < 0: none. */
struct outgoing {
    int pixel[ITEMS], channel[ITEMS], where[ITEMS], sums[ITEMS], own[ITEMS];
    bool border[ITEMS];
};
static __device__ __forceinline__ outgoing outgoing_of(const place &at, int group, int H, int W)
{
    outgoing out;
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int k;
        size_t where;
        bool any = own_quad(j, at, group, H, W, &out.pixel[j], &k, &where);
        int y = out.pixel[j] / TW, x = out.pixel[j] % TW;
        out.channel[j] = group * KB + k;
        out.where[j] = (int)where;
        out.sums[j] = out.pixel[j] * SUM_PITCH + k;
        out.own[j] = (y + 1) * ROW + (x + 1) * PITCH + out.channel[j] * 2;
        out.border[j] = y == 0 || x == 0 || y == TH - 1 || x == TW - 1;
        out.pixel[j] = any ? out.pixel[j] : -1;
    }
    return out;
}

struct fragments {
    uint4 a[9][CHUNKS][PAIRS];
};
/* The weights of one split: its chunks of 16 channels of all nine taps. */
static __device__ __forceinline__ void hold(fragments &f, unsigned weights, int split)
{
    unsigned own = weights + (split * PAIRS * 32 + threadIdx.x % 32) * 16;
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++)
#pragma unroll
            for (int m = 0; m < PAIRS; m++)
                f.a[tap][chunk][m] = *(const uint4 *)(shared + (own + ((tap * (C / 16) + chunk * WAYS) * PAIRS + m) * 512));
}

/* KB channels by N groups of 8 pixels, over one split of the depth. own: this lane's pixel and half of the first tap. */
template <int N> static __device__ __forceinline__ void multiply_held(float sum[PAIRS][2][4], const fragments &f, unsigned own)
{
#pragma unroll
    for (int tap = 0; tap < 9; tap++)
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            unsigned b[4], at = own + tap / 3 * ROW + tap % 3 * PITCH + chunk * WAYS * 32;
            if (N == 2)
                load_matrix_4(b, at);
            else
                load_matrix_2(b, at);
#pragma unroll
            for (int m = 0; m < PAIRS; m++)
#pragma unroll
                for (int n = 0; n < N; n++) {
                    const uint4 &v = f.a[tap][chunk][m];
                    unsigned a[4] = {v.x, v.y, v.z, v.w};
                    multiply_16x8x16<TYPE>(sum[m][n], a, b + n * 2);
                }
        }
}

/* Sums of one split by pixel and channel: each of the 32 lanes in a bank of its own. */
static __device__ __forceinline__ void share_turned(float *sums, const float sum[PAIRS][2][4], int pixels, int split)
{
    int lane = threadIdx.x % 32;
    float *own = sums + ((split * M_TILES + pixels) * 16 + lane % 4 * 2) * SUM_PITCH + lane / 4;
#pragma unroll
    for (int m = 0; m < PAIRS; m++)
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                own[(n * 8 + e % 2) * SUM_PITCH + m * 16 + e / 2 * 8] = sum[m][n][e];
}

/* What a link needs beside its products. */
struct finishing {
    float4 bias[ITEMS];
    int source; /* of its residual */
    float slope;
};
static __device__ __forceinline__ finishing finishing_of(int link, const outgoing &out, const float *bias, const float *links)
{
    finishing f;
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
        f.bias[j] = *(const float4 *)(bias + link * C + out.channel[j]);
    f.source = (int)links[link * COLUMNS + 3];
    f.slope = links[link * COLUMNS + 4];
    return f;
}

/* This thread's part of a link, from the sums. The residual comes from the halo tile (the link's input), from the chain's input, or from two links back: that one this
 * thread computed. */
static __device__ __forceinline__ void make(const float *sums, const finishing &f, int link, const unsigned char *halo, const TYPE *input, const outgoing &out,
                                            uint2 made[2][ITEMS])
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        if (out.pixel[j] < 0)
            continue;
        uint2 add = made[0][j];
        if (f.source == link)
            add = *(const uint2 *)(halo + out.own[j]);
        else if (f.source == 0)
            add = *(const uint2 *)(input + out.where[j]);
        made[0][j] = made[1][j];
        made[1][j] = finish(sums + out.sums[j], (const float *)&f.bias[j], 0, 0, f.slope, f.source >= 0, add);
    }
}

/* To the next halo tile of all blocks of the cluster, whose shared memory begins there[], and where other tiles read it through L2. */
static __device__ __forceinline__ void send(const uint2 v[ITEMS], const outgoing &out, const unsigned there[GROUPS], unsigned next, unsigned barrier, int group, TYPE *link)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        if (out.pixel[j] < 0)
            continue;
        if (out.border[j])
            leave(link + out.where[j], (unsigned long long)without_negative_zeros(v[j].y) << 32 | without_negative_zeros(v[j].x));
#pragma unroll
        for (int other = 0; other < GROUPS; other++)
            if (other != group)
                send_there(there[other] + next + out.own[j], there[other] + barrier, v[j]);
        *(uint2 *)(shared + next + out.own[j]) = v[j];
    }
}

/* For the next launch. */
static __device__ __forceinline__ void clear(const outgoing &out, TYPE *link)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
        if (out.pixel[j] >= 0 && out.border[j])
            leave(link + out.where[j], ABSENT);
}

static __device__ __forceinline__ void store(const uint2 v[ITEMS], const outgoing &out, TYPE *output)
{
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
        if (out.pixel[j] >= 0)
            *(uint2 *)(output + out.where[j]) = v[j];
}

/* Nothing of it waits for memory: barriers, the weights of two links on their way, and zeros, which stay outside the image. */
static __device__ __forceinline__ void begin(unsigned base, bool fetches, int runs, int group, const TYPE *weights)
{
    if (fetches) {
        for (int i = 0; i < 4; i++)
            barrier_init(base + i * 8, 1);
        barrier_init_done();
        for (int link = 0; link < 2 && link < runs; link++)
            fetch_weights<1>(base, link, 0, group, weights);
    }
    for (unsigned i = threadIdx.x * 16; i < 2 * TILE_BYTES; i += THREADS * 16)
        *(uint4 *)(shared + HALOS + i) = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (GROUPS > 1)
        cluster_arrive();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
run_layers(const TYPE *input, const TYPE *weights, const float *bias, const float *links, unsigned *exchange, TYPE *output, unsigned *launches, int runs, int H, int W,
           int tiles_x, int tiles_y, int elements)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pixels = warp / WAYS, split = warp % WAYS, group = blockIdx.x % GROUPS;
    bool fetches = threadIdx.x == THREADS - 32; /* in a warp with few products */
    unsigned base = shared_address(shared), launch = launches[blockIdx.x];
    begin(base, fetches, runs, group, weights);
    float *sums = (float *)(shared + HALOS + 2 * TILE_BYTES);
    place at = place_of(blockIdx.x / GROUPS, tiles_x, tiles_y);
    size_t image = (size_t)at.n * H * W * C;
    load_first(shared + HALOS, input + image, at.y0 - 1, at.x0 - 1, H, W);
    TYPE *own = (TYPE *)exchange + (size_t)(launch & 1) * runs * elements + image, *spare = (TYPE *)exchange + (size_t)(~launch & 1) * runs * elements + image;
    incoming in = incoming_of(at, H, W);
    outgoing out = outgoing_of(at, group, H, W);
    int pixel = min(pixels * 16 + lane / 16 * 8 + lane % 8, TH * TW - 1); /* past the tile its last pixel again; nobody stores that */
    unsigned own_pixel = base + HALOS + pixel / TW * ROW + pixel % TW * PITCH + split * 32 + lane / 8 % 2 * 16;
    uint2 made[2][ITEMS] = {}; /* of the last two links */
    unsigned from_peers = min(TH, H - at.y0) * min(TW, W - at.x0) * (C - KB) * 2; /* bytes a link */
    unsigned there[GROUPS];
    for (int other = 0; other < GROUPS; other++)
        there[other] = address_in(other, base);
    fetch_early(in, own);
    if (GROUPS > 1) /* nobody sends before every one of the cluster's blocks is there */
        cluster_wait();
    for (int link = 0; link < runs; link++) {
        unsigned odd = link & 1, halo = HALOS + odd * TILE_BYTES, next = HALOS + (odd ^ 1) * TILE_BYTES;
        TYPE *to = own + (size_t)link * elements;
        float sum[PAIRS][2][4] = {};
        bool last = link + 1 == runs;
        words arriving[RING_LOADS];
        fragments f;
        if (link)
            ask(arriving, in, to - elements);
        finishing end = finishing_of(link, out, bias, links);
        barrier_wait(base + odd * 8, link >> 1 & 1);
        hold(f, BARRIERS + odd * WEIGHT_BYTES, split);
        if (!last) {
            clear(out, spare + (size_t)link * elements);
            fetch_early(in, to + elements);
        }
        if (link) {
            receive(arriving, in, to - elements, halo);
            if (GROUPS > 1)
                wait_for_peers(base + PEERS + (odd ^ 1) * 8, link - 1 >> 1 & 1);
        }
        __syncthreads();
        if (fetches && link + 2 < runs) /* all warps have these weights */
            fetch_weights<1>(base, link + 2, 0, group, weights);
        if (fetches && GROUPS > 1 && !last) /* what the others will send of this link */
            barrier_arrive_expect(base + PEERS + odd * 8, from_peers);
        __syncwarp(); /* for products whole warps are wanted */
        if (pixels * 16 + 8 < TH * TW)
            multiply_held<2>(sum, f, own_pixel + odd * TILE_BYTES);
        else
            multiply_held<1>(sum, f, own_pixel + odd * TILE_BYTES);
        share_turned(sums, sum, pixels, split);
        __syncthreads();
        make(sums, end, link, shared + halo, input + image, out, made);
        if (last)
            store(made[1], out, output + image);
        else
            send(made[1], out, there, next, PEERS + odd * 8, group, to);
    }
    if (threadIdx.x == 0) /* nobody writes to a block that is through: it has waited for all that others send it */
        launches[blockIdx.x] = launch + 1;
}
