/* bench 1
what: sparse_tile for any number of channels - eight tiles at a time, their weights go through the registers in slices
like: sparse_tile
needs:
  - stride == 1 and dilation == 1 and groups == 1 and c % 16 == 0 and r <= 9 and s <= 9 and k % 2 == 0
  - c * h * w < 2147483648 and k * p * q < 2147483648
mask: {tile: [rows, 8], weights: per_tile}
params:
  ROWS:
  STAGES:
  EDGE: {values: [auto, 4, 5, 6, 7, 8], default: auto}      # rows of a tile, which is 8 wide
let:
  slice: select(c % 32 == 0 and r * s <= 9, 32, 16)
  rows: select(EDGE == 'auto', select(r * s * slice <= 144, 8, select(r * s * slice <= 288, 6, 4)), EDGE)
  tiles_y: ceil(p, rows)
  plane: ceil((rows + r - 1) * (s + 7) - 1, 8) * 128 + 16
  whole:
  weights:
  weights_at:
  pitch: r * s * slice * 2 + 16                    # of an output channel's weights in a slice
  smem: 16 * floor(slice, 8) * plane + 128 * pitch
  per_tile: r * s * c * 8 * blocks_k * size(filter) # bytes of weights: eight tiles share them
where:
  - cc == 90
  - blocks_k <= sm_count                           # all blocks run at once
  - smem + 30720 <= smem_per_block_optin
  - floor(r * s * slice, 4) + 16 * rows <= 170     # registers for weights and sums
define:
  WHOLE:
  PIXELS:
  INPUTS:
  SWITCH:
  WEIGHTS_AT:
  ROWS: rows
  SLICE: slice
scratch:
  packed: input[blocks_k * floor(c, slice) * 32 * pitch]
prepare:
  - fill: tile_bits = 0
  - fill: sums = 0
  - fill: notes = 0
  - kernel: pack_weights
    grid: 64 * floor(c, slice), blocks_k
    block: 128
    args: filter, packed, k
steps:
  - kernel: conv_slices
    grid: blocks, blocks_k
    block: 384
    smem: smem
    args: input, packed, bias, mask_in, mask_out, tile_bits, sums, notes, active, output, h, w, k, p, q, pad_top, tiles_x, tiles_y, tiles, shares, per_share
    attributes: {cooperative: yes, carveout: 100}
*/

/* What changed from sparse_tile: the weights of more than 64 channels do not fit in a warpgroup's registers, so they come in slices of SLICE channels: 72
 * registers for 3x3 of 32 channels. A slice is 37 KiB from L2; eight tiles share it, four for each consumer, whose 128 sums a thread stay in registers until the
 * last slice. A slice of eight tiles takes some 5000 cycles, while the next one's weights arrive: 8 bytes per cycle.
 *
 * The filter is put into slices once, beforehand (prepare), so that a slice of 64 output channels is contiguous. */
#define TOGETHER 2
#include "sparse/copy.cuh"
#include "sparse/store.cuh"

constexpr int SLICES = C / SLICE, GROUP = 8, STAGES = 16, DEPTH = 4; /* tiles at a time; slices of tiles in shared memory, and a warp's on their way */
constexpr int RING_BYTES = STAGES * STAGE_BYTES, WEIGHTS_BYTES = 64 * WEIGHTS_PITCH;

extern __shared__ __align__(128) unsigned char ring[]; /* then two slices of the weights */
static __shared__ unsigned long long full[STAGES], empty[STAGES], weights_come[2], weights_held[2];
static __shared__ work ring_work[STAGES];              /* at.y < 0: none, at.n < 0: no more */
static __shared__ __align__(128) unsigned char staging[2][staged_bytes(ROWS)];

/* packed[block of 64 output channels][slice][channel][tap][SLICE], zeros for channels past the last. */
extern "C" __global__ void __launch_bounds__(128) pack_weights(const TYPE *filter, TYPE *packed, int K)
{
    int row = blockIdx.x % 64, slice = blockIdx.x / 64, k = blockIdx.y * 64 + row;
    packed += (((size_t)blockIdx.y * SLICES + slice) * 64 + row) * (WEIGHTS_PITCH / 2);
    for (int i = threadIdx.x; i < WEIGHTS_PITCH / 2; i += 128)
        packed[i] = k < K && i < TAPS * SLICE ? filter[((size_t)k * TAPS + i / SLICE) * C + slice * SLICE + i % SLICE] : from_f32<TYPE>(0.0f);
}

