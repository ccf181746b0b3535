/* Accesses whose sectors, lines and wavefronts test_emu_memory.c counts by hand. One warp. */
extern "C" __global__ void strided(const float *in, float *out, int stride) { out[threadIdx.x] = in[threadIdx.x * stride]; }
extern "C" __global__ void shifted(const float *in, float *out, int shift) { out[threadIdx.x] = in[threadIdx.x + shift]; }
extern "C" __global__ void four(const float *in, float *out, int n) { ((float4 *)out)[threadIdx.x] = ((const float4 *)in)[threadIdx.x]; }
extern "C" __global__ void same(const float *in, float *out, int n) { out[threadIdx.x] = in[n]; }
extern "C" __global__ void banks(const float *in, float *out, int stride)
{
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32)
        s[i] = in[i];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * stride & 1023];
}
extern "C" __global__ void wide(const float *in, float *out, int stride)
{
    __shared__ float4 s[256];
    for (int i = threadIdx.x; i < 256; i += 32)
        s[i] = ((const float4 *)in)[i];
    __syncthreads();
    float4 v = s[threadIdx.x * stride & 255];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
extern "C" __global__ void stack(const float *in, float *out, int n)
{
    float v[8];
    for (int i = 0; i < 8; i++)
        v[i] = in[i];
    for (int i = 0; i < n; i++)
        v[(i * 3 + n) & 7] += 1;
    out[threadIdx.x] = v[n & 7];
}
extern "C" __global__ void counted(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    float a = in[i];
    for (int k = 0; k < n; k++)
        a = a * 1.5f + 2.0f;
    out[i] = a;
    if (i < 7)
        out[i + 64] = a * in[i + 100];
}
extern "C" __global__ void contended(const float *in, int *out, int n) { atomicAdd(out + threadIdx.x / 8, 1); }
extern "C" __global__ void float_sum(const float *in, float *out, int n) { atomicAdd(out, in[blockIdx.x * 32 + threadIdx.x]); }
/* Warps take n tiles from a counter, until there is none. */
extern "C" __global__ void tickets(const float *in, int *out, int n)
{
    for (;;) {
        int tile = threadIdx.x == 0 ? atomicAdd(out, 1) : 0;
        tile = __shfl_sync(~0u, tile, 0);
        if (tile >= n)
            return;
        if (threadIdx.x == 0)
            out[1 + tile] = 2 * tile;
    }
}
/* The same counter in shared memory: other blocks do not take from it. */
extern "C" __global__ void own_tickets(const float *in, int *out, int n)
{
    __shared__ int next;
    if (threadIdx.x == 0)
        next = 0;
    __syncwarp();
    out[threadIdx.x] = atomicAdd(&next, 1);
}
