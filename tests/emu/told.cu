/* Which lane learns of what, and when: phases and lanes of mbarriers, the ends of bulk copies, arrivals without a release, lanes that only
 * exchange values. One mistake a kernel, and correct kernels that look like it. test_emu_races.c expects the lines. Compiled for sm_90a and
 * sm_100 when a test needs it. Blocks of 256 threads, 4 of them. */
#define KERNEL extern "C" __global__ void
#define PAIR extern "C" __global__ void __cluster_dims__(2, 1, 1)
#define WHERE (blockIdx.x * 256 + threadIdx.x)
#define LANE (threadIdx.x % 32)
typedef unsigned long long mbarrier;
__device__ int flag;
__device__ __forceinline__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define IN_OTHER(p) in_block(p, blockIdx.x & 1 ^ 1)
__device__ __forceinline__ unsigned in_block(const void *p, unsigned rank)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at_shared(p)), "r"(rank));
    return there;
}
#define INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_shared(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(b)) : "memory")
#define EXPECT(b, bytes) asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(at_shared(b)), "r"(bytes) : "memory")
__device__ __forceinline__ void await(mbarrier *b, int parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(at_shared(b)), "r"(parity) : "memory");
}
#define LOAD(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_shared(to)), "l"(from), "r"(bytes), "r"(at_shared(bar)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define SEND(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "r"(at_shared(from)), "r"(bytes), "r"(bar) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define WAIT(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")
#define FENCE_SHARED() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE_PROXY() asm volatile("fence.proxy.async;" ::: "memory")
#define RELEASE(p) asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(p) : "memory")
#define ACQUIRE(p, v) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")
#define READ_CLUSTER(v, at) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory")
#define WRITE_CLUSTER(at, v) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory")

