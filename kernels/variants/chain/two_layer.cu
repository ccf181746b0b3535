/* bench 1
op: chain
what: two sparse layers in one launch - a tile's first layer, halo included, stays in shared memory and is the second one's input
needs:
  - runs == 2 and straight == 1 and plain == 1 and back == 0
  - r == 3 and s == 3 and stride == 1 and pad == 1 and dilation == 1 and groups == 1
  - width >= 16 and width <= 64 and width % 16 == 0
  - width * h * w < 2147483648
layout: {input: NHWC, output: NHWC, mask_in: bits, mask_out: bits}
dtype: {input: [f16, bf16], filter: same, bias: f32, output: same, accumulate: f32}
algorithm: implicit_gemm
mask: {needs: input, writes: output, inactive: untouched, reads: active, tile: [ROWS, 8]}
params:
  ROWS: {values: [4, 5, 6, 7, 8], default: 8}      # rows of a tile of outputs, which is 8 wide
  STAGES: {values: [4, 6, 8], default: 8}          # tiles of inputs, two pixels of halo around them, in shared memory
let:
  tiles_x: 4 * ceil(q, 32)                         # bytes of a row of the mask
  tiles_y: ceil(p, ROWS)
  tiles: n * tiles_x * tiles_y
  plane: ceil((ROWS + 4) * 12 - 1, 8) * 128 + 16
  between: ceil((ROWS + 1) * 12 + 9, 8) * 128 + 16
  smem: STAGES * floor(width, 8) * plane + 2 * floor(width, 8) * between + 2048 * ceil(ROWS, 2)
  blocks: min(tiles, sm_count)
  shares: min(128, blocks)                         # of the tiles, for those who look
  per_share: ceil(ceil(tiles, 32), shares)         # of 32 tiles
where:
  - cc == 90
  - smem + 10240 <= smem_per_block_optin
define:
  TYPE: type(input)
  C: width
scratch:
  weights: input[2 * 64 * 9 * width]
  tile_bits: u32[4 * tiles]
  sums: u32[8 * ceil(tiles, 32)]
  notes: u32[4 * blocks]
  active: u32[1]
prepare:
  - kernel: order_weights
    grid: 2 * 9 * width / 16
    block: 128
    args: filter, weights
  - fill: tile_bits = 0
  - fill: sums = 0
  - fill: notes = 0
steps:
  - kernel: conv_two
    grid: blocks
    block: 384
    smem: smem
    args: input, weights, bias, links, mask_in, mask_out, tile_bits, sums, notes, active, output, h, w, tiles_x, tiles_y, tiles, shares, per_share
    attributes: {cooperative: yes, carveout: 100}
columns:
  tiles_active: active[0]
*/

/* Two launches of conv2d/sparse_tile write the first layer's output to memory and read it again, and each first reads a mask and loads weights. With few active pixels, this
 * takes most of the time. Here one launch reads the mask once, with the 5x5 receptive field of both layers, and does for each active tile
 *   producer      the four warps copy the tile's inputs, 12 x 12 marked pixels for 8 x 8 outputs, and find out which of the first layer's outputs are active
 *   first layer   a warpgroup: 10 x 10 outputs of the first layer, 0 where that has none (beside the marks, outside of the image), as planes of 8 channels
 *   second layer  a warpgroup: 8 x 8 outputs
 * These stages run at the same time, on consecutive tiles. Each warpgroup has its layer's weights in registers. order_weights puts them into the order of the
 * instruction once, so that they need no shared memory.
 *
 * The cost is the halo: 100 outputs of the first layer for 64 of the second. In shared memory all rows are 12 pixels apart, so the first layer of an 8 x 8 tile is 118 adjacent
 * columns of a product, of which 18 are unused. If a tile has few active pixels, only the columns and rows that contain them are multiplied.
 *
 * Measured on an H200, 64 -> 64 twice at 720p, f16, cold, each row one graph (reports/gallery/two_layer-h200.csv): blobs of 1, 5 and 20 %
 * of the inputs take 20.3 us, 40.9 us and 103.2 us, sparse_tile twice 27.6 us, 42.0 us and 80.6 us; 0.1 % of single pixels 38.3 us against
 * 43.3 us. This kernel is faster than two calls of sparse_auto up to 5 to 6.52 % of blobs and up to 0.135 to 0.162 % of single pixels, and faster than
 * two calls of cuDNN up to 20 to 100 % of blobs. Its bottleneck is not known: no profile was taken. To try: tiles of 8 x 16, whose halo is 1.4 and
 * not 1.56 times the tile; a third buffer between the layers, so that the first warpgroup need not wait for the second. */
