/* Bulk copies, mbarriers, wgmma and clusters, wrong in one place each; and correct kernels that look like them. test_emu_races.c expects
 * the lines. Compiled for sm_90a and sm_100 when a test needs it. Blocks of 256 threads, 4 of them. */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void
#define WHERE (blockIdx.x * 256 + threadIdx.x)
typedef unsigned long long mbarrier;
__device__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(mbarrier *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_shared(b)), "r"(n) : "memory"); }
__device__ void arrive(mbarrier *b) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(b)) : "memory"); }
__device__ void expect(mbarrier *b, int bytes)
{
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(at_shared(b)), "r"(bytes) : "memory");
}
__device__ bool over(mbarrier *b, unsigned parity)
{
    unsigned done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at_shared(b)), "r"(parity) : "memory");
    return done;
}
__device__ void await(mbarrier *b, unsigned parity)
{
    while (!over(b, parity))
        ;
}
__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#define LOAD(to, from, bytes, bar)                                                                                                                     \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_shared(to)), "l"(from), "r"(bytes), \
                 "r"(at_shared(bar))                                                                                                                   \
                 : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")

KERNEL load_read_early(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    if (threadIdx.x == 0)
        init(&full, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 1024);
        LOAD(s, in, 1024, &full);
    }
    __syncthreads();
    out[WHERE] = s[threadIdx.x]; // 47
}
KERNEL load_stale_parity(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    float sum = 0;
    if (threadIdx.x == 0)
        init(&full, 1);
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            expect(&full, 1024);
            LOAD(s, in + 256 * i, 1024, &full);
        }
        await(&full, 0);
        sum += s[threadIdx.x]; // 63
        __syncthreads();
    }
    out[WHERE] = sum;
}
KERNEL load_over_readers(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0)
        init(&full, 1);
    __syncthreads();
    float v = s[255 - threadIdx.x]; // 76: the first warp has sent the copy by then
    if (threadIdx.x == 0) {
        expect(&full, 1024);
        LOAD(s, in, 1024, &full);
    }
    await(&full, 0);
    out[WHERE] = v + s[threadIdx.x];
}
KERNEL store_overwritten(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    fence_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
    }
    __syncthreads();
    s[threadIdx.x] = 2 * in[threadIdx.x]; // 95
    if (threadIdx.x == 0)
        WAIT_READ(0);
    __syncthreads();
    out[1024 + WHERE] = s[threadIdx.x];
}
KERNEL store_waited_by_another(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    fence_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
    }
    if (threadIdx.x == 32)
        WAIT_READ(0); // of its own groups: there are none
    __syncthreads();
    s[threadIdx.x] = 2 * in[threadIdx.x]; // 114
    __syncthreads();
    out[1024 + WHERE] = s[threadIdx.x];
}
KERNEL store_no_proxy_fence(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024); // 124
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL store_fenced_too_soon(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    fence_proxy();
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024); // 136
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL store_no_barrier(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    s[threadIdx.x] = in[threadIdx.x]; // 144: the first warp has sent the copy by then
    fence_proxy();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL bytes_too_many(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    if (threadIdx.x == 0)
        init(&full, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 2048);
        LOAD(s, in, 1024, &full);
    }
    await(&full, 0); // told in over(), 18
    out[WHERE] = s[threadIdx.x];
}
KERNEL parity_never(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        init(&bar, 256);
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        arrive(&bar);
        await(&bar, i);
    }
    await(&bar, 0); // two phases are over, the third has nobody: told in over(), 18
    out[WHERE] = in[threadIdx.x];
}
KERNEL parity_wrong(const float *in, float *out)
{
    __shared__ float s[256];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        init(&bar, 256);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    arrive(&bar);
    if (threadIdx.x < 128)
        await(&bar, 1);
    out[WHERE] = s[255 - threadIdx.x]; // 190
}
KERNEL __cluster_dims__(2, 1, 1) cluster_no_barrier(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[WHERE] = *cluster.map_shared_rank(s + threadIdx.x, cluster.block_rank() ^ 1); // 198
    cluster.sync();
}
KERNEL __cluster_dims__(2, 1, 1) cluster_overwrites(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    float v = *cluster.map_shared_rank(s + 255 - threadIdx.x, cluster.block_rank() ^ 1);
    __syncthreads();
    s[threadIdx.x] = 2 * v; // 209
    cluster.sync();
    out[WHERE] = s[threadIdx.x];
}
KERNEL __cluster_dims__(2, 1, 1) cluster_ends(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    out[WHERE] = *cluster.map_shared_rank(s + threadIdx.x, cluster.block_rank() ^ 1); // 219
}
KERNEL __cluster_dims__(2, 1, 1) cluster_ends_one(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    cluster.sync();
    if (cluster.block_rank() == 0)
        return;
    out[WHERE] = *cluster.map_shared_rank(s + threadIdx.x, 0); // 229
}
KERNEL __cluster_dims__(2, 1, 1) cluster_arrives_only(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    float v = *cluster.map_shared_rank(s + threadIdx.x, cluster.block_rank() ^ 1); // 237
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    out[WHERE] = v;
    cluster.sync();
}
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* 64 x 8 halves from shared memory, 16 deep, 128 bytes from 8 rows to the next 8, the same for the columns */
__device__ unsigned long long matrix(const void *p) { return at_shared(p) >> 4 & 0x3fff | 8ull << 16 | 16ull << 32; }
__device__ void multiply(float *d, const void *a, const void *b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(matrix(a)), "l"(matrix(b)) : "memory");
}
#define BEGIN() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define END() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
#define OPERANDS                                    \
    __shared__ __align__(128) unsigned a[512], b[64]; \
    float d[4] = {0, 0, 0, 0};                      \
    for (int i = threadIdx.x; i < 512; i += 256)    \
        a[i] = 0x3c003c00;                          \
    if (threadIdx.x < 64)                           \
        b[threadIdx.x] = 0x3c003c00

