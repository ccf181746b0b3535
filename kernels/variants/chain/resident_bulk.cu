/* bench 1
what: TMA brings the weights two layers ahead, once for each cluster of blocks
like: resident
params:
  CLUSTER: {values: [1, 2, 4], default: 1}    # blocks that share what they fetch of the weights
let:
  blocks: ceil(tiles, CLUSTER) * CLUSTER * groups_k
  smem: 128 + 2 * weight_bytes + tile_bytes + ways * m_tiles * 16 * (KB + 4) * 4 + runs * (KB + 2) * 4
where:
  - width % KB == 0
  - steps % ways == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 90
  - blocks <= 2 * per_sm * sm_count           # tiles of a block: with four, one launch per layer is faster
  - sm_count >= CLUSTER * groups_k
steps:
  - kernel: run_layers
    grid: min(blocks, floor(per_sm * sm_count, CLUSTER * groups_k) * CLUSTER * groups_k)
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, ping, pong, output, launches, runs, n, h, w, tiles_x, tiles_y, tiles
    attributes: {cooperative: yes, cluster: CLUSTER}
*/

/* What changed from resident: the weights.
 *
 *  - Weights depend on nothing, so they can be loaded as early as there is room: those of layer l + 2 as soon as those of layer l have been read. One thread starts all copies by
 *    TMA, so no other thread spends instructions on them, and an mbarrier says when they have arrived.
 *  - All blocks together load 4.7 MB of weights a layer from L2, which takes longer than the arithmetic. CLUSTER blocks with the same channels each load a part and multicast it to
 *    all of them: a quarter of the traffic with four. A part may be sent once all blocks of the cluster have read what it replaces: they arrive at the cluster's barrier after their
 *    products, and wait there after their stores.
 *
 * It needs sm_90: TMA, and clusters. On an H200 the 33 body layers of EDSR-baseline x2 at 48 x 48 take (older code,
 * reports/networks/edsr_x2_48-h200.md) 102.4 us in the whole network. With two tiles a block it is level with one launch per layer: 157.8 us for two such images, 159.8 us at 64 x 64;
 * with four it took 306 us at 96 x 96, 0.865 x the library, so it does not claim that (reports/networks/body_sizes-h200.md). Clusters of two were slower, and with
 * clusters of four 128 blocks do not fit the card at once. */
#include "chain/resident_bulk.cuh"

extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights) { order_filter(filter, weights); }

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
    keep_links(own_bias, own_links, bias, links, group, runs);
    begin_bulk(base, CLUSTER);
    for (int link = 0; threadIdx.x == 0 && link < 2 && link < runs; link++)
        fetch_weights<CLUSTER>(base, link, rank, group, weights);
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
            multiply(sum, base + BARRIERS + 2 * WEIGHT_BYTES, BARRIERS + (link & 1) * WEIGHT_BYTES, m_tile, split);
            share_sums(sums, sum, m_tile, split);
            if (tile + stride >= tiles && CLUSTER > 1) {
                cluster_arrive();
                left = true;
            }
            __syncthreads();
            if (tile + stride >= tiles && CLUSTER == 1 && threadIdx.x == 0 && link + 2 < runs)
                fetch_weights<CLUSTER>(base, link + 2, rank, group, weights);
            store_tile(sums, own_bias + link * KB, own_links[link * 2 + 1], source, link, last, add, halo, output + image, to + image, before + link + 1, at, group, H, W);
            if (tile + stride < tiles || source == link)
                __syncthreads(); /* the sums and the halo tile are free */
        }
        if (CLUSTER > 1) {
            if (!left)
                cluster_arrive();
            cluster_wait(); /* nobody in the cluster reads these weights any more */
            if (threadIdx.x == 0 && link + 2 < runs)
                fetch_weights<CLUSTER>(base, link + 2, rank, group, weights);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        launches[blockIdx.x] = launches[blockIdx.x] + 1;
}