struct producer {
    const TYPE *input, *packed;
    const unsigned *mask;
    image im;
    int issued, arrived, slices; /* the ring's numbers of the warp's next slice of a tile to copy, and to announce; slices of weights asked for */

    __device__ __forceinline__ void arrive_oldest()
    {
        fence_async();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            barrier_arrive(shared_address(&full[arrived % STAGES]));
        arrived += 4;
    }
    __device__ __forceinline__ void put(unsigned rank, unsigned end, const row_marks &marks, int c0)
    {
        int slot = issued % STAGES;
        const work &tile = lister<4>::tile(rank);
        barrier_wait(shared_address(&empty[slot]), issued / STAGES & 1 ^ 1);
        if (threadIdx.x % 32 == 0)
            ring_work[slot] = rank < end ? tile : work{{0, -1, 0}, 0, 0};
        if (rank < end)
            copy_tile(shared_address(ring) + slot * STAGE_BYTES, input, tile, marks, im, c0);
        copy_async_commit();
        issued += 4;
        if (issued - arrived == 4 * DEPTH) {
            copy_async_wait<DEPTH - 1>();
            arrive_oldest();
        }
    }
    __device__ __forceinline__ void announce_all()
    {
        copy_async_wait<0>();
        while (arrived < issued)
            arrive_oldest();
    }
    /* Asks for a slice of the weights, when the one before the last is in registers. */
    __device__ __forceinline__ void ask_weights(int slice)
    {
        int buffer = slices & 1;
        if (!__all_sync(~0u, barrier_over(shared_address(&weights_held[buffer]), slices >> 1 & 1 ^ 1))) {
            announce_all(); /* or the consumers wait for these tiles, and this warp for the consumers */
            barrier_wait(shared_address(&weights_held[buffer]), slices >> 1 & 1 ^ 1);
        }
        if (threadIdx.x == 0) {
            barrier_arrive_expect(shared_address(&weights_come[buffer]), WEIGHTS_BYTES);
            copy_bytes(shared_address(ring) + RING_BYTES + buffer * WEIGHTS_BYTES, packed + ((size_t)blockIdx.y * SLICES + slice) * (WEIGHTS_BYTES / 2),
                       WEIGHTS_BYTES, shared_address(&weights_come[buffer]));
        }
        slices++;
        __syncwarp();
    }
    /* The tiles of ranks first .. end - 1, at most GROUP of them: all slices of the warp's two. */
    __device__ __forceinline__ void put_group(unsigned first, unsigned end)
    {
        int warp = threadIdx.x / 32;
        row_marks marks[2];
#pragma unroll
        for (int j = 0; j < 2; j++)
            if (first + warp + 4 * j < end)
                marks[j] = load_marks(lister<4>::tile(first + warp + 4 * j), im, mask);
#pragma unroll 1
        for (int slice = 0; slice < SLICES; slice++) {
            if (warp == 0)
                ask_weights(slice);
#pragma unroll
            for (int j = 0; j < 2; j++)
                put(first + warp + 4 * j, end, marks[j], slice * SLICE);
        }
    }
    __device__ __forceinline__ void finish()
    {
        announce_all();
        if (threadIdx.x / 32 >= 2) /* the first tile of each consumer is warp 0's and warp 1's */
            return;
        barrier_wait(shared_address(&empty[issued % STAGES]), issued / STAGES & 1 ^ 1);
        if (threadIdx.x % 32 == 0)
            ring_work[issued % STAGES] = {{-1, -1, 0}, 0, 0};
        arrive_oldest();
    }
};

