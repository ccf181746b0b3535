/* chain/resident_bulk: for kernels of op chain that load weights by TMA (sm_90): two buffers of weights in front of all other shared memory, an mbarrier for each,
 * and the waits of clusters of blocks. */
#pragma once
#include "chain/resident.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int BARRIERS = 128; /* bytes in front: one barrier for each buffer of weights, two for what a kernel has of its own */

__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

/* One thread: this block's part of a layer's weights, to all SHARERS blocks of the cluster; their barriers count what arrives. */
template <int SHARERS> static __device__ __forceinline__ void fetch_weights(unsigned base, int link, int rank, int group, const TYPE *weights)
{
    constexpr unsigned part = WEIGHT_BYTES / SHARERS;
    unsigned barrier = base + (link & 1) * 8, to = base + BARRIERS + (link & 1) * WEIGHT_BYTES + rank * part;
    const char *from = (const char *)(weights + ((size_t)link * GROUPS + group) * (KB * 9 * C)) + rank * part;
    barrier_arrive_expect(barrier, WEIGHT_BYTES);
    if (SHARERS == 1)
        copy_bytes(to, from, part, barrier);
    else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from),
                     "r"(part), "r"(barrier), "h"((unsigned short)((1 << SHARERS) - 1))
                     : "memory");
}

/* Four barriers: two of the weights, two of what a kernel has of its own. Nobody sends before every one of the cluster's blocks is there. */
static __device__ __forceinline__ void begin_bulk(unsigned base, int blocks)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++)
            barrier_init(base + i * 8, 1);
        barrier_init_done();
    }
    __syncthreads();
    if (blocks > 1) {
        cluster_arrive();
        cluster_wait();
    }
}
