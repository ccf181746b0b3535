struct alignas(64) map { char bytes[128]; };
__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void store(const __grid_constant__ map to)
{
    __shared__ __align__(128) float s[64];
    __shared__ unsigned long long bar;
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(at(&bar)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {0}], [%1];\ncp.async.bulk.commit_group;" ::"l"(&to), "r"(at(s)) : "memory");
    if (threadIdx.x % 32 == 0) /* warp 0 waits for warp 1, with its copy on the way */
        asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at(&bar)) : "memory");
    unsigned over = 0;
    while (!over)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(at(&bar)) : "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
