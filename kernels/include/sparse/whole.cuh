/* sparse/whole: a sparse convolution by whole tiles, for sparse/tiles.cuh: a product's columns are the pixels of an active tile, active or not.
 *
 * A slot of the ring is a tile with its halo (sparse/ring.cuh, sparse/copy.cuh); each tap is the same operand at another address.
 *
 * Needs what sparse/tiles.cuh needs, and STAGES. GATHERED: tiles are contiguous in memory, by rank. */
#pragma once
#include "sparse/ring.cuh"

static __device__ __forceinline__ unsigned ring_address() { return shared_address(space) + 2 * staged_bytes(ROWS); } /* behind what is being stored */
static __shared__ unsigned long long turn[2]; /* barriers */
static __shared__ work ring_work[STAGES];

/* A warp. */
static __device__ __forceinline__ void init_tiles()
{
    init_ring();
    if (threadIdx.x % 32 < 2)
        barrier_init(shared_address(&turn[threadIdx.x % 32]), 4);
}

/* --- producer --- */

struct producer : ring_producer {
    __device__ __forceinline__ void put(const work &tile, const row_marks &marks, unsigned rank)
    {
        int slot = free_slot(issued);
        unsigned come = shared_address(&full[slot]);
        issued += 4;
        if (GATHERED) { /* the whole tile is one piece of memory */
            if (threadIdx.x % 32 == 0) {
                ring_work[slot] = {{(int)rank, 0, 0}, 0, ~0ull};
                barrier_arrive_expect(come, STAGE_BYTES);
                copy_bytes(ring_address() + slot * STAGE_BYTES, input + (size_t)rank * (STAGE_BYTES / 2), STAGE_BYTES, come);
            }
        } else {
            copy_tile(ring_address() + slot * STAGE_BYTES, input, tile, marks, im, 0);
            if (threadIdx.x % 32 == 0) {
                ring_work[slot] = tile;
                barrier_arrive(come);
            }
        }
        copy_async_arrive(come);
        __syncwarp();
    }
    /* `end`: how many tiles there were. Behind them come two that say so, one for each consumer. */
    __device__ __forceinline__ void finish(int end)
    {
        for (; issued < end + 2; issued += 4) {
            int slot = free_slot(issued);
            if (threadIdx.x % 32 == 0) {
                ring_work[slot] = {{0, -1, 0}, 0, 0};
                barrier_arrive(shared_address(&full[slot]));
            }
            copy_async_arrive(shared_address(&full[slot]));
        }
    }
};

static __device__ __forceinline__ void produce_tiles(producer p, const common &all, unsigned from, unsigned end)
{
    p.finish(produce_ring(p, all, from, end, [] { wait_for_space<2 * staged_bytes(ROWS) + STAGES * STAGE_BYTES>(); }));
}

/* --- consumers: two warpgroups --- */

/* The consumers take turns: one computes while the other stores. Side by side they would share the tensor cores and then store together. */
static __device__ __forceinline__ void multiply_whole(float sum[4 * ROWS], unsigned stage, const unsigned (*held)[4], int me, int round)
{
    unsigned long long tile = matrix_planes(stage, PLANE, HALO_W * 16);
    barrier_wait(shared_address(&turn[me]), (me == 0) ^ (round & 1));
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        int tap = i / (C / 16), c = i % (C / 16); /* descriptors count in 16 bytes */
        wgmma_registers<TYPE, 8 * ROWS>(sum, held[i], tile + (c * 2 * PLANE / 16 + tap / S * HALO_W + tap % S), i > 0);
    }
    wgmma_commit();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(shared_address(&turn[me ^ 1]));
    wgmma_wait<0>();
}

static __device__ __forceinline__ void consume_tiles(const consumer &to, const unsigned (*held)[4])
{
    int lane = threadIdx.x % 32, me = warpgroup_index() - 1;
    staged_pixels staged(space + me * staged_bytes(ROWS), me + 1, to.bias, to.k0, to.K);
    for (int i = me;; i += 2) {
        int slot = i % STAGES;
        barrier_wait(shared_address(&full[slot]), i / STAGES & 1);
        fence_async(); /* the copies were ordinary ones */
        work tile = read_work(ring_work[slot]);
        if (tile.at.y < 0)
            return;
        float sum[4 * ROWS];
        multiply_whole(sum, ring_address() + slot * STAGE_BYTES, held, me, i / 2);
        if (lane == 0)
            barrier_arrive(shared_address(&empty[slot]));
        int first = staged.first_pixel();
        unsigned long long own = tile.active >> first;
        TYPE *out = to.output + (GATHERED ? (size_t)tile.at.n * (8 * ROWS) * to.K : (((size_t)tile.at.n * to.P + tile.at.y) * to.Q + tile.at.x) * to.K) +
                    (first / 8 * to.Q + first % 8) * to.K;
        staged.store<ROWS>(sum, [&](int ahead) { return own >> ahead & 1; }, [&](int ahead) { return out + (ahead / 8 * to.Q + ahead % 8) * to.K; });
    }
}
