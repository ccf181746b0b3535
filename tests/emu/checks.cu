/* One planted bug a kernel; the line is what test_emu_checks.c wants. */
extern "C" __global__ void clean(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}
extern "C" __global__ void past_end(const float *in, float *out, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i + 1]; // 19
}
extern "C" __global__ void before_start(const float *in, float *out, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i - 1] = in[i]; // 24
}
extern "C" __global__ void shared_past_end(const float *in, float *out, int n)
{
    extern __shared__ float dyn[];
    dyn[threadIdx.x + 4] = in[threadIdx.x]; // 29
    __syncthreads();
    out[threadIdx.x] = dyn[255 - threadIdx.x + 4]; // 31
}
extern "C" __global__ void misaligned(const float *in, float *out, int n)
{
    float4 v = *(const float4 *)(in + threadIdx.x); // 35
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
extern "C" __global__ void shared_unwritten(const float *in, float *out, int n)
{
    __shared__ float s[256];
    if (threadIdx.x < 200)
        s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x]; // 44
}
extern "C" __global__ void local_unwritten(const float *in, float *out, int n)
{
    float v[8];
    for (int i = 0; i < n; i++)
        v[i] = in[i];
    out[threadIdx.x] = v[(int)in[threadIdx.x] & 7]; // 51
}
extern "C" __global__ void global_unwritten(const float *in, float *out, int n)
{
    out[threadIdx.x] = out[threadIdx.x] + in[threadIdx.x]; // 55
}
extern "C" __global__ void race_read(const float *in, float *out, int n)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[255 - threadIdx.x]; // 61
}
extern "C" __global__ void race_write(const float *in, float *out, int n)
{
    __shared__ float s[64];
    s[threadIdx.x & 31] = in[threadIdx.x]; // 66
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 31];
}
extern "C" __global__ void race_after_read(const float *in, float *out, int n)
{
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float v = s[(threadIdx.x + 64) & 255];
    s[threadIdx.x] = v * 2; // 76
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void lanes_at_barrier(const float *in, float *out, int n)
{
    if (threadIdx.x % 32 < 20)
        __syncthreads(); // 83
    out[threadIdx.x] = in[threadIdx.x];
}
extern "C" __global__ void shuffle_inactive(const float *in, float *out, int n)
{
    float v = in[threadIdx.x];
    if (threadIdx.x % 32 < 16)
        v += __shfl_down_sync(0xffff, v, 8, 32); // 90
    out[threadIdx.x] = v;
}
extern "C" __global__ void no_wait(const float *in, float *out, int n)
{
    __shared__ __align__(16) float s[1024];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"(to), "l"(in + 4 * threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x]; // 99
    asm volatile("cp.async.wait_all;");
}
extern "C" __global__ void waited(const float *in, float *out, int n)
{
    __shared__ __align__(16) float s[2048];
    unsigned to = (unsigned)__cvta_generic_to_shared(s + 4 * threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"(to), "l"(in + 4 * threadIdx.x));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\ncp.async.commit_group;" ::"r"(to + 4096), "l"(in + 4 * threadIdx.x));
    asm volatile("cp.async.wait_group 1;");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    out[threadIdx.x] += s[1024 + threadIdx.x];
}
extern "C" __global__ void early_exit(const float *in, float *out, int n)
{
    __shared__ float s[256];
    if (threadIdx.x >= n)
        return;
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
extern "C" __global__ void null_pointer(const float *in, float *out, int n)
{
    float *p = (float *)(size_t)n;
    p[threadIdx.x] = in[threadIdx.x]; // 127
}
/* private histograms by atomics, joined behind a barrier: clean */
extern "C" __global__ void histogram(const float *in, float *out, int n)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&bins[(int)in[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        out[threadIdx.x] = (float)bins[threadIdx.x];
}
