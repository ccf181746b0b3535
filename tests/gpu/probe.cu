// Small kernels of tests/gpu/probe.c: one for every hook of device/cuda.
#include <cuda_fp16.h>
typedef unsigned int u32;
typedef unsigned long long u64;
__constant__ float factors[8];
struct alignas(64) Map {
    u64 word[16];
};

extern "C" __global__ void empty()
{
}
// Every kind of parameter, with gaps between them.
extern "C" __global__ void arguments(double *out, char a, double b, short c, float d, u64 e, int f)
{
    out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = (double)e, out[5] = f;
}
extern "C" __global__ void scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * factors[i & 7];
}
// Dependent loads past L1: their latency says where the data is.
extern "C" __global__ void chase(const u32 *next, u32 *end, int steps)
{
    u32 at = 0;
    for (int i = 0; i < steps; i++)
        at = __ldcg(next + at);
    *end = at;
}
// Dynamic shared memory: the whole of it is written and read.
extern "C" __global__ void shared_sum(u64 *out, int words)
{
    extern __shared__ u32 s[];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        s[i] = i;
    __syncthreads();
    u64 sum = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        sum += s[words - 1 - i];
    atomicAdd(out, sum);
}
// Cluster rank and size as the hardware says.
extern "C" __global__ void cluster_rank(u32 *out)
{
    u32 rank, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (threadIdx.x == 0)
        out[blockIdx.x] = size << 16 | rank;
}
// A grid-wide barrier of our own: every block waits for all others, so it ends only if all are on the GPU at once.
extern "C" __global__ void cooperative(u32 *count, u32 *out)
{
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        while (*(volatile u32 *)count < gridDim.x)
            ;
        out[blockIdx.x] = *(volatile u32 *)count;
    }
}
// Programmatic dependent launch: waits for the kernel before, then adds to what it wrote.
extern "C" __global__ void slow_add(u64 *value, u64 amount, int cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *value += amount;
}
extern "C" __global__ void pdl_double(u64 *value)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x == 0 && blockIdx.x == 0)
        *value *= 2;
}
// One box of a 2-D tensor by TMA; what lies outside of the tensor is filled by the map.
extern "C" __global__ void tma_box(const __grid_constant__ Map map, float *out, int x, int y)
{
    __shared__ alignas(128) float box[8][16];
    __shared__ u64 barrier;
    u32 bar = (u32)__cvta_generic_to_shared(&barrier), to = (u32)__cvta_generic_to_shared(box);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(8 * 16 * 4));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                     "l"(&map), "r"(x), "r"(y), "r"(bar)
                     : "memory");
        u32 done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                         : "=r"(done)
                         : "r"(bar)
                         : "memory");
        for (int i = 0; i < 128; i++)
            out[i] = box[i / 16][i % 16];
    }
}
// The adversaries.
extern "C" __global__ void spin(volatile u32 *never)
{
    while (*never == 0)
        ;
}
extern "C" __global__ void trap()
{
    asm volatile("trap;");
}
extern "C" __global__ void wild(u32 *p)
{
    p[1ull << 40] = 1;
}
extern "C" __global__ void crooked(char *p)
{
    *(volatile u32 *)(p + 1) = 1;
}
