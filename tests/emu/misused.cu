/* Sources of copies overwritten before they are read, mbarriers with counts beyond their range or invalidated in use, memory written
 * through one proxy and read through the other in another block, lanes that write one place twice, heap memory allocated again. One mistake
 * a kernel, and correct kernels that look like it. test_emu_races.c expects the lines. Compiled for sm_90a and sm_100 when a test needs it.
 * Blocks of 256 threads, 4 of them. */
#include <cuda_fp16.h>
#include <mma.h>
#define KERNEL extern "C" __global__ void
#define WHERE (blockIdx.x * 256 + threadIdx.x)
typedef unsigned long long mbarrier;
__device__ int flag;
__device__ __align__(16) float z[4][256] = {{1}};
__device__ __forceinline__ unsigned at_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define INIT(b, n) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at_shared(b)), "r"(n) : "memory")
#define INVAL(b) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at_shared(b)) : "memory")
#define ARRIVE(b) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(b)) : "memory")
#define ARRIVE_OFTEN(b, n) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0], %1; }" ::"r"(at_shared(b)), "r"(n) : "memory")
#define LEAVE(b) asm volatile("{ .reg .b64 t; mbarrier.arrive_drop.shared.b64 t, [%0]; }" ::"r"(at_shared(b)) : "memory")
#define EXPECT(b, bytes) asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(at_shared(b)), "r"(bytes) : "memory")
__device__ __forceinline__ void await(mbarrier *b, int parity)
{
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(at_shared(b)), "r"(parity) : "memory");
}
#define LOAD(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_shared(to)), "l"(from), "r"(bytes), "r"(at_shared(bar)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at_shared(from)), "r"(bytes) : "memory")
#define SENT() asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory")
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" ::"r"(at_shared(to)), "l"(from) : "memory")
#define COPIED() asm volatile("cp.async.wait_group 0;" ::: "memory")
#define FENCE_SHARED() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE_PROXY() asm volatile("fence.proxy.async;" ::: "memory")
#define RELEASE(p) asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(p) : "memory")
#define ACQUIRE(p, v) asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define THEN() asm volatile("" ::: "memory")

