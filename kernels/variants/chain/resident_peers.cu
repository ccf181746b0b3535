/* bench 1
op: chain
what: the blocks of a tile are a cluster that exchange their channels in shared memory; only a tile's border goes through L2
from: resident_bulk
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
  KB: {values: [16, 32, 64], default: 32}  # output channels of a block
  SPLIT: {values: [auto, 3, 4, 6, 9, 12], default: auto} # ways the depth is split between warps
  CLUSTER: {values: [1, 2, 4], default: 1}    # tiles that share what they fetch of the weights
let:
  steps: 9 * width / 16                       # of 16 in the depth of the product
  ways: select(SPLIT == 'auto', select(steps % 4 == 0, 4, 3), SPLIT)
  m_tiles: ceil(TH * TW, 16)
  warps: ways * m_tiles
  tiles_x: ceil(w, TW)
  tiles_y: ceil(h, TH)
  tiles: n * tiles_y * tiles_x
  groups_k: width / KB
  weight_bytes: KB * 9 * width * 2
  tile_bytes: (TH + 2) * (TW + 2) * (2 * width + 16)
  cluster: CLUSTER * groups_k
  smem: 128 + 2 * weight_bytes + 2 * tile_bytes + ways * m_tiles * 16 * (KB + 4) * 4 + runs * (KB + 2) * 4
where:
  - width % KB == 0
  - steps % ways == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 90
  - cluster <= 8
  - tiles % CLUSTER == 0
  - tiles * groups_k <= sm_count              # a block on each SM, for one tile
  - steps / ways * KB / 4 <= 80               # registers that hold weights
define:
  TYPE: type(input)
  C: width
  M_WARPS: m_tiles
  WAYS: ways
scratch:
  weights: input[runs * width * width * 9]
  ping: u32[n * h * w * width]                # two channels and their flag in 8 bytes
  pong: u32[n * h * w * width]
  launches: u32[tiles * groups_k]
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
    grid: tiles * groups_k
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, ping, pong, output, launches, runs, h, w, tiles_x, tiles_y
    attributes: {cooperative: yes, cluster: cluster}
*/

/* What changed from resident_bulk, for images so small that a block has one tile: the way of the activations.
 *
 *  - The blocks of a tile, each with its channels, are a cluster: they write their outputs straight into each other's halo tile. That is a fifth of the way through
 *    L2. A barrier in shared memory counts the warps that have written.
 *  - Only what other tiles read goes through L2 as before: the pixels at the tile's border, 20 of 36; and 28 of the 64 in a halo tile come from there.
 *  - There are two halo tiles. A block that writes into the next one of another block has had that block's outputs of the layer before, so the other is done with the
 *    layer in which it read it.
 *  - A residual from two links back is what the thread itself made: it stays in a register. */
#include "resident_cluster.cuh"

constexpr int RING = ALL_QUADS - TH * TW * QUADS; /* quads that come from other tiles: the first of quad_of */

extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights) { order_filter(filter, weights); }

/* Of another block of the cluster: the address there of what is at `address` here. */
static __device__ __forceinline__ unsigned address_in(unsigned block, unsigned address)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}
static __device__ __forceinline__ void store_there(unsigned there, uint2 v)
{
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(there), "r"(v.x), "r"(v.y) : "memory");
}
static __device__ __forceinline__ void arrive_there(unsigned there)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
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

/* The place of a pixel of the tile, channel k, in a halo tile. */
static __device__ __forceinline__ unsigned own_place(int pixel, int k) { return ((pixel / TW + 1) * WIDE + pixel % TW + 1) * PITCH + k * 2; }

