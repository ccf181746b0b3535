/* sparse/tiles: a sparse convolution on tensor cores, in place, for sm_90a. Its variants differ in what a product's columns are:
 *   conv2d/sparse_tile    WHOLE: the pixels of an active tile, active or not (sparse/whole.cuh)
 *   conv2d/very_sparse    PIXELS: 64 active outputs from wherever they are (sparse/pixels.cuh)
 *   conv2d/sparse_inputs  INPUTS: up to 64 active inputs, whose contributions are added up (sparse/inputs.cuh)
 *   conv2d/sparse_either  WHOLE or INPUTS for the whole launch, from the numbers of active tiles and inputs
 *   conv2d/sparse_gather  WHOLE, and GATHERED: tiles come from and go to memory of their own, which other kernels fill and empty
 *
 * Tiles are ROWS rows of 8 pixels. One launch, a block an SM, three warpgroups. All of them look at the mask first (sparse/schedule.cuh). All
 * blocks fetch the same weights, which takes L2 a while: those that saw an active tile ask for them at once, the others when they know that they have work.
 *   producer   finds out which tiles are the block's; then its four warps fill buffers in shared memory.
 *   consumers  (two) hold all R * S * C weights of 16 output channels in a warp's registers (144 for 3x3 of 64 channels); R * S * C / 16 wgmma of 64 channels
 *              by as many columns as there are.
 *
 * Needs TYPE, C, R, S, ROWS, WHOLE, PIXELS, INPUTS, SWITCH, WEIGHTS_AT, STORE, EPI_BIAS, EPI_SLOPE as constants; with WHOLE also STAGES. SWITCH: with both, inputs are taken
 * when there are fewer than so many of them for an active tile. */
#pragma once
#define SLICE C
#include "sparse/copy.cuh"
#include "sparse/store.cuh"

#ifndef GATHERED
#define GATHERED 0
#endif
extern __shared__ __align__(128) unsigned char space[]; /* what the way of computing needs; before, at WEIGHTS_AT, the weights */
static __shared__ unsigned long long weights_come, weights_held, decided; /* barriers */
/* Before the producer writes to the first `used` bytes of the space: are the weights in registers? Where there is room they lie behind, and nobody waits. */
template <int USED> static __device__ __forceinline__ void wait_for_space()
{
    if (WEIGHTS_AT < USED)
        barrier_wait(shared_address(&weights_held), 0);
}
constexpr int THREADS = 384;
constexpr unsigned FEW_TILES = 3; /* a block: with fewer, to list inputs takes longer than the products that it saves */
enum { NOTHING, BY_TILES, SCATTERED };
static __shared__ int way; /* what this block computes */

/* What a consumer computes for. */
struct consumer {
    const float *bias;
    TYPE *output; /* of the block's first channel */
    int k0, K, P, Q;
};
/* Both consumers, 256 threads. */
static __device__ __forceinline__ void consumers_sync() { asm volatile("bar.sync 4, 256;" ::: "memory"); }
#if WHOLE
#include "sparse/whole.cuh"
#endif
#if PIXELS
#include "sparse/pixels.cuh"
#endif
#if INPUTS
#include "sparse/inputs.cuh"
#endif

/* Copies the filter of channels k0 .. k0 + 63 to shared memory, a row for each, WEIGHTS_PITCH apart: eight rows start in eight different groups of banks. A warp of
 * the consumers loads eight rows. Each block begins with other rows, because otherwise all would wait for the same part of L2. */
static __device__ __forceinline__ void ask_weights(const TYPE *filter, int k0, int K)
{
    unsigned come = shared_address(&weights_come);
    int lane = threadIdx.x % 32, i = ((threadIdx.x - 128) / 32 * 8 + lane + blockIdx.x) % 64;
    if (lane == 0)
        barrier_arrive_expect(come, 8 * TAPS * C * 2);
    __syncwarp();
    if (lane < 8) /* channels past the last are copies of it: they are computed and not stored */
        copy_bytes(shared_address(space) + WEIGHTS_AT + i * WEIGHTS_PITCH, filter + (size_t)min(k0 + i, K - 1) * TAPS * C, TAPS * C * 2, come);
}

/* The first of the shares of `total` that begins here: total * block / blocks. */
static __device__ __forceinline__ unsigned share_begin(unsigned total, unsigned block, unsigned blocks)
{
    return total / blocks * block + total % blocks * block / blocks;
}