KERNEL reader_overtaken(const float *in, float *out) /* who is through the phase may come around while another still reads */
{
    __shared__ mbarrier bar;
    __shared__ float s[256];
    if (threadIdx.x == 0)
        INIT(&bar, 256);
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[threadIdx.x] = in[threadIdx.x] + k; // told
        ARRIVE(&bar);
        await(&bar, k & 1);
        out[WHERE] = s[255 - threadIdx.x];
    }
}
KERNEL ring_overtaken(const float *in, float *out) /* the producer waits for its own copies, not for who reads them */
{
    __shared__ __align__(16) float s[2][32];
    __shared__ mbarrier full[2];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++)
            INIT(full + i, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        for (int k = 0; k < 6; k++) {
            if (k >= 2)
                await(full + (k & 1), k / 2 - 1 & 1);
            EXPECT(full + (k & 1), 128);
            LOAD(s[k & 1], in + 32 * k, 128, full + (k & 1));
        }
    else if (threadIdx.x >= 32 && threadIdx.x < 64)
        for (int k = 0; k < 2; k++) {
            await(full + k, 0);
            out[WHERE] = s[k][LANE]; // told
        }
}
KERNEL bytes_too_few(const float *in, float *out)
{
    __shared__ __align__(16) float s[64];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT(&bar, 128);
        LOAD(s, in, 128, &bar);
        LOAD(s + 32, in + 32, 128, &bar); // told
    }
    await(&bar, 0);
    out[WHERE] = s[LANE];
}
KERNEL load_at_the_end(const float *in, float *out)
{
    __shared__ __align__(16) float s[64];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        EXPECT(&bar, 128);
        LOAD(s, in, 128, &bar); // told
    }
    out[WHERE] = in[threadIdx.x];
}
KERNEL store_read_back(const float *in, float *out) /* .read: its source is free, what it writes may not be there */
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    FENCE_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
        WAIT_READ(0);
        out[1024 + blockIdx.x] = out[blockIdx.x * 256 + 7]; // told
        WAIT(0);
    }
}
KERNEL store_published_early(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    FENCE_SHARED();
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        STORE(out, s, 1024);
        COMMIT();
        WAIT_READ(0);
        RELEASE(&flag);
        WAIT(0);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        int seen;
        do
            ACQUIRE(&flag, seen);
        while (!seen);
        out[256] = out[9]; // told
    }
}
KERNEL load_no_proxy_fence(const float *in, float *out) /* of what this kernel wrote to global memory */
{
    __shared__ __align__(16) float s[64];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    out[WHERE] = in[threadIdx.x];
    FENCE_SHARED();
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT(&bar, 256);
        LOAD(s, out + blockIdx.x * 256, 256, &bar); // told
    }
    await(&bar, 0);
    out[1024 + WHERE] = s[LANE];
}
PAIR cluster_relaxed(const float *in, float *out)
{
    __shared__ float s[256];
    float v;
    s[threadIdx.x] = in[threadIdx.x];
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    READ_CLUSTER(v, IN_OTHER(s + threadIdx.x)); // told
    out[WHERE] = v;
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
PAIR cluster_relaxed_global(const float *in, float *out)
{
    out[WHERE] = in[threadIdx.x];
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    out[1024 + WHERE] = out[WHERE ^ 256]; // told
}
PAIR cluster_not_begun(const float *in, float *out)
{
    __shared__ float s[256];
    WRITE_CLUSTER(IN_OTHER(s + threadIdx.x), in[threadIdx.x]); // told
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    out[WHERE] = s[threadIdx.x];
}
PAIR sent_and_overwritten(const float *in, float *out) /* to the other block: only that one is told when it has come */
{
    __shared__ __align__(16) float s[256], r[256];
    __shared__ mbarrier bar;
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        EXPECT(&bar, 1024);
    }
    FENCE_SHARED();
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (threadIdx.x == 0)
        SEND(IN_OTHER(r), s, 1024, IN_OTHER(&bar));
    __syncthreads();
    s[threadIdx.x] = 1; // told
    await(&bar, 0);
    out[WHERE] = r[threadIdx.x];
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
KERNEL arrived_for_others(const float *in, float *out) /* one lane arrives for a warp that has not met */
{
    __shared__ mbarrier bar;
    __shared__ float s[32];
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        s[LANE] = in[LANE];
        if (threadIdx.x == 0)
            ARRIVE(&bar);
    } else {
        await(&bar, 0);
        out[WHERE] = s[LANE]; // told
    }
}
KERNEL arrived_and_read(const float *in, float *out) /* all lanes have arrived, none has waited */
{
    __shared__ mbarrier bar;
    __shared__ float s[32];
    if (threadIdx.x < 32) {
        if (LANE == 0)
            INIT(&bar, 32);
        __syncwarp();
        s[LANE] = in[LANE];
        ARRIVE(&bar);
        out[WHERE] = s[31 - LANE]; // told
        await(&bar, 0);
    }
}
KERNEL store_no_syncwarp(const float *in, float *out)
{
    __shared__ __align__(16) float s[32];
    if (threadIdx.x < 32) {
        s[LANE] = in[LANE];
        FENCE_SHARED();
        if (LANE == 0) {
            STORE(out + blockIdx.x * 256, s, 128); // told
            COMMIT();
            WAIT_READ(0);
        }
    }
}
KERNEL store_fenced_for_others(const float *in, float *out) /* one lane fences for a warp that has not met */
{
    __shared__ __align__(16) float s[32];
    if (threadIdx.x < 32) {
        s[LANE] = in[LANE];
        if (LANE == 0)
            FENCE_SHARED();
        __syncwarp();
        if (LANE == 0) {
            STORE(out + blockIdx.x * 256, s, 128); // told
            COMMIT();
            WAIT_READ(0);
        }
    }
}
KERNEL shuffle_is_no_barrier(const float *in, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    float v = __shfl_xor_sync(~0u, in[threadIdx.x], 3);
    asm volatile("" ::: "memory");
    out[WHERE] = s[threadIdx.x ^ 1] + v; // told
}
KERNEL matrix_no_syncwarp(const float *in, float *out)
{
    __shared__ __align__(16) float s[8][128];
    unsigned r[4];
    for (int i = 0; i < 4; i++)
        s[threadIdx.x / 32][4 * LANE + i] = in[threadIdx.x];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at_shared(&s[threadIdx.x / 32][4 * LANE])) : "memory"); // told
    out[WHERE] = r[0] + r[1] + r[2] + r[3];
}
KERNEL halves_of_global(const float *in, float *out) /* each half has met, not with the other */
{
    out[WHERE] = in[threadIdx.x];
    if (LANE < 16)
        __syncwarp(0xffff);
    else
        __syncwarp(0xffff0000);
    out[1024 + WHERE] = out[WHERE ^ 16]; // told
}
KERNEL freed_by_another(const float *in, float *out)
{
    __shared__ float *p;
    if (threadIdx.x == 0)
        p = (float *)malloc(1024);
    __syncthreads();
    p[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[WHERE] = p[255 - threadIdx.x];
    if (threadIdx.x == 255)
        free(p); // told: others may not have read yet
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 900
KERNEL product_of_three_warps(const float *in, float *out)
{
    __shared__ __align__(128) unsigned s[2][512];
    float d[4] = {0, 0, 0, 0};
    for (int i = threadIdx.x; i < 512; i += 256)
        s[0][i] = s[1][i] = 0;
    FENCE_SHARED();
    __syncthreads();
    if (threadIdx.x < 96) {
        unsigned long long a = (at_shared(s[0]) & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32, b = (at_shared(s[1]) & 0x3ffff) >> 4 | 8ull << 16 | 16ull << 32;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory");
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory"); // told
    }
    out[WHERE] = d[0] + d[1] + d[2] + d[3];
}
#endif
/* ---- honest ---- */
KERNEL phases_in_turn(const float *in, float *out)
{
    __shared__ mbarrier full, empty;
    __shared__ float s[256];
    if (threadIdx.x == 0) {
        INIT(&full, 256);
        INIT(&empty, 256);
    }
    __syncthreads();
    for (int k = 0; k < 5; k++) {
        if (k)
            await(&empty, k - 1 & 1);
        s[threadIdx.x] = in[threadIdx.x] + k;
        ARRIVE(&full);
        await(&full, k & 1);
        out[WHERE] = s[255 - threadIdx.x];
        ARRIVE(&empty);
    }
}
KERNEL waits_for_the_last_alone(const float *in, float *out) /* a barrier tells the others of the phases before */
{
    __shared__ mbarrier bar;
    __shared__ float s[3][256];
    if (threadIdx.x == 0)
        INIT(&bar, 256);
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        s[k][threadIdx.x] = in[threadIdx.x] + k;
        ARRIVE(&bar);
        if (threadIdx.x < 32 || k == 2)
            await(&bar, k & 1);
        __syncthreads();
    }
    out[WHERE] = s[0][255 - threadIdx.x] + s[1][255 - threadIdx.x] + s[2][255 - threadIdx.x];
}
KERNEL store_waited_for(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    FENCE_SHARED();
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        STORE(out, s, 1024);
        COMMIT();
        WAIT(0);
        out[1024] = out[7];
        RELEASE(&flag);
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        int seen;
        do
            ACQUIRE(&flag, seen);
        while (!seen);
        out[256] = out[9];
    }
}
KERNEL load_behind_a_fence(const float *in, float *out)
{
    __shared__ __align__(16) float s[64];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    out[WHERE] = in[threadIdx.x];
    FENCE_PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        EXPECT(&bar, 256);
        LOAD(s, out + blockIdx.x * 256, 256, &bar);
    }
    await(&bar, 0);
    out[1024 + WHERE] = s[LANE];
}
PAIR cluster_relaxed_fenced(const float *in, float *out) /* a fence before it releases; the last arrival only keeps the block */
{
    __shared__ float s[256];
    float v;
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    READ_CLUSTER(v, IN_OTHER(s + threadIdx.x));
    out[WHERE] = v;
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
}
PAIR cluster_inits_announced(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    CLUSTER_ARRIVE_RELAXED();
    CLUSTER_WAIT();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(IN_OTHER(&bar)) : "memory");
    await(&bar, 0);
    out[WHERE] = in[threadIdx.x];
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
PAIR sent_and_answered(const float *in, float *out) /* the other block has waited, and says so */
{
    __shared__ __align__(16) float s[256], r[256];
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = in[threadIdx.x] + k;
        if (threadIdx.x == 0)
            EXPECT(&bar, 1024);
        FENCE_SHARED();
        CLUSTER_ARRIVE();
        CLUSTER_WAIT();
        if (threadIdx.x == 0)
            SEND(IN_OTHER(r), s, 1024, IN_OTHER(&bar));
        await(&bar, k & 1);
        out[WHERE] = r[threadIdx.x];
        CLUSTER_ARRIVE();
        CLUSTER_WAIT();
    }
}
KERNEL arrived_for_all(const float *in, float *out) /* one arrives alone for what it wrote, then for all that met */
{
    __shared__ mbarrier bar[2];
    __shared__ float s[33];
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++)
            INIT(bar + i, 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        s[LANE] = in[LANE];
        if (LANE == 5) {
            s[32] = 1;
            ARRIVE(bar);
        }
        __syncwarp();
        if (LANE == 0)
            ARRIVE(bar + 1);
    } else {
        await(bar, 0);
        float one = s[32];
        await(bar + 1, 0);
        out[WHERE] = s[LANE] + one;
    }
}
KERNEL store_of_one_warp(const float *in, float *out)
{
    __shared__ __align__(16) float s[32];
    if (threadIdx.x < 32) {
        s[LANE] = in[LANE];
        __syncwarp();
        if (LANE == 0) {
            FENCE_SHARED();
            STORE(out + blockIdx.x * 256, s, 128);
            COMMIT();
            WAIT_READ(0);
        }
    }
}
KERNEL matrix_of_a_warp(const float *in, float *out)
{
    __shared__ __align__(16) float s[8][128];
    unsigned r[4];
    for (int i = 0; i < 4; i++)
        s[threadIdx.x / 32][4 * LANE + i] = in[threadIdx.x];
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at_shared(&s[threadIdx.x / 32][4 * LANE])) : "memory");
    out[WHERE] = r[0] + r[1] + r[2] + r[3];
}
/* ---- reads that an arrival does not wait for ---- */
#define REFILLED(name, elected, before, use_early)                                                                                                  \
    KERNEL name(const float *in, float *out)                                                                                                        \
    {                                                                                                                                               \
        __shared__ __align__(16) float s[32];                                                                                                       \
        __shared__ mbarrier full, empty;                                                                                                            \
        if (threadIdx.x == 0) {                                                                                                                     \
            INIT(&full, 1);                                                                                                                         \
            INIT(&empty, elected ? 1 : 32);                                                                                                         \
        }                                                                                                                                           \
        __syncthreads();                                                                                                                            \
        if (threadIdx.x == 0)                                                                                                                       \
            for (int k = 0; k < 4; k++) {                                                                                                           \
                if (k > 0)                                                                                                                          \
                    await(&empty, k - 1 & 1);                                                                                                       \
                EXPECT(&full, 128);                                                                                                                 \
                LOAD(s, in + 32 * k, 128, &full);                                                                                                   \
            }                                                                                                                                       \
        else if (threadIdx.x / 32 == 1)                                                                                                             \
            for (int k = 0; k < 4; k++) {                                                                                                           \
                unsigned v, sum;                                                                                                                    \
                await(&full, k & 1);                                                                                                                \
                asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at_shared(s + LANE % 8 * 4)) : "memory");       \
                if (use_early)                                                                                                                      \
                    asm volatile("add.u32 %0, %1, 1;" : "=r"(sum) : "r"(v) : "memory");                                                             \
                before;                                                                                                                             \
                if (!elected || LANE == 0)                                                                                                          \
                    ARRIVE(&empty);                                                                                                                 \
                if (!use_early)                                                                                                                     \
                    asm volatile("add.u32 %0, %1, 1;" : "=r"(sum) : "r"(v) : "memory");                                                             \
                out[32 * k + LANE] = (float)sum;                                                                                                    \
            }                                                                                                                                       \
    }
REFILLED(refilled_unread, 0, (void)0, 0)
REFILLED(refilled_unread_by_one, 1, __syncwarp(), 0)
REFILLED(refilled_behind_a_fence, 0, FENCE_SHARED(), 0)
REFILLED(refilled_after_use, 1, __syncwarp(), 1)