/* What a thread makes of a link, from the sums: it stays in `made` for the link after the next, goes to the blocks that read it, and at last to the output. */
static __device__ __forceinline__ void store_and_send(const float *sums, const float *bias, float slope, int source, int link, bool last, uint2 made[2][ITEMS],
                                                      unsigned base, unsigned halos, const TYPE *input, TYPE *output, unsigned *to, unsigned layer, const place &at,
                                                      int group, int H, int W)
{
    unsigned here = halos + (link & 1) * TILE_BYTES, next = halos + (~link & 1) * TILE_BYTES, first = blockIdx.x % CLUSTER;
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {
        int pixel, k;
        size_t where;
        if (!own_quad(j, at, group, H, W, &pixel, &k, &where))
            continue;
        unsigned own = own_place(pixel, group * KB + k);
        uint2 add = made[0][j];
        if (source == link)
            add = *(const uint2 *)(shared + here + own);
        else if (source == 0)
            add = *(const uint2 *)(input + where);
        uint2 out = finish(sums, bias, pixel, k, slope, source >= 0, add);
        int y = pixel / TW, x = pixel % TW;
        if (last)
            *(uint2 *)(output + where) = out;
        else if (y == 0 || x == 0 || y == TH - 1 || x == TW - 1)
            store_words(to + where, out, layer);
        made[0][j] = made[1][j];
        made[1][j] = out;
        *(uint2 *)(shared + next + own) = out;
#pragma unroll
        for (int other = 0; other < GROUPS; other++)
            if (other != group && !last)
                store_there(address_in(other * CLUSTER + first, base + next + own), out);
    }
    __syncwarp();
    int other = threadIdx.x % 32;
    if (other < GROUPS && other != group && !last)
        arrive_there(address_in(other * CLUSTER + first, base + 16));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
run_layers(const TYPE *input, const TYPE *weights, const float *bias, const float *links, unsigned *ping, unsigned *pong, TYPE *output, unsigned *launches, int runs,
           int H, int W, int tiles_x, int tiles_y)
{
    int warp = threadIdx.x / 32, m_tile = warp / WAYS, split = warp % WAYS;
    unsigned base = shared_address(shared);
    constexpr unsigned halos = BARRIERS + 2 * WEIGHT_BYTES;
    float *sums = (float *)(shared + halos + 2 * TILE_BYTES), *own_bias = sums + WAYS * M_TILES * 16 * SUM_PITCH, *own_links = own_bias + runs * KB;
    int rank = blockIdx.x % CLUSTER, group = blockIdx.x / CLUSTER % GROUPS, tile = blockIdx.x / CLUSTER / GROUPS * CLUSTER + rank;
    unsigned before = launches[blockIdx.x] * (unsigned)runs; /* equal in all blocks */
    place at = place_of(tile, tiles_x, tiles_y);
    size_t image = (size_t)at.n * H * W * C;
    uint2 made[2][ITEMS] = {}; /* of the last two links */
    keep_links(own_bias, own_links, bias, links, group, runs);
    for (unsigned i = threadIdx.x * 16; i < 2 * TILE_BYTES; i += 32 * WARPS * 16) /* what lies outside the image stays zero */
        *(uint4 *)(shared + halos + i) = make_uint4(0, 0, 0, 0);
    begin_cluster(base, CLUSTER * GROUPS, (GROUPS - 1) * WARPS);
    for (int link = 0; threadIdx.x == 0 && link < 2 && link < runs; link++)
        fetch_weights(base, link, rank, group * CLUSTER, group, weights);
    for (int link = 0; link < runs; link++) {
        unsigned *to = (link & 1 ? pong : ping) + image;
        unsigned halo = halos + (link & 1) * TILE_BYTES, own_weights = BARRIERS + (link & 1) * WEIGHT_BYTES;
        int source = (int)own_links[link * 2];
        bool last = link + 1 == runs;
        fragment held[OWN_STEPS];
        barrier_wait(base + (link & 1) * 8, link >> 1 & 1);
#pragma unroll
        for (int t = 0; t < OWN_STEPS; t++)
            held[t] = load_fragment(own_weights, split * OWN_STEPS + t);
        if (link == 0)
            load_first(shared + halo, input + image, group, at.y0 - 1, at.x0 - 1, H, W);
        else {
            load_next(shared + halo, (link & 1 ? ping : pong) + image, RING, group, at.y0 - 1, at.x0 - 1, H, W, before + link);
            if (GROUPS > 1)
                wait_for_peers(base + 16, link - 1 & 1);
        }
        __syncthreads();
        leave_weights(base, link, rank, group, weights, runs);
        float sum[1][PAIRS * 2][4] = {};
        multiply(sum, base + halo, own_weights, held, m_tile, split);
        share_sums(sums, sum, m_tile, split);
        __syncthreads();
        store_and_send(sums, own_bias + link * KB, own_links[link * 2 + 1], source, link, last, made, base, halos, input + image, output + image, to, before + link + 1, at,
                       group, H, W);
        if (CLUSTER > 1) {
            cluster_wait(); /* nobody in the cluster reads these weights any more */
            if (threadIdx.x == 0 && link + 2 < runs)
                fetch_weights(base, link + 2, rank, group * CLUSTER, group, weights);
        }
    }
    if (CLUSTER * GROUPS > 1) { /* nobody goes while another may write to it */
        cluster_arrive();
        cluster_wait();
    }
    if (threadIdx.x == 0)
        launches[blockIdx.x] = launches[blockIdx.x] + 1;
}