KERNEL source_overwritten(const float *in, float *out) /* by who sent the copy */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        EXPECT(&bar, 1024);
        LOAD(s, z[blockIdx.x], 1024, &bar);
        z[blockIdx.x][3] = 1; // told
    }
    __syncthreads();
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL source_overwritten_by_others(const float *in, float *out) /* behind a barrier, but not the one that says that it is over */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        EXPECT(&bar, 1024);
        LOAD(s, z[blockIdx.x], 1024, &bar);
    }
    __syncthreads();
    z[blockIdx.x][threadIdx.x] = in[threadIdx.x]; // told
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL copied_source_overwritten(const float *in, float *out)
{
    __shared__ float s[256];
    COPY(s + threadIdx.x, &z[blockIdx.x][threadIdx.x]);
    z[blockIdx.x][threadIdx.x] = 7; // told
    COPIED();
    out[WHERE] = s[threadIdx.x];
}
KERNEL arrives_too_often(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0) {
        INIT(&bar, 3);
        ARRIVE_OFTEN(&bar, 5); // told
    }
    out[WHERE] = in[threadIdx.x];
}
KERNEL arrives_while_bytes_lack(const float *in, float *out) /* a third arrival in a phase of two */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (threadIdx.x == 0) {
        INIT(&bar, 2);
        EXPECT(&bar, 1024);
        ARRIVE(&bar);
        ARRIVE(&bar); // told
        LOAD(s, in, 1024, &bar);
    }
    __syncthreads();
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL expects_too_much(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0) {
        INIT(&bar, 2);
        EXPECT(&bar, 1 << 20); // told
    }
    out[WHERE] = in[threadIdx.x];
}
KERNEL waits_for_none(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, (int)in[0] - 1); // told
    out[WHERE] = in[threadIdx.x];
}
KERNEL given_up_in_use(const float *in, float *out) /* others may not have seen yet that the phase is over */
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 256);
    __syncthreads();
    ARRIVE(&bar);
    await(&bar, 0);
    if (threadIdx.x == 255)
        INVAL(&bar); // told
    out[WHERE] = in[threadIdx.x];
}
KERNEL loaded_from_another(const float *in, float *out) /* the flag orders what both do, but not the two proxies */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (blockIdx.x == 0) {
        z[0][threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            RELEASE(&flag);
        return;
    }
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        for (int v = 0; !v;)
            ACQUIRE(&flag, v);
        EXPECT(&bar, 1024);
        LOAD(s, z[0], 1024, &bar); // told
    }
    __syncthreads();
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL lanes_write_twice(const float *in, float *out) /* which of the two comes last? Nobody reads it here */
{
    out[WHERE] = in[threadIdx.x];
    THEN();
    out[WHERE ^ 1] = in[threadIdx.x] + 1; // told
}
KERNEL written_and_sent(const float *in, float *out) /* by other lanes than the one that sends */
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    FENCE_SHARED();
    __syncthreads();
    if (threadIdx.x < 32) {
        out[WHERE] = 1;
        if (threadIdx.x == 0) {
            STORE(out + 256 * blockIdx.x, s, 1024); // told
            SENT();
        }
    }
}
KERNEL heap_given_again(const float *in, float *out) /* the second block may be where the first one was */
{
    if (threadIdx.x || blockIdx.x)
        return;
    float *p = (float *)malloc(64);
    p[0] = in[0];
    free(p);
    float *q = (float *)malloc(64);
    q[0] = in[1];
    out[0] = *(volatile float *)p + q[0]; // told
    free(q);
}
/* ---- clean ---- */
KERNEL source_given_back(const float *in, float *out) /* who waited for the copy may write where it was read from */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (threadIdx.x == 0)
        INIT(&bar, 1);
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x == 0) {
            FENCE_PROXY();
            EXPECT(&bar, 1024);
            LOAD(s, z[blockIdx.x], 1024, &bar);
        }
        await(&bar, k & 1);
        z[blockIdx.x][threadIdx.x] = s[threadIdx.x] + 1;
        FENCE_PROXY();
        __syncthreads();
    }
    out[WHERE] = s[threadIdx.x];
}
KERNEL source_given_back_by_one(const float *in, float *out) /* one waits, and a barrier tells the others */
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (threadIdx.x == 64) {
        INIT(&bar, 1);
        EXPECT(&bar, 1024);
        LOAD(s, z[blockIdx.x], 1024, &bar);
        await(&bar, 0);
    }
    __syncthreads();
    z[blockIdx.x][threadIdx.x] = in[threadIdx.x];
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL copied_source_given_back(const float *in, float *out)
{
    __shared__ float s[256];
    for (int k = 0; k < 3; k++) {
        COPY(s + threadIdx.x, &z[blockIdx.x][threadIdx.x]);
        COPIED();
        z[blockIdx.x][threadIdx.x] = s[threadIdx.x] + 1;
    }
    out[WHERE] = s[threadIdx.x];
}
KERNEL some_leave(const float *in, float *out) /* half of the threads arrive for the last time */
{
    __shared__ mbarrier bar;
    __shared__ float s[256];
    if (threadIdx.x == 0)
        INIT(&bar, 256);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x >= 128) {
        LEAVE(&bar);
        return;
    }
    ARRIVE(&bar);
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x + 128];
    ARRIVE(&bar);
    await(&bar, 1);
}
KERNEL given_up_behind_a_barrier(const float *in, float *out)
{
    __shared__ mbarrier bar;
    if (threadIdx.x == 0)
        INIT(&bar, 256);
    __syncthreads();
    ARRIVE(&bar);
    await(&bar, 0);
    __syncthreads();
    if (threadIdx.x == 255)
        INVAL(&bar);
    out[WHERE] = in[threadIdx.x];
}
KERNEL fenced_by_the_reader(const float *in, float *out)
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (blockIdx.x == 0) {
        z[0][threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            RELEASE(&flag);
        return;
    }
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        for (int v = 0; !v;)
            ACQUIRE(&flag, v);
        FENCE_PROXY();
        EXPECT(&bar, 1024);
        LOAD(s, z[0], 1024, &bar);
    }
    __syncthreads();
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL fenced_by_the_writer(const float *in, float *out)
{
    __shared__ mbarrier bar;
    __shared__ __align__(16) float s[256];
    if (blockIdx.x == 0) {
        z[0][threadIdx.x] = in[threadIdx.x];
        FENCE_PROXY();
        __syncthreads();
        if (threadIdx.x == 0)
            RELEASE(&flag);
        return;
    }
    if (threadIdx.x == 0) {
        INIT(&bar, 1);
        for (int v = 0; !v;)
            ACQUIRE(&flag, v);
        EXPECT(&bar, 1024);
        LOAD(s, z[0], 1024, &bar);
    }
    __syncthreads();
    await(&bar, 0);
    out[WHERE] = s[threadIdx.x];
}
KERNEL lanes_write_in_turns(const float *in, float *out)
{
    out[WHERE] = in[threadIdx.x];
    THEN();
    out[WHERE] = in[threadIdx.x] + 1; /* each its own */
    __syncwarp();
    out[WHERE ^ 1] = in[threadIdx.x] + 2;
}
KERNEL written_then_sent(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    out[WHERE] = 1;
    FENCE_PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out + 256 * blockIdx.x, s, 1024);
        SENT();
    }
}
KERNEL heap_in_turns(const float *in, float *out) /* more than the heap holds, but never at once */
{
    if (threadIdx.x || blockIdx.x)
        return;
    float sum = 0;
    for (int k = 0; k < 40; k++) {
        float *p = (float *)malloc(1 << 18);
        p[k] = in[k];
        sum += p[k];
        free(p);
    }
    out[0] = sum;
}
KERNEL product_by_columns(const float *in, float *out) /* neighbours in memory are of two lanes */
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) __half s[8][256], t[8][256];
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, row_major> b;
    fragment<accumulator, 16, 16, 16, __half> c;
    int warp = threadIdx.x / 32;
    for (int i = threadIdx.x % 32; i < 256; i += 32)
        s[warp][i] = __float2half(in[i]);
    __syncwarp();
    load_matrix_sync(a, s[warp], 16);
    load_matrix_sync(b, s[warp], 16);
    fill_fragment(c, __float2half(0));
    mma_sync(c, a, b, c);
    store_matrix_sync(t[warp], c, 16, mem_col_major);
    if (warp == 0)
        store_matrix_sync((__half *)out + 256 * blockIdx.x, c, 16, mem_col_major);
    __syncwarp();
    out[1024 + 256 * blockIdx.x + threadIdx.x] = __half2float(t[warp][threadIdx.x % 32]);
}
KERNEL product_by_rows(const float *in, float *out)
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) __half s[256];
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    s[threadIdx.x] = __float2half(in[threadIdx.x]);
    __syncthreads();
    load_matrix_sync(a, s, 16);
    load_matrix_sync(b, s, 16);
    fill_fragment(c, 0);
    mma_sync(c, a, b, c);
    if (threadIdx.x < 32)
        store_matrix_sync(out + 256 * blockIdx.x, c, 16, mem_row_major);
}
#define STORE_MATRIX(to, a, b, c, d) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at_shared(to)), "r"(a), "r"(b), "r"(c), "r"(d) : "memory")
KERNEL matrices_stored_twice(const float *in, float *out) /* by other lanes, and other values */
{
    __shared__ __align__(16) uint4 s[256];
    unsigned v = threadIdx.x;
    STORE_MATRIX(s + v, v, v + 1, v + 2, v + 3);
    STORE_MATRIX(s + (v ^ 16), v + 2, v + 4, v, v + 1); // told
    __syncwarp();
    out[WHERE] = s[v ^ 5].x;
}
KERNEL matrices_stored_alike(const float *in, float *out) /* the same values: a note */
{
    __shared__ __align__(16) uint4 s[256];
    unsigned v = threadIdx.x;
    STORE_MATRIX(s + v, v, v + 1, v + 2, v + 3);
    STORE_MATRIX(s + (v ^ 16), v + 2, v + 3, v, v + 1);
    __syncwarp();
    out[WHERE] = s[v ^ 5].x;
}
