/* Races in global memory, one a kernel, and correct kernels that look like them; test_emu_races.c expects the lines. Compiled for sm_90a
 * and sm_100 when a test needs it. Blocks of 256 threads, 4 of them. */
#define KERNEL extern "C" __global__ void
__device__ unsigned arrived;
__device__ int flag, counter;

KERNEL blocks_write(const float *in, float *out)
{
    out[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x]; // 9
}
KERNEL in_place(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = out[(i + 256) % 1024] + 1; // 14
}
KERNEL warps_read(const float *in, float *out)
{
    int at = blockIdx.x * 256;
    out[at + threadIdx.x] = in[at + threadIdx.x];
    __threadfence();
    out[1024 + at + threadIdx.x] = out[at + 255 - threadIdx.x]; // 21
}
KERNEL warps_write(const float *in, float *out)
{
    out[blockIdx.x * 32 + threadIdx.x % 32] = in[threadIdx.x]; // 25
}
KERNEL last_block_no_fence(const float *in, float *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        out[blockIdx.x] = in[blockIdx.x];
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x)
        out[1024 + threadIdx.x] = out[threadIdx.x]; // 36
}
KERNEL set_and_add(const float *in, float *out)
{
    if (threadIdx.x == 0)
        out[0] = 0; // 41
    __syncthreads();
    atomicAdd(out, in[threadIdx.x]);
}
KERNEL atomics_of_the_block(const float *in, float *out)
{
    atomicAdd_block((int *)out, 1); // 47
}
KERNEL lanes_write(const float *in, float *out)
{
    out[blockIdx.x * 128 + threadIdx.x / 2] = in[threadIdx.x]; // 51
}
KERNEL flag_no_fence(const float *in, float *out)
{
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        out[0] = in[0];
        *(volatile int *)&flag = 1;
    } else {
        while (*(volatile int *)&flag == 0)
            ;
        out[blockIdx.x] = out[0]; // 63
    }
}
KERNEL read_of_a_counter(const float *in, float *out)
{
    atomicAdd(&counter, 1); // 68
    out[blockIdx.x * 256 + threadIdx.x] = (float)counter;
}
/* ---- honest ---- */
KERNEL same_value(const float *in, float *out)
{
    if (in[blockIdx.x * 256 + threadIdx.x] >= 0)
        out[0] = 7;
}
KERNEL behind_a_barrier(const float *in, float *out)
{
    int at = blockIdx.x * 256;
    out[at + threadIdx.x] = in[at + threadIdx.x];
    __syncthreads();
    float v = out[at + 255 - threadIdx.x];
    __syncthreads();
    out[at + threadIdx.x] = v;
}
KERNEL last_block(const float *in, float *out)
{
    __shared__ bool last;
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last)
        for (int b = 0; b < gridDim.x; b++)
            out[1024 + threadIdx.x] += out[b * 256 + threadIdx.x];
}
KERNEL last_block_all_fence(const float *in, float *out) /* as CUDA's threadFenceReduction: each thread fences what it wrote */
{
    __shared__ bool last;
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (int b = 0; b < gridDim.x; b++)
            out[1024 + threadIdx.x] += out[b * 256 + threadIdx.x];
}
KERNEL flag_with_fences(const float *in, float *out)
{
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        out[0] = in[0];
        __threadfence();
        *(volatile int *)&flag = 1;
    } else {
        while (*(volatile int *)&flag == 0)
            ;
        __threadfence();
        out[blockIdx.x] = out[0];
    }
}
KERNEL words_with_flags(const float *in, float *out) /* the data themselves are strong */
{
    unsigned v;
    if (blockIdx.x == 0) {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(out + threadIdx.x), "r"(__float_as_uint(in[threadIdx.x]) | 1));
    } else {
        do
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(out + threadIdx.x));
        while (!(v & 1));
        out[blockIdx.x * 256 + threadIdx.x] = __uint_as_float(v);
    }
}
KERNEL release_acquire(const float *in, float *out)
{
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(&flag) : "memory");
    } else {
        unsigned v;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(&flag) : "memory");
        while (!v);
        out[blockIdx.x * 256 + threadIdx.x] = out[threadIdx.x];
    }
}
KERNEL bytes_side_by_side(const float *in, float *out) /* blocks write neighbouring bytes */
{
    ((unsigned char *)out)[threadIdx.x * 4 + blockIdx.x] = (unsigned char)in[threadIdx.x];
}
KERNEL counted(const float *in, float *out)
{
    atomicAdd((int *)out + (threadIdx.x & 7), 1);
}
KERNEL added_in_place(const float *in, float *out)
{
    out[blockIdx.x * 256 + threadIdx.x] += in[threadIdx.x];
}
KERNEL handed_over_in_a_warp(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i];
    __syncwarp();
    float v = out[i ^ 1];
    __syncwarp();
    out[i] = v;
}
/* ---- and a wrong one ---- */
KERNEL lanes_read(const float *in, float *out)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = in[i];
    asm volatile("" ::: "memory");
    out[1024 + i] = out[i ^ 1]; // 182
}
/* ---- a plain read that a compare-and-swap checks ---- */
KERNEL guessed(const float *in, float *out)
{
    int *word = (int *)out + threadIdx.x % 3, old = *word, expected;
    do {
        expected = old;
        old = atomicCAS(word, expected, __float_as_int(__int_as_float(expected) + in[threadIdx.x]));
    } while (old != expected);
}
KERNEL guessed_shared(const float *in, float *out)
{
    __shared__ unsigned s[2];
    if (threadIdx.x < 2)
        s[threadIdx.x] = 0;
    __syncthreads();
    unsigned *word = s + threadIdx.x % 2, old = *word, expected;
    do {
        expected = old;
        old = atomicCAS(word, expected, expected + (unsigned)in[threadIdx.x]);
    } while (old != expected);
    __syncthreads();
    if (threadIdx.x < 2)
        out[blockIdx.x * 2 + threadIdx.x] = (float)s[threadIdx.x];
}