static __device__ __forceinline__ void produce(const TYPE *input, const unsigned *mask, const image &im, const common &all, unsigned *tiles_active)
{
    add_up(all);
    unsigned tiles = tiles_before[SHARES], weight = weight_before[SHARES];
    bool whole = WHOLE && (!INPUTS || tiles < FEW_TILES * gridDim.x || weight >= (unsigned long long)tiles * SWITCH);
    unsigned total = whole ? tiles : weight, from = share_begin(total, blockIdx.x, gridDim.x), end = share_begin(total, blockIdx.x + 1, gridDim.x);
    if (threadIdx.x == 0) {
        way = from == end ? NOTHING : whole ? BY_TILES : SCATTERED;
        barrier_arrive(shared_address(&decided));
        if (blockIdx.x == 0 && blockIdx.y == 0)
            *tiles_active = tiles;
    }
    if (from == end)
        return;
#if WHOLE
    if (whole) {
        produce_tiles({input, mask, im, 0}, all, from, end);
        return;
    }
#endif
#if PIXELS
    produce_pixels({input, mask, im, 0, 0}, all, from, end);
#elif INPUTS
    int warp = threadIdx.x / 32;
    produce_inputs({input, mask, im, group_of(warp), 0, 0}, all, from + (unsigned long long)(end - from) * warp / 4,
                   from + (unsigned long long)(end - from) * (warp + 1) / 4);
#endif
}

static __device__ __forceinline__ void consume(const consumer &to, const TYPE *filter)
{
    int lane = threadIdx.x % 32;
    unsigned held[STEPS][4];
    unsigned own = shared_address(space) + WEIGHTS_AT + (threadIdx.x / 32 % 4 * 16 + lane % 16) * WEIGHTS_PITCH + lane / 16 * 16;
    unsigned seen = 0; /* of the share that this block looked at */
#pragma unroll
    for (int i = 0; i < THREADS / 32; i++)
        seen |= looked_tiles[i];
    bool early = !GATHERED && seen != 0;
    if (early)
        ask_weights(filter, to.k0, to.K);
    barrier_wait(shared_address(&decided), 0);
    if (way == NOTHING) {
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
#if WHOLE
    if (way == BY_TILES) {
        consume_tiles(to, held);
        return;
    }
#endif
#if PIXELS
    consume_pixels(to, held);
#elif INPUTS
    consume_inputs(to, held);
#endif
}

/* A warp. */
static __device__ __forceinline__ void init_barriers()
{
    if (threadIdx.x % 32 == 0) {
        barrier_init(shared_address(&weights_come), 8);
        barrier_init(shared_address(&weights_held), 256); /* each lane for itself: racecheck does not follow one that speaks for its warp */
        barrier_init(shared_address(&decided), 1);
    }
#if WHOLE
    init_tiles();
#endif
#if PIXELS
    init_taps();
#endif
#if INPUTS
    init_groups();
#endif
    barrier_init_done();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
conv_tiles(const TYPE *input, const TYPE *filter, const float *bias, const unsigned *mask_in, unsigned *mask_out, unsigned *tiles, unsigned *sums,
           unsigned *notes, unsigned *tiles_active, TYPE *output, int H, int W, int K, int P, int Q, int pad, int tiles_x, int tiles_y, int count, int shares,
           int per_share)
{
    asm volatile("griddepcontrol.launch_dependents;"); /* every block of this grid is there */
    if (threadIdx.x >= 352)                            /* the last warp, which has the least to look at */
        init_barriers();
    asm volatile("griddepcontrol.wait;" ::: "memory"); /* the layer before: its output's mask is read from here on */
    int own = blockIdx.y * gridDim.x + blockIdx.x;
    common all(tiles, sums, notes, GATHERED ? 0 : own, count, shares, per_share);
    image im = {H, W, P, Q, pad, tiles_x, tiles_y};
    if (GATHERED)
        all.launch--; /* of the launch before, which looked */
    if (GATHERED)
        __syncthreads();
    else
        look_at_share(all, own, im, mask_in, mask_out);
    if (threadIdx.x < 128) {
        give_registers<72>();
        produce(input, mask_in, im, all, tiles_active);
    } else {
        take_registers<216>();
        consume({bias, output + blockIdx.y * 64, (int)blockIdx.y * 64, K, P, GATHERED ? 8 : Q}, filter);
    }
}