KERNEL product_no_proxy_fence(const float *in, float *out)
{
    OPERANDS;
    __syncthreads();
    BEGIN();
    multiply(d, a, b);
    END();
    WAIT(0);
    out[WHERE] = d[0];
}
KERNEL product_overwritten(const float *in, float *out)
{
    OPERANDS;
    fence_proxy();
    __syncthreads();
    BEGIN();
    multiply(d, a, b);
    END();
    __syncthreads();
    for (int i = threadIdx.x; i < 512; i += 256)
        a[i] = 0; // told here
    WAIT(0);
    out[WHERE] = d[0];
}
KERNEL product_of_what_comes(const float *in, float *out)
{
    __shared__ mbarrier full;
    OPERANDS;
    if (threadIdx.x == 0)
        init(&full, 1);
    fence_proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&full, 256);
        LOAD(b, in, 256, &full);
    }
    __syncwarp();
    BEGIN();
    multiply(d, a, b);
    END();
    WAIT(0);
    out[WHERE] = d[0];
}
#endif
/* ---- honest ---- */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
KERNEL product_given_back(const float *in, float *out) /* one warp of four says that the stage is free: the products of all are made by then */
{
    __shared__ mbarrier full, empty;
    __shared__ __align__(128) unsigned a[512], b[64];
    float d[4] = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, 1);
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            for (int i = 0; i < 4; i++) {
                await(&empty, i & 1 ^ 1);
                expect(&full, 2048 + 256);
                LOAD(a, in, 2048, &full);
                LOAD(b, in + 64 * i, 256, &full);
            }
    } else {
        for (int i = 0; i < 4; i++) {
            await(&full, i & 1);
            BEGIN();
            multiply(d, a, b);
            END();
            WAIT(0);
            if (threadIdx.x == 0)
                arrive(&empty);
        }
    }
    out[WHERE] = d[0];
}
#endif
KERNEL load_ring(const float *in, float *out) /* a producer, two stages, consumers that give them back */
{
    __shared__ __align__(128) float s[2][256];
    __shared__ mbarrier full[2], empty[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++) {
            init(&full[i], 1);
            init(&empty[i], 7);
        }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int i = 0; i < 4; i++) {
                await(&empty[i & 1], ((i >> 1) & 1) ^ 1);
                expect(&full[i & 1], 1024);
                LOAD(s[i & 1], in + 256 * i, 1024, &full[i & 1]);
            }
    } else {
        float sum = 0;
        for (int i = 0; i < 4; i++) {
            await(&full[i & 1], i >> 1);
            sum += s[i & 1][threadIdx.x];
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                arrive(&empty[i & 1]);
        }
        out[WHERE] = sum;
    }
}
KERNEL store_ring(const float *in, float *out) /* two buffers, a group each, one may stay open */
{
    __shared__ __align__(128) float s[2][256];
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0)
            WAIT_READ(1);
        __syncthreads();
        s[i & 1][threadIdx.x] = in[256 * i + threadIdx.x];
        fence_proxy();
        __syncthreads();
        if (threadIdx.x == 0) {
            if (blockIdx.x == 0)
                STORE(out + 256 * i, s[i & 1], 1024);
            COMMIT();
        }
    }
    if (threadIdx.x == 0)
        WAIT_READ(0);
}
KERNEL store_fenced_by_one(const float *in, float *out) /* behind the barrier, by the thread that copies: on the way from each write to the read */
{
    __shared__ __align__(128) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_proxy();
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL loaded_and_stored(const float *in, float *out) /* the async proxy alone: no fence is wanted */
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    if (threadIdx.x)
        return;
    init(&full, 1);
    expect(&full, 1024);
    LOAD(s, in + 256 * blockIdx.x, 1024, &full);
    await(&full, 0);
    STORE(out + 256 * blockIdx.x, s, 1024);
    COMMIT();
    WAIT_READ(0);
}
KERNEL waited_by_one(const float *in, float *out) /* one thread waits, a barrier tells the others */
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    if (threadIdx.x == 0) {
        init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&full, 1024);
        LOAD(s, in, 1024, &full);
        await(&full, 0);
    }
    __syncthreads();
    out[WHERE] = s[threadIdx.x];
}
KERNEL __cluster_dims__(4, 1, 1) cluster_sum(const float *in, float *out)
{
    __shared__ float s[256];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = in[WHERE];
    cluster.sync();
    float sum = 0;
    for (int r = 0; r < 4; r++)
        sum += *cluster.map_shared_rank(s + threadIdx.x, r);
    cluster.sync();
    s[threadIdx.x] = sum;
    __syncthreads();
    out[WHERE] = s[255 - threadIdx.x];
}
KERNEL __cluster_dims__(2, 1, 1) cluster_counted(const float *in, float *out) /* atomics of all blocks on one of them */
{
    __shared__ int bins[16];
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(bins + (int)in[threadIdx.x], 0), 1);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x < 16)
        out[blockIdx.x / 2 * 16 + threadIdx.x] = (float)bins[threadIdx.x];
}
KERNEL __cluster_dims__(2, 1, 1) cluster_handed_on(const float *in, float *out) /* an mbarrier of the other block says when it is there, and when it may go */
{
    __shared__ float s[256];
    __shared__ mbarrier ready, done;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned other = cluster.block_rank() ^ 1, there;
    if (threadIdx.x == 0) {
        init(&ready, 256);
        init(&done, 256);
    }
    cluster.sync();
    *cluster.map_shared_rank(s + threadIdx.x, other) = in[WHERE];
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at_shared(&ready)), "r"(other));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
    await(&ready, 0);
    out[WHERE] = s[threadIdx.x];
    cluster.sync();
}
KERNEL __cluster_dims__(2, 1, 1) cluster_multicast(const float *in, float *out)
{
    __shared__ __align__(128) float s[256];
    __shared__ mbarrier full;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        init(&full, 1);
        expect(&full, 1024);
    }
    cluster.sync();
    if (threadIdx.x == 0 && cluster.block_rank() == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at_shared(s)),
                     "l"(in), "r"(1024), "r"(at_shared(&full)), "h"((short)3)
                     : "memory");
    await(&full, 0);
    out[WHERE] = s[255 - threadIdx.x];
}