#define R 5 /* of both layers together: what the schedule asks of the mask, and the tile with its halo */
#define S 5
#define SLICE C
#define STORE 8
#define EPI_BIAS 0 /* bias and activation of two layers are applied here */
#define EPI_SLOPE 1
#define TOGETHER 2
#include "sparse/copy.cuh"
#include "sparse/ring.cuh"
#include "sparse/store.cuh"

constexpr int PRODUCTS = 9 * C / 16;                             /* of 16 channels of a tap, a layer */
constexpr int COLUMNS = (ROWS + 1) * HALO_W + 10;                /* of the first layer's product */
constexpr int LATER = COLUMNS <= 88 ? 24 : (COLUMNS - 57) / 8 * 8; /* of them in its second half; the first one has 64, and they may overlap */
constexpr int BETWEEN_PLANE = (COLUMNS * 16 - 16 + 127) / 128 * 128 + 16, BETWEEN_BYTES = PIECES * BETWEEN_PLANE;
static_assert(64 + LATER >= COLUMNS && LATER <= 56, "two products must cover the first layer");

extern __shared__ __align__(128) unsigned char space[]; /* the ring; what lies between the layers, twice; what is being stored */
static __device__ __forceinline__ unsigned stage_address(int slot) { return shared_address(space) + slot * STAGE_BYTES; }
static __device__ __forceinline__ unsigned between_address(int half) { return stage_address(STAGES) + half * BETWEEN_BYTES; }
struct ring_tile {
    work tile; /* y < 0: no more */
    unsigned long long first[2]; /* the first layer's active outputs: bit 12 i + j is row i, column j of its 10 x 10 */
};
static __shared__ ring_tile ring[STAGES];
static __shared__ work waiting[2]; /* between the layers */
static __shared__ unsigned long long between_full[2], between_empty[2], decided; /* barriers */
static __shared__ bool busy;       /* this block computes something */

/* --- producer --- */

/* Which of the first layer's outputs around a tile are active: marked inputs under the filter, and inside the image. A warp; all lanes get all. */
static __device__ __forceinline__ void mark_first(unsigned long long first[2], unsigned inputs, const work &tile, const image &im)
{
    int row = threadIdx.x % 32, y = tile.at.y - 1 + row, left = max(0, 1 - tile.at.x), right = min(10, im.W + 1 - tile.at.x);
    unsigned bits = inputs | inputs >> 1 | inputs >> 2, words[4];
    bits |= __shfl_down_sync(~0u, bits, 1) | __shfl_down_sync(~0u, bits, 2);
    bits &= row < ROWS + 2 && y >= 0 && y < im.H ? (1u << right) - (1u << left) : 0;
    unsigned long long placed = (unsigned long long)bits << (row * HALO_W % 32);
#pragma unroll
    for (int i = 0; i < 4; i++)
        words[i] = __reduce_or_sync(~0u, row * HALO_W / 32 == i ? (unsigned)placed : row * HALO_W / 32 + 1 == i ? (unsigned)(placed >> 32) : 0);
    first[0] = (unsigned long long)words[1] << 32 | words[0];
    first[1] = (unsigned long long)words[3] << 32 | words[2];
}

struct producer : ring_producer {
    /* The copies themselves tell that they are there; a lane tells what they are. */
    __device__ __forceinline__ void announce(int slot, const ring_tile &what)
    {
        unsigned come = shared_address(&full[slot]);
        if (threadIdx.x % 32 == 0) {
            ring[slot] = what;
            barrier_arrive(come);
        }
        copy_async_arrive(come);
        __syncwarp();
        issued += 4;
    }
    __device__ __forceinline__ void put(const work &tile, const row_marks &marks, unsigned)
    {
        ring_tile what = {tile};
        mark_first(what.first, marks.bits(tile, im.pad) & ((1u << HALO_W) - 1), tile, im);
        int slot = free_slot(issued);
        copy_tile(stage_address(slot), input, tile, marks, im, 0);
        announce(slot, what);
    }
};