static __device__ __forceinline__ void produce(producer p, const common &all, unsigned *tiles_active)
{
    add_up(all);
    unsigned total = tiles_before[SHARES];
    if (threadIdx.x == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        *tiles_active = total;
    unsigned from = (unsigned long long)total * blockIdx.x / gridDim.x, end = (unsigned long long)total * (blockIdx.x + 1) / gridDim.x;
    p.issued = p.arrived = threadIdx.x / 32;
    lister<4> tiles = {all, p.im, false};
    for (; from < end; from += LIST) {
        tiles.round(from, min(from + LIST, end));
        for (unsigned rank = tiles.first(); rank < tiles.end(); rank += GROUP)
            p.put_group(rank, tiles.end());
    }
    p.finish();
}

struct consumer {
    staged_pixels staged;
    TYPE *output; /* of the first channel */
    int K, P, Q;
};

static __device__ __forceinline__ void store_tile(const consumer &to, const work &tile, const float sum[4 * ROWS])
{
    int first = to.staged.first_pixel();
    unsigned long long own = tile.active >> first;
    TYPE *out = to.output + (((size_t)tile.at.n * to.P + tile.at.y + first / 8) * to.Q + tile.at.x + first % 8) * to.K;
    to.staged.store<ROWS>(sum, [&](int ahead) { return own >> ahead & 1; }, [&](int ahead) { return out + (ahead / 8 * to.Q + ahead % 8) * to.K; });
}

static __device__ __forceinline__ void consume(const consumer &to)
{
    int me = warpgroup_index() - 1, lane = threadIdx.x % 32;
    unsigned weights = shared_address(ring) + RING_BYTES + (threadIdx.x / 32 % 4 * 16 + lane % 16) * WEIGHTS_PITCH + lane / 16 * 16;
    for (int i = me, slices = 0;;) {
        float sum[GROUP / 2][4 * ROWS];
#pragma unroll 1
        for (int slice = 0; slice < SLICES; slice++, slices++) {
            barrier_wait(shared_address(&full[i % STAGES]), i / STAGES & 1);
            if (__shfl_sync(~0u, ring_work[i % STAGES].at.n, 0) < 0)
                return;
            unsigned held[STEPS][4];
            int buffer = slices & 1;
            barrier_wait(shared_address(&weights_come[buffer]), slices >> 1 & 1);
#pragma unroll
            for (int step = 0; step < STEPS; step++)
                load_matrix_4(held[step], weights + buffer * WEIGHTS_BYTES + step * 32);
            fence_async(); /* or the next slice's bulk copy may overtake these reads */
            barrier_arrive(shared_address(&weights_held[buffer]));
#pragma unroll
            for (int j = 0; j < GROUP / 2; j++, i += 2) {
                int slot = i % STAGES;
                barrier_wait(shared_address(&full[slot]), i / STAGES & 1);
                unsigned long long tile = matrix_planes(shared_address(ring) + slot * STAGE_BYTES, PLANE, HALO_W * 16);
                if (__shfl_sync(~0u, ring_work[slot].at.y, 0) >= 0) {
                    wgmma_begin();
#pragma unroll
                    for (int step = 0; step < STEPS; step++) {
                        int tap = step / (SLICE / 16), c = step % (SLICE / 16); /* descriptors count in 16 bytes */
                        wgmma_registers<TYPE, 8 * ROWS>(sum[j], held[step], tile + (c * 2 * PLANE / 16 + tap / S * HALO_W + tap % S), slice + step > 0);
                    }
                    wgmma_commit();
                    wgmma_wait<0>();
                    if (slice == SLICES - 1)
                        store_tile(to, ring_work[slot], sum[j]);
                }
                barrier_arrive(shared_address(&empty[slot]));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
conv_slices(const TYPE *input, const TYPE *packed, const float *bias, const unsigned *mask_in, unsigned *mask_out, unsigned *tiles, unsigned *sums,
            unsigned *notes, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count, int shares,
            int per_share)
{
    int own = blockIdx.y * gridDim.x + blockIdx.x;
    common all(tiles, sums, notes, own, count, shares, per_share);
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    if (threadIdx.x >= 352) { /* the last warp, which has the least to look at */
        int i = threadIdx.x % 32;
        if (i < STAGES) {
            barrier_init(shared_address(&full[i]), 1);
            barrier_init(shared_address(&empty[i]), 128); /* the consumer whose tile it is */
        }
        if (i < 2) {
            barrier_init(shared_address(&weights_come[i]), 1);
            barrier_init(shared_address(&weights_held[i]), 256); /* all who read them */
        }
        barrier_init_done();
    }
    look_at_share(all, own, im, mask_in, mask_out);
    if (threadIdx.x < 128) {
        give_registers<56>();
        produce(producer{input, packed, mask_in, im}, all, tiles_active);
    } else {
        take_registers<224>();
        int k0 = blockIdx.y * 64, group = warpgroup_index();
        consume({staged_pixels(staging[group - 1], group, bias, k0, K), output + k0, K, P, Q});
    }
}
