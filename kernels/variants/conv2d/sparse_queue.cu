/* bench 1
what: sparse_tile whose blocks put active tiles in a queue as they find them, and do not wait for the others' search
like: sparse_tile
mask: {tile: [8, 8]}
params:
  ROWS: null
  STAGES: {values: [4, 8, 12], default: 4}         # tiles with halo in shared memory
let:
  tiles_y: ceil(p, 8)
  plane: ceil((8 + r - 1) * (s + 7) - 1, 8) * 128 + 16
  whole: STAGES * floor(c, 8) * plane + 16384      # bytes, of tiles and what is being stored
  shares: null
  per_share: ceil(ceil(tiles, 16), blocks * blocks_k)     # of 16 tiles, for those who look
define:
  ROWS: 8
  WHOLE: null
  PIXELS: null
  INPUTS: null
  SWITCH: null
scratch:
  tile_bits: null
  sums: null
  notes: null
  queue: u32[8 * tiles]
  owners: u32[2 * blocks * blocks_k]
  ends: u32[4]
  active: u32[1]
prepare:
  - fill: queue = 0
  - fill: owners = 0
  - fill: ends = 0
steps:
  - kernel: conv_queue
    grid: blocks, blocks_k
    block: 384
    smem: smem
    args: input, filter, bias, mask_in, mask_out, queue, owners, ends, active, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles, per_share
    attributes: {carveout: 100, pdl: yes}
*/

/* What changed from sparse_tile: a block that has read its share of the mask puts its active tiles in a queue (sparse/queue.cuh) and
 * continues with any tiles there. So it needs neither ranks of tiles, for which all must have read the mask, nor a cooperative launch.
 *
 * On an H200 it was faster with blobs and without marks; avoiding the cooperative launch was a small part of that.
 *
 * Four slots are faster than eight from 64 channels on, and slightly slower for fewer (measured on blobs, 2026-12-01). A quarter of the time with blobs of 10 % passes before
 * the first tile is there, half are products, at the lower clock that tensor cores bring.
 *
 * Slower: to begin with tiles of the own share, and with the weights asked for before it is read (a warp is long at asking, and the mask waited for the barriers'
 * initialisation); the first four tiles copied by all four warps together; places of the queue taken when a slot is free. To try: tiles of the own share without that wait. */
#define SLICE C
#define GATHERED 0
#include "sparse/copy.cuh"
#include "sparse/store.cuh"
constexpr int THREADS = 384;
#include "sparse/queue.cuh"

/* Tiles and what is being stored; behind them, or there before, the weights. */
extern __shared__ __align__(128) unsigned char space[];
static __shared__ unsigned long long weights_come, weights_held, decided; /* barriers */
static __shared__ bool has_tiles;                                         /* this block has tiles */
/* Before the producer writes to the first USED bytes of the space: are the weights in registers? */
template <int USED> static __device__ __forceinline__ void wait_for_space()
{
    if (WEIGHTS_AT < USED)
        barrier_wait(shared_address(&weights_held), 0);
}
struct consumer {
    const float *bias;
    TYPE *output; /* of the block's first channel */
    int k0, K, P, Q;
};
static __device__ __forceinline__ void consumers_sync() { asm volatile("bar.sync 4, 256;" ::: "memory"); }
#include "sparse/whole.cuh"

/* Copies the filter of channels k0 .. k0 + 63 to shared memory, as in sparse/tiles.cuh. Channels past the last are copies of the first
 * ones, computed and not stored; if all were copies of one, all blocks would wait for the same lines of L2. */
static __device__ __forceinline__ void ask_weights(const TYPE *filter, int k0, int K)
{
    unsigned come = shared_address(&weights_come);
    int lane = threadIdx.x % 32, i = ((threadIdx.x - 128) / 32 * 8 + lane + blockIdx.x) % 64;
    if (lane == 0)
        barrier_arrive_expect(come, 8 * TAPS * C * 2);
    __syncwarp();
    if (lane < 8)
        copy_bytes(shared_address(space) + WEIGHTS_AT + i * WEIGHTS_PITCH, filter + (size_t)((k0 + i) % K) * TAPS * C, TAPS * C * 2, come);
}

static __device__ __forceinline__ void produce(producer p, const queue &q, unsigned *mask_out, unsigned *tiles_active)
{
    p.issued = threadIdx.x / 32;
    work tile;
    for (;;) {
        tile = queue_wait(q, blockIdx.x + gridDim.x * p.issued, p.im, p.mask, mask_out);
        if (threadIdx.x == 0 && p.issued == 0) {
            has_tiles = tile.at.y >= 0;
            barrier_arrive(shared_address(&decided));
        }
        if (tile.at.y < 0)
            break;
        row_marks marks = load_marks(tile, p.im, p.mask);
        if (p.issued < 4)
            wait_for_space<2 * staged_bytes(ROWS) + STAGES * STAGE_BYTES>();
        p.put(tile, marks, 0);
    }
    if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        *tiles_active = tile.at.n;
    if (blockIdx.x < tile.at.n) /* or the consumers do not wait for any */
        p.finish((tile.at.n - blockIdx.x + gridDim.x - 1) / gridDim.x);
}

static __device__ __forceinline__ void consume(const consumer &to, const TYPE *filter, bool early)
{
    int lane = threadIdx.x % 32;
    unsigned held[STEPS][4];
    unsigned own = shared_address(space) + WEIGHTS_AT + (threadIdx.x / 32 % 4 * 16 + lane % 16) * WEIGHTS_PITCH + lane / 16 * 16;
    if (early)
        ask_weights(filter, to.k0, to.K);
    barrier_wait(shared_address(&decided), 0);
    if (!has_tiles) {
        if (early)
            barrier_wait(shared_address(&weights_come), 0);
        return;
    }
    if (!early)
        ask_weights(filter, to.k0, to.K);
    barrier_wait(shared_address(&weights_come), 0);
#pragma unroll
    for (int i = 0; i < STEPS; i++)
        load_matrix_4(held[i], own + i * 32);
    barrier_arrive(shared_address(&weights_held));
    consumers_sync(); /* what they write in place of the weights has been read by both */
    consume_tiles(to, held);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_queue(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, unsigned *tiles,
           unsigned *owners, unsigned long long *ends, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad,
           int tiles_x, int tiles_y, int count, int per_share)
{
    asm volatile("griddepcontrol.launch_dependents;"); /* every block of this grid is there */
    if (threadIdx.x >= 352) {                          /* the last warp, which has the least to look at */
        if (threadIdx.x % 32 == 0) {
            barrier_init(shared_address(&weights_come), 8);
            barrier_init(shared_address(&weights_held), 256);
            barrier_init(shared_address(&decided), 1);
        }
        init_tiles();
        barrier_init_done();
    }
    asm volatile("griddepcontrol.wait;" ::: "memory"); /* the layer before: its output's mask is read from here on */
    int own = blockIdx.y * gridDim.x + blockIdx.x, shares = gridDim.x * gridDim.y;
    queue q(tiles, owners, ends, own, count, shares, per_share);
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    bool seen = look_at_own(q, own, im, mask_in, mask_out);
    if (threadIdx.x < 128) {
        give_registers<72>();
        produce({input, mask_in, im, 0}, q, mask_out, tiles_active);
    } else {
        take_registers<216>();
        consume({bias, output + blockIdx.y * 64, (int)blockIdx.y * 64, K, P, Q}, filter, seen);
    }
}
