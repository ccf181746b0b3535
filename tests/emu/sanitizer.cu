/* What compute-sanitizer, Oclgrind and others find beside races in global memory (races.cu):
 * one a kernel, and correct kernels that look like it. test_emu_races.c expects the lines.
 * Compiled for sm_90a and sm_100 when a test needs it. Blocks of 256 threads, 4 of them. */
#define KERNEL extern "C" __global__ void
__device__ unsigned at_shared(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

KERNEL used_after_free(const float *in, float *out)
{
    float *p = (float *)malloc(64);
    p[0] = in[threadIdx.x];
    float v = p[0];
    free(p);
    out[blockIdx.x * 256 + threadIdx.x] = v + *(volatile float *)p; // 16
}
KERNEL leaked(const float *in, float *out)
{
    float *p = (float *)malloc(24); // 20
    p[0] = in[threadIdx.x];
    out[blockIdx.x * 256 + threadIdx.x] = p[0];
}
KERNEL past_a_heap_block(const float *in, float *out)
{
    float *p = (float *)malloc(20);
    p[5] = in[threadIdx.x]; // 27: the sixth float of five
    out[blockIdx.x * 256 + threadIdx.x] = p[5];
    free(p);
}
KERNEL mbarrier_of_nobody(const float *in, float *out)
{
    __shared__ __align__(8) unsigned long long bar;
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(&bar))); // 34
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL mbarrier_twice(const float *in, float *out)
{
    __shared__ __align__(8) unsigned long long bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at_shared(&bar)));
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at_shared(&bar))); // 42
    }
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL mbarrier_unannounced(const float *in, float *out)
{
    __shared__ __align__(8) unsigned long long bar;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at_shared(&bar)));
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(&bar))); // 52
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL read_only_written(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i];
    out[1024 + i] = __ldg(out + i); // 59
}
KERNEL next_shared_array(const float *in, float *out)
{
    __shared__ float a[256], b[256];
    a[threadIdx.x] = in[threadIdx.x];
    b[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = a[threadIdx.x + (int)in[0]] + b[threadIdx.x]; // 67: in[0] is 1
}
KERNEL other_buffer(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i + 17408]; // 72: 4 KiB and the gap behind it: there lies out
}
KERNEL no_syncwarp(const float *in, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 1]; // 78
}
KERNEL warp_sum_no_syncwarp(const float *in, float *out)
{
    __shared__ float s[256];
    float *w = s + threadIdx.x / 32 * 32;
    int lane = threadIdx.x % 32;
    w[lane] = in[threadIdx.x];
    __syncwarp();
    for (int k = 16; k; k /= 2)
        if (lane < k)
            w[lane] += w[lane + k]; // 89
    __syncwarp();
    out[blockIdx.x * 256 + threadIdx.x] = w[0];
}
KERNEL lanes_write_shared(const float *in, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x / 2] = in[threadIdx.x]; // 96
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x / 2];
}
KERNEL copied_no_syncwarp(const float *in, float *out)
{
    __shared__ __align__(16) float s[256];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at_shared(s + threadIdx.x)), "l"(in + threadIdx.x));
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 1]; // 105
}
/* ---- honest ---- */
KERNEL heap_used_well(const float *in, float *out)
{
    float *p = (float *)malloc(64);
    p[threadIdx.x & 15] = in[threadIdx.x];
    out[blockIdx.x * 256 + threadIdx.x] = p[threadIdx.x & 15];
    free(p);
}
KERNEL mbarrier_announced(const float *in, float *out)
{
    __shared__ __align__(8) unsigned long long bar;
    unsigned done = 0;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at_shared(&bar)));
    __syncthreads();
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at_shared(&bar)));
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at_shared(&bar)));
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at_shared(&bar)));
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_shared(&bar)));
    }
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
}
KERNEL warp_sum(const float *in, float *out)
{
    __shared__ float s[256];
    float *w = s + threadIdx.x / 32 * 32;
    int lane = threadIdx.x % 32;
    w[lane] = in[threadIdx.x];
    __syncwarp();
    for (int k = 16; k; k /= 2) {
        float other = lane < k ? w[lane + k] : 0;
        __syncwarp();
        w[lane] += other;
        __syncwarp();
    }
    out[blockIdx.x * 256 + threadIdx.x] = w[0];
}
KERNEL flag_of_all(const float *in, float *out) /* all write the same */
{
    __shared__ int any;
    if (threadIdx.x == 0)
        any = 0;
    __syncthreads();
    if (in[threadIdx.x] > 3)
        any = 1;
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = (float)any;
}
KERNEL either_array(const float *in, float *out) /* one pointer, two arrays */
{
    __shared__ float a[256], b[256];
    a[threadIdx.x] = in[threadIdx.x];
    b[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float *p = threadIdx.x & 1 ? a : b;
    out[blockIdx.x * 256 + threadIdx.x] = p[threadIdx.x];
}
KERNEL reduced(const float *in, float *out) /* sound when out was written */
{
    __shared__ __align__(16) unsigned s[4];
    if (threadIdx.x)
        return;
    for (int i = 0; i < 4; i++)
        s[i] = (unsigned)in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 16;" ::"l"(out), "r"(at_shared(s)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}
KERNEL lane_overtaken(const float *in, float *out) /* what lane i reads, lane i ^ 1 writes */
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float v = s[threadIdx.x ^ 1];
    s[threadIdx.x] = 2 * v; // 184
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
KERNEL lane_changes_its_own(const float *in, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    for (int i = 0; i < 3; i++)
        s[threadIdx.x] += s[threadIdx.x];
    __syncwarp();
    float v = s[threadIdx.x ^ 1];
    __syncwarp();
    s[threadIdx.x] = v;
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
/* ---- sums of a warp, of which lanes have other roundings; and other values ---- */
KERNEL sums_round(const float *in, float *out)
{
    __shared__ float s[8];
    int lane = threadIdx.x % 32;
    float sum = __int_as_float(__float_as_int(in[threadIdx.x / 64]) + lane % 2);
    s[threadIdx.x / 64] = sum; // 207
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[lane % 4];
}
KERNEL sums_cancel(const float *in, float *out)
{
    __shared__ float s[64];
    int lane = threadIdx.x % 32;
    s[threadIdx.x / 32 * 8 + lane / 4] = lane / 4 ? 3.0f : 0.001f + lane % 2 * 1e-6f; // 215
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x % 8 + 1] + in[0];
}
KERNEL sums_cancel_too_much(const float *in, float *out)
{
    __shared__ float s[64];
    int lane = threadIdx.x % 32;
    s[threadIdx.x / 32 * 8 + lane / 4] = lane / 4 ? 3.0f : 0.001f + lane % 2 * 1e-4f; // 223
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x % 8 + 1] + in[0];
}
KERNEL counts_differ(const float *in, float *out)
{
    __shared__ int s[8];
    s[threadIdx.x / 32] = 20000000 + (int)threadIdx.x; // 230
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = (float)s[threadIdx.x % 8] + in[0];
}