/* Of the active tiles those with ranks from .. end - 1, and one behind them that says that there are no more. */
static __device__ __forceinline__ void produce(producer p, const common &all, unsigned from, unsigned end)
{
    int count = produce_ring(p, all, from, end, [] {});
    if (p.issued == count) /* the warp whose turn it is */
        p.announce(free_slot(count), {{{0, -1, 0}, 0, 0}, {0, 0}});
}

/* --- the layers --- */

/* A layer's weights as wgmma wants its left operand: for each product a lane's four words, [layer][product][warp][lane]. One block per product. */
extern "C" __global__ void order_weights(const TYPE *filter, TYPE *weights)
{
    int product = blockIdx.x % PRODUCTS, layer = blockIdx.x / PRODUCTS, lane = threadIdx.x % 32, tap = product / (C / 16);
    TYPE *to = weights + ((size_t)blockIdx.x * 128 + threadIdx.x) * 8;
    for (int i = 0; i < 8; i++) { /* word i / 2: eight channels in and eight channels out further on in turn */
        int k = threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8, c = product % (C / 16) * 16 + lane % 4 * 2 + i / 4 * 8 + i % 2;
        to[i] = k < C ? filter[((layer * C + k) * C + c) * 9 + tap] : from_f32<TYPE>(0.0f);
    }
}
/* Each block asks for its part before anyone knows whether there is work: by then they have come to L2 from memory, once. One thread. */
static __device__ __forceinline__ void fetch_weights(const TYPE *weights)
{
    unsigned bytes = 2 * PRODUCTS * 128 * 16, part = (bytes / 16 + gridDim.x - 1) / gridDim.x * 16, from = blockIdx.x * part;
    if (from < bytes)
        prefetch_bytes(reinterpret_cast<const unsigned char *>(weights) + from, min(part, bytes - from));
}
static __device__ __forceinline__ void hold_weights(unsigned held[PRODUCTS][4], const TYPE *weights, int layer)
{
    const uint4 *from = reinterpret_cast<const uint4 *>(weights) + layer * PRODUCTS * 128 + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < PRODUCTS; i++) {
        uint4 v = __ldg(from + i * 128);
        held[i][0] = v.x, held[i][1] = v.y, held[i][2] = v.z, held[i][3] = v.w;
    }
}

/* N columns of a layer are asked for; `from`: planes of PLANE_BYTES whose rows of pixels are HALO_W apart. */
template <int N, int PLANE_BYTES> static __device__ __forceinline__ void multiply(float sum[N / 2], unsigned long long from, const unsigned (*held)[4])
{
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < PRODUCTS; i++) {
        int tap = i / (C / 16), c = i % (C / 16); /* descriptors count in 16 bytes */
        wgmma_registers<TYPE, N>(sum, held[i], from + (c * 2 * PLANE_BYTES / 16 + tap / 3 * HALO_W + tap % 3), i > 0);
    }
    wgmma_commit();
}

/* Bias and slope of the two channels of a thread's sums. */
struct ending {
    float bias[2], slope;

    __device__ __forceinline__ ending(const float *biases, const float *links, int layer)
    {
        for (int i = 0; i < 2; i++) {
            int k = staged_pixels::own_channel() + i * 8;
            bias[i] = k < C ? biases[layer * C + k] : 0.0f;
        }
        slope = links[layer * 8 + 4];
    }
    __device__ __forceinline__ float of(float x, int channel) const
    {
        x += bias[channel];
        return x < 0.0f ? x * slope : x;
    }
};

static __device__ __forceinline__ bool is_busy()
{
    barrier_wait(shared_address(&decided), 0);
    return busy;
}

/* Outputs of the first layer become the second one's input. active: bit 0 is the product's column 0; to: where that goes, of channel 0. */
template <int N> static __device__ __forceinline__ void keep(unsigned to, const float sum[N / 2], unsigned long long active, const ending &end)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    if (warp * 16 >= C)
        return;
    to += (warp * 2 + lane / 8 % 2) * BETWEEN_PLANE + (lane / 16 * 8 + lane % 8) * 16;
    active >>= lane % 4 * 2;
