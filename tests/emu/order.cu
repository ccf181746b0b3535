/* What seems to order two accesses and does not, one a kernel, and correct kernels that look like it; test_emu_races.c expects the lines.
 * Compiled for sm_90a and sm_100 when a test needs it. Blocks of 256 threads, 4 of them. */
#define KERNEL extern "C" __global__ void
__device__ int flag;

KERNEL stored_then_added(const float *in, float *out)
{
    __shared__ int h[16];
    if (threadIdx.x < 16)
        h[threadIdx.x] = 0;
    atomicAdd(&h[(int)in[threadIdx.x] & 15], 1); // 11: of the first warp after its own stores
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = (float)h[threadIdx.x & 15];
}
KERNEL half_meets(const float *in, float *out)
{
    __shared__ float s[256];
    if (threadIdx.x % 32 < 16) {
        s[threadIdx.x] = in[threadIdx.x];
        __syncwarp(0xffff);
    } else {
        out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x - 16]; // 22
    }
}
KERNEL volatile_sum(const float *in, float *out) /* as it was written for machines whose lanes ran in step */
{
    __shared__ float s[256];
    volatile float *v = s + threadIdx.x / 32 * 32;
    v[threadIdx.x % 32] = in[threadIdx.x];
    __syncwarp();
    v[threadIdx.x % 32] += v[threadIdx.x % 32 ^ 1];
    v[threadIdx.x % 32] += v[threadIdx.x % 32 ^ 2]; // 32
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
KERNEL flag_in_shared(const float *in, float *out)
{
    __shared__ float value;
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = in[blockIdx.x];
        ready = 1;
    }
    if (threadIdx.x == 32) {
        while (!ready)
            ;
        out[blockIdx.x] = value; // 50
    }
}
KERNEL published_by_another(const float *in, float *out) /* thread 0 says so before thread 32 has written */
{
    if (blockIdx.x == 0) {
        if (threadIdx.x == 32)
            out[0] = in[5];
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(&flag) : "memory");
    } else if (threadIdx.x == 0) {
        int seen;
        do
            asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(&flag) : "memory");
        while (!seen);
        out[blockIdx.x] = out[0]; // 65
    }
}
KERNEL barrier_of_forty(const float *in, float *out)
{
    unsigned n = 40 + (unsigned)in[threadIdx.x & 0];
    asm volatile("bar.sync 1, %0;" ::"r"(n)); // 71
    out[threadIdx.x] = 1;
}
KERNEL barrier_seventeen(const float *in, float *out)
{
    unsigned id = 16 + (unsigned)in[threadIdx.x & 0];
    asm volatile("bar.sync %0;" ::"r"(id)); // 77
    out[threadIdx.x] = 1;
}
KERNEL barrier_of_two_counts(const float *in, float *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    else if (threadIdx.x < 128)
        asm volatile("bar.sync 1, 128;"); // 85
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
}
/* ---- honest ---- */
KERNEL halves_meet(const float *in, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 32 < 16) {
        __syncwarp(0xffff);
        out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 3];
    } else {
        __syncwarp(0xffff0000);
        out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x ^ 5];
    }
    __syncwarp();
    s[threadIdx.x] = 0;
}
KERNEL quarters_sum(const float *in, float *out) /* tiles of eight lanes, as of cooperative groups */
{
    __shared__ float s[256];
    unsigned lane = threadIdx.x % 32, tile = 0xffu << lane / 8 * 8;
    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp(tile);
    for (int k = 4; k; k /= 2) {
        float other = s[threadIdx.x ^ k];
        __syncwarp(tile);
        s[threadIdx.x] += other;
        __syncwarp(tile);
    }
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x / 8 * 8];
}
KERNEL flag_behind_a_fence(const float *in, float *out)
{
    __shared__ float value;
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = in[blockIdx.x];
        __threadfence_block();
        ready = 1;
    }
    if (threadIdx.x == 32) {
        while (!ready)
            ;
        __threadfence_block();
        out[blockIdx.x] = value;
    }
}
KERNEL flag_released(const float *in, float *out)
{
    __shared__ float value;
    __shared__ int ready;
    unsigned at = (unsigned)__cvta_generic_to_shared(&ready);
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = in[blockIdx.x];
        asm volatile("st.release.cta.shared.s32 [%0], 1;" ::"r"(at) : "memory");
    }
    if (threadIdx.x == 32) {
        int seen;
        do
            asm volatile("ld.acquire.cta.shared.s32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
        while (!seen);
        out[blockIdx.x] = value;
    }
}
KERNEL flag_between_lanes(const float *in, float *out) /* lanes that part and wait for one another */
{
    __shared__ float value[8];
    __shared__ volatile int ready[8];
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        ready[warp] = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 5) {
        value[warp] = in[threadIdx.x];
        __threadfence_block();
        ready[warp] = 1;
    } else {
        while (!ready[warp])
            ;
        __threadfence_block();
        out[blockIdx.x * 256 + threadIdx.x] = value[warp];
    }
}
KERNEL published_for_all(const float *in, float *out)
{
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(&flag) : "memory");
        return;
    }
    if (threadIdx.x == 0) {
        int seen;
        do
            asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(&flag) : "memory");
        while (!seen);
    }
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = out[threadIdx.x ^ 77];
}
KERNEL fenced_by_each(const float *in, float *out) /* each fences what it wrote; one says so behind a barrier */
{
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __threadfence();
        asm volatile("barrier.sync 1;" ::: "memory");
        if (threadIdx.x == 0)
            *(volatile int *)&flag = 1;
        return;
    }
    while (*(volatile int *)&flag == 0)
        ;
    __threadfence();
    out[blockIdx.x * 256 + threadIdx.x] = out[threadIdx.x ^ 77];
}
KERNEL lanes_overtaken(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = out[i ^ 1];
    out[i] = v + in[i]; // 212
}
/* ---- honest ---- */
KERNEL lanes_change_their_own(const float *in, float *out) /* what each has read itself, and what others read before they met */
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = out[i];
    out[i] = v + in[i];
    __syncwarp();
    v = out[i ^ 1];
    v += __shfl_xor_sync(~0u, v, 1);
    out[i] = v;
}
