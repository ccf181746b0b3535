/* mbarriers and bulk copies once more (async.cu): memory that is overwritten, never written, or still read when its block ends; correct
 * kernels beside. test_emu_races.c expects the lines. Compiled for sm_90a and sm_100 when a test needs it. Blocks of 256 threads, 4 of
 * them. */
#define KERNEL extern "C" __global__ void
#define WHERE (blockIdx.x * 256 + threadIdx.x)
typedef unsigned long long mbarrier;
__device__ __forceinline__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ unsigned in_block(const void *p, unsigned rank)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at_shared(p)), "r"(rank));
    return there;
}
__device__ __forceinline__ void init(mbarrier *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_shared(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void inval(mbarrier *b) { asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at_shared(b)) : "memory"); }
__device__ __forceinline__ void arrive(mbarrier *b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at_shared(b)) : "memory"); }
__device__ __forceinline__ void arrive_far(unsigned b) { asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b) : "memory"); }
__device__ __forceinline__ void await(mbarrier *b, int parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(at_shared(b)), "r"(parity) : "memory");
}
#define FENCE_PROXY() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(n) : "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.aligned;" ::: "memory")

KERNEL mbarrier_overwritten(const float *in, float *out)
{
    __shared__ mbarrier bar[2];
    if (threadIdx.x == 0)
        init(bar, 256);
    __syncthreads();
    if (threadIdx.x == 0)
        bar[0] = (mbarrier)in[0];
    __syncthreads();
    arrive(bar); // told in arrive(), 16
    out[WHERE] = 1;
}
KERNEL __cluster_dims__(2, 1, 1) mbarrier_of_another_block(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        arrive_far(in_block(&bar, blockIdx.x & 1 ^ 1)); // told in arrive_far(), 17
    out[WHERE] = 1;
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
KERNEL store_of_nothing(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    if (threadIdx.x < 128)
        s[threadIdx.x] = in[threadIdx.x];
    FENCE_PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024); // 63
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL store_at_the_end(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    FENCE_PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024); // 75: its block may be gone before it has read
        COMMIT();
    }
}
KERNEL __cluster_dims__(2, 1, 1) cluster_arrives_twice(const float *in, float *out)
{
    CLUSTER_ARRIVE();
    CLUSTER_ARRIVE(); // 82
    CLUSTER_WAIT();
    out[WHERE] = in[threadIdx.x];
}
/* ---- honest ---- */
KERNEL mbarrier_given_up(const float *in, float *out) /* its words are data behind inval, and an mbarrier again */
{
    __shared__ mbarrier bar;
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0)
            init(&bar, 256);
        __syncthreads();
        arrive(&bar);
        await(&bar, 0);
        __syncthreads();
        if (threadIdx.x == 0) {
            inval(&bar);
            bar = 12345;
        }
        __syncthreads();
        out[WHERE] = (float)bar;
        __syncthreads();
    }
}
KERNEL __cluster_dims__(2, 1, 1) mbarrier_of_another_announced(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        init(&bar, 1);
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    if (threadIdx.x == 0)
        arrive_far(in_block(&bar, blockIdx.x & 1 ^ 1));
    await(&bar, 0);
    out[WHERE] = 1;
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
}
KERNEL store_of_gaps(const float *in, float *out) /* three of four floats: what lies between goes along */
{
    __shared__ __align__(16) float s[256];
    if (threadIdx.x % 4 != 3)
        s[threadIdx.x] = in[threadIdx.x];
    FENCE_PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + blockIdx.x * 256, s, 1024);
        COMMIT();
        WAIT_READ(0);
    }
}
KERNEL __cluster_dims__(2, 1, 1) cluster_arrives_early(const float *in, float *out) /* work of one's own between arriving and waiting */
{
    __shared__ float s[256];
    for (int i = 0; i < 3; i++) {
        float sum;
        s[threadIdx.x] = in[threadIdx.x] + i;
        CLUSTER_ARRIVE();
        sum = in[threadIdx.x ^ 1];
        CLUSTER_WAIT();
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(sum) : "r"(in_block(s + 255 - threadIdx.x, blockIdx.x & 1 ^ 1)) : "memory");
        CLUSTER_ARRIVE();
        out[WHERE] = sum;
        CLUSTER_WAIT();
    }
}