#pragma unroll
    for (int pair = 0; pair < (N + 15) / 16; pair++) {
        constexpr int LAST = N / 8 - 2;
        int eight = pair * 2 < LAST ? pair * 2 : LAST; /* of an odd number of eights one is stored twice */
        if (pair * 2 > LAST)
            __syncwarp(); /* by other lanes than before */
        unsigned m[4];
#pragma unroll
        for (int i = 0; i < 4; i++) { /* channels 8 (i % 2) .., pixels 8 (eight + i / 2) .. */
            int at = 4 * eight + i / 2 * 4 + i % 2 * 2, bit = (eight + i / 2) * 8;
            m[i] = two_of<TYPE>(active >> bit & 1 ? end.of(sum[at], i % 2) : 0.0f, active >> (bit + 1) & 1 ? end.of(sum[at + 1], i % 2) : 0.0f);
        }
        store_matrix_4_transposed(to + eight * 128, m);
    }
}

/* A tile in the first layer's hands: where it reads and writes, and which of its columns are active. */
struct first_tile {
    int slot, half;
    unsigned long long active[2];

    __device__ __forceinline__ unsigned long long operand() const { return matrix_planes(stage_address(slot), PLANE, 128); } /* the columns' pixels lie side by side */
    __device__ __forceinline__ unsigned long long from(int column) const
    {
        return column >= 64 ? active[1] >> (column - 64) : column ? active[0] >> column | active[1] << (64 - column) : active[0];
    }
    __device__ __forceinline__ void release() const /* all lanes have read what the tile is */
    {
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&empty[slot]));
    }

    __device__ __forceinline__ void whole(const unsigned (*held)[4], const ending &end) const
    {
        float sum[32], later[LATER / 2];
        multiply<64, PLANE>(sum, operand(), held);
        multiply<LATER, PLANE>(later, operand() + (COLUMNS - LATER), held);
        wgmma_wait<1>();
        keep<64>(between_address(half), sum, active[0], end);
        wgmma_wait<0>();
        release();
        keep<LATER>(between_address(half) + (COLUMNS - LATER) * 16, later, from(COLUMNS - LATER), end);
    }
    /* N columns from `begin` on, where all active ones are; the others are nothing. */
    template <int N> __device__ __forceinline__ void part(int begin, const unsigned (*held)[4], const ending &end) const
    {
        constexpr int OTHERS = COLUMNS - N;
        int at = __shfl_sync(~0u, min(begin, OTHERS), 0);
        float sum[N / 2];
        multiply<N, PLANE>(sum, operand() + at, held);
        unsigned char *to = space + (between_address(half) - shared_address(space));
        for (int i = threadIdx.x % 128; i < OTHERS * PIECES; i += 128)
            *reinterpret_cast<uint4 *>(to + i / OTHERS * BETWEEN_PLANE + (i % OTHERS < at ? i % OTHERS : i % OTHERS + N) * 16) = make_uint4(0, 0, 0, 0);
        wgmma_wait<0>();
        release();
        keep<N>(between_address(half) + at * 16, sum, from(at), end);
    }
};

static __device__ __forceinline__ void first_layer(const TYPE *weights, const float *bias, const float *links)
{
    unsigned held[PRODUCTS][4];
    if (!is_busy())
        return;
    hold_weights(held, weights, 0);
    ending end(bias, links, 0);
    for (int i = 0;; i++) {
        int slot = i % STAGES, half = i & 1;
        barrier_wait(shared_address(&full[slot]), i / STAGES & 1);
        fence_async(); /* the copies were ordinary ones */
        ring_tile what = ring[slot];
        barrier_wait(shared_address(&between_empty[half]), i / 2 & 1 ^ 1);
        if (threadIdx.x % 128 == 0)
            waiting[half] = what.tile;
        bool over = __shfl_sync(~0u, what.tile.at.y, 0) < 0;
        if (!over) {
            first_tile tile = {slot, half, {what.first[0], what.first[1]}};
            int begin = what.first[0] ? __ffsll(what.first[0]) - 1 : 63 + __ffsll(what.first[1]), last = what.first[1] ? 127 - __clzll(what.first[1]) : 63 - __clzll(what.first[0]);
            int columns = __shfl_sync(~0u, last + 1 - begin, 0);
            if (columns <= 32)
                tile.part<32>(begin, held, end);
            else if (columns <= 64)
                tile.part<64>(begin, held, end);
            else
                tile.whole(held, end);
        }
        fence_async();
        barrier_arrive(shared_address(&between_full[half]));
        if (over)
            return;
    }
}

