/* More planted bugs, and correct kernels that look like them; test_emu_planted.c expects the lines. Compiled for sm_90a and sm_100 when a
 * test needs it. */
#include <assert.h>
#define KERNEL extern "C" __global__ void

KERNEL warps_at_barriers(const float *in, float *out, int n)
{
    if (threadIdx.x < 32)
        __syncthreads(); // 9, told at 11
    else
        asm volatile("bar.sync 0;"); // another place, the same barrier
    out[threadIdx.x] = in[threadIdx.x];
}
KERNEL never_arrives(const float *in, float *out, int n)
{
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 256;"); // 17
    out[threadIdx.x] = in[threadIdx.x];
}
KERNEL traps(const float *in, float *out, int n)
{
    if (in[threadIdx.x] == 6)
        __trap(); // 23
    out[threadIdx.x] = 1;
}
KERNEL asserts(const float *in, float *out, int n)
{
    assert(in[threadIdx.x] < 6); // 28
    out[threadIdx.x] = 1;
}
KERNEL local_past_end(const float *in, float *out, int n)
{
    float v[4] = {1, 2, 3, 4};
    out[threadIdx.x] = v[(int)in[threadIdx.x] * n]; // 34
}
KERNEL shared_misaligned(const float *in, float *out, int n)
{
    __shared__ __align__(16) char s[1024];
    ((float *)s)[threadIdx.x & 127] = in[0];
    __syncthreads();
    out[threadIdx.x] = *(const float *)(s + (threadIdx.x & 63) * 4 + n); // 41
}
KERNEL atomic_past_end(const float *in, float *out, int n)
{
    atomicAdd(&out[threadIdx.x + n], in[threadIdx.x]); // 45
}
KERNEL half_written(const float *in, float *out, int n)
{
    __shared__ short s[256];
    s[threadIdx.x & 127] = (short)(in[threadIdx.x & 127] + threadIdx.x); // 50
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 127];
}
KERNEL missing_second_barrier(const float *in, float *out, int n)
{
    __shared__ float s[256];
    for (int i = 0; i < 3; i++) {
        s[threadIdx.x] = in[threadIdx.x] + i; // 58
        __syncthreads();
        out[threadIdx.x] = s[255 - threadIdx.x];
    }
}
KERNEL copy_over_readers(const float *in, float *out, int n)
{
    __shared__ __align__(16) float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[255 - threadIdx.x];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x)); // 70
    asm volatile("cp.async.wait_all;");
}
KERNEL unlocked(const float *in, float *out, int n)
{
    __shared__ int held, sum;
    if (threadIdx.x == 0)
        held = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&held, 0, 1) != 0)
            ;
        atomicExch(&held, 0);
        sum += 1; // 83: after the lock was given back
    }
    __syncthreads();
    out[threadIdx.x] = (float)sum;
}
KERNEL barrier_passed_over(const float *in, float *out, int n)
{
    __shared__ float s[256];
    __shared__ __align__(8) unsigned long long b;
    unsigned at = (unsigned)__cvta_generic_to_shared(&b), done = 0;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at));
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at));
    if (n)
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at));
    out[threadIdx.x] = s[255 - threadIdx.x]; // 101: nobody waited when n is 0
}
KERNEL wrong_mask(const float *in, float *out, int n)
{
    if (threadIdx.x % 2)
        out[threadIdx.x] = __shfl_sync(0x55555555, in[threadIdx.x], 3); // 106
}
KERNEL too_much_const(const float *in, float *out, int n)
{
    out[-1 - (int)threadIdx.x] = in[threadIdx.x]; // 110
}
/* ---- clean ---- */
KERNEL locked(const float *in, float *out, int n)
{
    __shared__ int held, sum;
    if (threadIdx.x == 0)
        held = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&held, 0, 1) != 0)
            ;
        __threadfence_block();
        *(volatile int *)&sum += 1;
        __threadfence_block();
        atomicExch(&held, 0);
    }
    __syncthreads();
    out[threadIdx.x] = (float)sum;
}
KERNEL one_warp(const float *in, float *out, int n) /* no barrier is needed inside a warp but __syncwarp */
{
    __shared__ float s[256];
    int warp = threadIdx.x / 32 * 32;
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[warp + 31 - threadIdx.x % 32];
}
KERNEL bytes_apart(const float *in, float *out, int n) /* neighbours write bytes of one word */
{
    __shared__ unsigned char s[256];
    s[(threadIdx.x & 7) * 32 + threadIdx.x / 8] = (unsigned char)in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
KERNEL named_halves(const float *in, float *out, int n) /* two groups with a barrier each */
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x < 128)
        asm volatile("bar.sync 1, 128;");
    else
        asm volatile("bar.sync 2, 128;");
    out[threadIdx.x] = s[threadIdx.x ^ 127];
}
KERNEL produced(const float *in, float *out, int n) /* half of the warps fill, half read: arrive and sync */
{
    __shared__ float s[128];
    for (int i = 0; i < 3; i++)
        if (threadIdx.x < 128) {
            asm volatile("bar.sync 1, 256;");
            s[threadIdx.x] = in[threadIdx.x] + i;
            __threadfence_block();
            asm volatile("bar.arrive 2, 256;");
        } else {
            asm volatile("bar.arrive 1, 256;");
            asm volatile("bar.sync 2, 256;");
            out[threadIdx.x] = s[255 - threadIdx.x];
        }
    if (threadIdx.x < 128)
        out[threadIdx.x] = 0;
}
KERNEL ring(const float *in, float *out, int n) /* three stages of cp.async, one barrier a turn */
{
    __shared__ __align__(16) float s[3][256];
    for (int i = 0; i < 2; i++) {
        unsigned to = (unsigned)__cvta_generic_to_shared(&s[i][threadIdx.x]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;" ::"r"(to), "l"(in + threadIdx.x));
    }
    float sum = 0;
    for (int i = 0; i < 6; i++) {
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        unsigned to = (unsigned)__cvta_generic_to_shared(&s[(i + 2) % 3][threadIdx.x]);
        if (i < 4)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x));
        asm volatile("cp.async.commit_group;");
        sum += s[i % 3][255 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
KERNEL given_back(const float *in, float *out, int n) /* clean when n is 0 */
{
    float *p = (float *)malloc(16);
    p[threadIdx.x & 3] = in[threadIdx.x];
    out[threadIdx.x] = p[threadIdx.x & 3] + in[0];
    free(p);
    if (n)
        free(p); // 198
}
