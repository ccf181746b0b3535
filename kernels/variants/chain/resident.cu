/* bench 1
op: chain
what: one launch for all equal 3x3 layers - activations stay in L2 and carry their own flags, the next layer's weights are in flight
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
  pitch: 2 * width + 16                       # of a pixel in shared memory
  tile_bytes: (TH + 2) * ((TW + 2) * pitch + (128 - 2 * pitch % 128) % 128)
  blocks: tiles * groups_k
  smem: 2 * weight_bytes + tile_bytes + ways * m_tiles * 16 * (KB + 4) * 4 + runs * (KB + 2) * 4
  per_sm: max(1, min(floor(smem_per_sm, smem + 1024), floor(512, 32 * warps)))
where:
  - width % KB == 0
  - steps % ways == 0
  - warps <= 32
  - smem <= smem_per_block_optin
  - cc >= 80
  - blocks <= 2 * per_sm * sm_count           # tiles of a block: with four, one launch per layer is faster
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
    grid: min(blocks, per_sm * sm_count)
    block: 32 * warps
    smem: smem
    args: input, weights, bias, links, ping, pong, output, launches, runs, n, h, w, tiles_x, tiles_y, tiles
    attributes: {cooperative: yes}
*/

/* Arithmetic does not limit a residual network of 64 channels on a small image: 48 x 48 pixels are 0.17 GFLOP a layer, a fifth of a microsecond. What limits it happens between
 * layers: a launch, the drain of the last block, the load of 74 KB of weights by every SM, and the way of the activations through L2. So this kernel runs all layers in one
 * launch.
 *
 *  - A block owns a tile of TH x TW pixels and KB output channels, the same ones in every layer. 6 x 6 pixels and 32 channels make 128 blocks of 48 x 48 x 64:
 *    as many as there are SMs, each with half of a layer's weights. Larger images give a block two tiles, one after another in each layer.
 *  - There is no barrier between layers, not even a flag beside the data: one 8-byte word holds two channels and the number of the layer that computed them, and is written and
 *    read as a whole. A block polls the words of its own halo until they belong to the layer it needs. So a layer costs one store and one load through L2; with a flag it would
 *    cost a fence, a store, a poll and then the load.
 *  - Layer numbers continue from launch to launch (each block counts its launches), so nothing has to be cleared. A block that others wait for is always resident (cooperative
 *    launch) and never waits for a later layer, so there is no deadlock.
 *  - Two buffers are enough: a block that writes layer l over layer l - 2 has read words of layer l - 1 from each adjacent block, so these have read all that they need of l - 2.
 *    A residual comes from two links back, which is the word that the same thread now overwrites, or from the chain's input.
 *  - The weights of layer l + 1 depend on nothing, so they are loaded while layer l ends. order_weights has put them in the order of the instruction's fragments: a lane loads its
 *    share of 16 x 16 weights as 16 bytes, without conflicts. Biases are in shared memory from the start.
 *  - The depth of 9 x 64 is split between SPLIT warps for each 16 pixels, because one chain of 36 dependent products would take longer than anything else here.
 *    The sums meet in shared memory.
 *
 * On an H200 the 33 body layers of EDSR-baseline x2 at 48 x 48 are in it in the whole network's 116.1 us (cold, f16, older code; reports/networks/edsr_x2_48-h200.md); cuDNN takes
 * 223.9 us in a graph. All blocks together fetch 4.7 MB of weights and 2 MB of activations from L2 in each layer. */
#include "chain/resident.cuh"

extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights) { order_filter(filter, weights); }

static __device__ __forceinline__ void load_weights(unsigned to, const TYPE *from)
{
    for (int i = threadIdx.x; i < WEIGHT_BYTES / 16; i += 32 * WARPS)
        copy_async_16(to + i * 16, from + i * 8, true);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, PER_SM)
run_layers(const TYPE *input, const TYPE *weights, const float *bias, const float *links, unsigned *ping, unsigned *pong, TYPE *output, unsigned *launches, int runs,
           int n, int H, int W, int tiles_x, int tiles_y, int tiles)
{
    int warp = threadIdx.x / 32, m_tile = warp / WAYS * OWN, split = warp % WAYS;
    unsigned base = shared_address(shared);
    unsigned char *halo = shared + 2 * WEIGHT_BYTES;
    float *sums = (float *)(halo + TILE_BYTES), *own_bias = sums + WAYS * M_TILES * 16 * SUM_PITCH, *own_links = own_bias + runs * KB;
    int group = blockIdx.x % GROUPS, first = blockIdx.x / GROUPS, stride = gridDim.x / GROUPS;
    if (first >= stride) /* the odd block of a grid that the groups do not divide */
        return;
    unsigned before = launches[blockIdx.x] * (unsigned)runs; /* equal in all blocks */
    load_weights(base, weights + (size_t)group * (KB * 9 * C));
    copy_async_commit();
    keep_links(own_bias, own_links, bias, links, group, runs);
    __syncthreads();
    for (int link = 0; link < runs; link++) {
        unsigned *to = link & 1 ? pong : ping;
        int source = (int)own_links[link * 2];
        bool last = link + 1 == runs, fetched = last;
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
            copy_async_wait<0>(); /* this layer's weights */
            __syncthreads();
            float sum[OWN][PAIRS * 2][4] = {};
            multiply(sum, base + 2 * WEIGHT_BYTES, (link & 1) * WEIGHT_BYTES, m_tile, split);
            if (!fetched) {
                load_weights(base + (link + 1 & 1) * WEIGHT_BYTES, weights + ((size_t)(link + 1) * GROUPS + group) * (KB * 9 * C));
                copy_async_commit();
                fetched = true;
            }
            share_sums(sums, sum, m_tile, split);
            __syncthreads();
            store_tile(sums, own_bias + link * KB, own_links[link * 2 + 1], source, link, last, add, halo, output + image, to + image, before + link + 1, at, group, H, W);
            if (tile + stride < tiles || source == link)
                __syncthreads(); /* the sums and the halo tile are free */
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        launches[blockIdx.x] = launches[blockIdx.x] + 1;
}