/* Of the second layer HEIGHT rows of a tile from row `top` on. */
template <int HEIGHT>
static __device__ __forceinline__ void finish_rows(const work &tile, int half, int top, const unsigned (*held)[4], const ending &end, const staged_pixels &staged, TYPE *output,
                                                   const image &im)
{
    float sum[4 * HEIGHT];
    multiply<8 * HEIGHT, BETWEEN_PLANE>(sum, matrix_planes(between_address(half), BETWEEN_PLANE, HALO_W * 16) + top * HALO_W, held);
    wgmma_wait<0>();
    __syncwarp(); /* all lanes have read what the tile is */
    if (threadIdx.x % 32 == 0)
        barrier_arrive(shared_address(&between_empty[half]));
#pragma unroll
    for (int i = 0; i < 4 * HEIGHT; i++)
        sum[i] = end.of(sum[i], i / 2 % 2);
    int first = staged.first_pixel();
    unsigned long long own = tile.active >> (top * 8) >> first;
    TYPE *out = output + (((size_t)tile.at.n * im.P + tile.at.y + top) * im.Q + tile.at.x + first / 8 * im.Q + first % 8) * C;
    staged.store<HEIGHT>(sum, [&](int ahead) { return own >> ahead & 1; }, [&](int ahead) { return out + (ahead / 8 * im.Q + ahead % 8) * C; });
}

static __device__ __forceinline__ void second_layer(const TYPE *weights, const float *bias, const float *links, TYPE *output, const image &im)
{
    constexpr int FEW = 5; /* rows: what a single marked pixel reaches */
    unsigned held[PRODUCTS][4];
    if (!is_busy())
        return;
    hold_weights(held, weights, 1);
    ending end(bias, links, 1);
    staged_pixels staged(space + STAGES * STAGE_BYTES + 2 * BETWEEN_BYTES, 2, nullptr, 0, C);
    for (int i = 0;; i++) {
        int half = i & 1;
        barrier_wait(shared_address(&between_full[half]), i / 2 & 1);
        work tile = waiting[half];
        if (__shfl_sync(~0u, tile.at.y, 0) < 0)
            return;
        int top = (__ffsll(tile.active) - 1) / 8, rows = __shfl_sync(~0u, (63 - __clzll(tile.active)) / 8 + 1 - top, 0);
        if (rows <= FEW && FEW < ROWS)
            finish_rows<FEW>(tile, half, __shfl_sync(~0u, min(top, ROWS - FEW), 0), held, end, staged, output, im);
        else
            finish_rows<ROWS>(tile, half, 0, held, end, staged, output, im);
    }
}

static __device__ __forceinline__ void init_barriers()
{
    int i = threadIdx.x % 32;
    init_ring();
    if (i < 2) {
        barrier_init(shared_address(&between_full[i]), 128);
        barrier_init(shared_address(&between_empty[i]), 4);
    }
    if (i == 2)
        barrier_init(shared_address(&decided), 1);
    barrier_init_done();
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_two(const TYPE *input, const TYPE *weights, const float *bias, const float *links, const unsigned *mask_in, unsigned *mask_out, unsigned *tile_bits, unsigned *sums,
         unsigned *notes, unsigned *tiles_active, TYPE *output, int H, int W, int tiles_x, int tiles_y, int count, int shares, int per_share)
{
    common all(tile_bits, sums, notes, blockIdx.x, count, shares, per_share);
    image im = {H, W, H, W, 2, tiles_x, tiles_y};
    if (threadIdx.x == 0)
        fetch_weights(weights);
    if (threadIdx.x >= 352) /* the last warp, which has the least to look at */
        init_barriers();
    look_at_share(all, blockIdx.x, im, mask_in, mask_out);
    if (threadIdx.x < 128) {
        give_registers<56>(); /* 56 + 240 + 208 = 3 * 168: what the block was launched with, and no register more, or it would wait for ever */
        add_up(all);
        unsigned total = tiles_before[SHARES], from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
        if (threadIdx.x == 0) {
            busy = from < end;
            barrier_arrive(shared_address(&decided));
            if (blockIdx.x == 0)
                *tiles_active = total;
        }
        if (from < end)
            produce({input, mask_in, im, 0}, all, from, end);
        return;
    }
    if (threadIdx.x < 256) {
        take_registers<240>();
        first_layer(weights, bias, links);
    } else {
        take_registers<208>();
        second_layer(weights, bias, links, output, im);
    }
}
