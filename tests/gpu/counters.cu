// Kernels whose counters are known before they run; tests/gpu/counters.c says what each must read. Launched with whole warps only.
// One 4-byte word a lane, neighbours beside each other: 4 sectors a request.
extern "C" __global__ void copy(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
// Each lane reads a sector of its own: 32 sectors a request.
extern "C" __global__ void strided(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i * 8];
}
// 16 stores to shared memory, all lanes in one bank: 32 wavefronts each. Blocks of one warp.
extern "C" __global__ void conflicts(const float *x, float *y)
{
    volatile __shared__ float s[1024];
    float v = x[threadIdx.x];
#pragma unroll
    for (int k = 0; k < 16; k++)
        s[threadIdx.x * 32 + k] = v + k;
    __syncwarp();
    y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x * 32 + 5];
}
// Loads and stores 4 words apart: 8 banks serve 32 lanes, 4 wavefronts each. Blocks of one warp.
extern "C" __global__ void four_ways(const float *x, float *y)
{
    volatile __shared__ float s[128];
    float v = x[threadIdx.x], sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++)
        s[threadIdx.x * 4 + k] = v + k;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 4; k++)
        sum += s[(31 - threadIdx.x) * 4 + k];
    y[blockIdx.x * 32 + threadIdx.x] = sum;
}
// 1000 multiply-adds a thread.
extern "C" __global__ void multiply_add(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[0], b = x[1], v = x[2];
#pragma unroll 1
    for (int k = 0; k < 100; k++)
#pragma unroll
        for (int j = 0; j < 10; j++)
            v = fmaf(v, a, b);
    y[i] = v;
}
// Odd and even lanes go different ways, too long to be predicated.
extern "C" __global__ void divergent(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = (int)x[3];
    float v = x[i & 7];
    if (i & 1) {
#pragma unroll 1
        for (int k = 0; k < n; k++)
            v = sinf(v) + v;
    } else {
#pragma unroll 1
        for (int k = 0; k < n; k++)
            v = sqrtf(v * v + 1.0f);
    }
    y[i] = v;
}
// An array that is indexed by what it was read: it lives in local memory.
extern "C" __global__ void local_array(const float *x, float *y)
{
    float a[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = (int)x[3];
#pragma unroll 1
    for (int k = 0; k < 64; k++)
        a[(k + at) & 63] = x[k & 7];
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++)
        sum += a[(k * 7 + at) & 63];
    y[i] = sum;
}
// 48 values that are all needed to the end, where 32 registers are allowed: the compiler has to spill, and says how often. No loop, so that each spill runs once.
extern "C" __global__ void __maxnreg__(32) spilled(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[48], sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++)
        asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[k]) : "l"(x + i + k)); /* volatile: not read again where it is used */
#pragma unroll
    for (int k = 0; k < 48; k++)
        sum = fmaf(v[k], v[47 - k], sum);
    y[i] = sum;
}
// 64 tensor instructions a warp: 16x8x16, f16 into f32.
extern "C" __global__ void tensor(const float *x, float *y)
{
    unsigned a = __float_as_uint(x[0]) & 0x3fff3fffu, b = __float_as_uint(x[1]) & 0x3fff3fffu;
    float c[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int k = 0; k < 16; k++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                         : "r"(a), "r"(b));
    y[blockIdx.x * blockDim.x + threadIdx.x] = c[0] + c[1] + c[2] + c[3];
}
// 16 matrix products of 16 x 16 x 16 a warp, each two tensor instructions of the machine. By hand: not every compiler has mma.h.
extern "C" __global__ void warp_matrix(const float *x, float *y)
{
    unsigned a = __float_as_uint(x[0]) & 0x3fff3fffu, b = __float_as_uint(x[1]) & 0x3fff3fffu;
    float c[8] = {0, 0, 0, 0, 0, 0, 0, 0}, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 16; k++)
        asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%8,%8,%8,%8,%8,%8,%8}, {%9,%9,%9,%9,%9,%9,%9,%9}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
                     : "r"(a), "r"(b));
#pragma unroll
    for (int k = 0; k < 8; k++)
        sum += c[k];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
