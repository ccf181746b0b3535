/* Flow of control: what the host functions of tests/unit/test_emu_flow.c compute, too. */
__device__ __noinline__ int depth(int n) { return n <= 0 ? 0 : 1 + depth(n / 2); }
__device__ __noinline__ float scaled(float x, int k) { return x * k + 0.5f; }

extern "C" __global__ void collatz(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = in[i], steps = 0;
    while (v != 1) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v /= 2;
        if (++steps > 1000)
            break;
    }
    out[i] = steps;
}
extern "C" __global__ void recursive(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (i & 1) ? depth(in[i]) : depth(in[i] / 3) + 100;
}
extern "C" __global__ void choice(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r;
    if (i >= n)
        return;
    switch (in[i] % 9) {
    case 0: r = 5; break;
    case 1: r = i * 3; break;
    case 2: r = i ^ 77; break;
    case 3: r = (int)scaled(i, 3); break;
    case 4: r = -i; break;
    case 5: r = i / 7; break;
    case 6: r = i % 11; break;
    default: r = 1 << (i & 15);
    }
    out[i] = r;
}
typedef int (*function)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ function table[3] = {plus, times, minus};
extern "C" __global__ void pointers(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[in[i] % 3](in[i], i);
}
/* lanes of one warp take a lock one after the other */
__device__ int lock_word, guarded_sum;
extern "C" __global__ void locked(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = i >= n;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            guarded_sum += in[i];
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
    if (i < n)
        out[i] = i;
}
extern "C" __global__ void forever(const int *in, int *out, int n)
{
    volatile int *p = out;
    while (p[0] != 12345)
        ;
}
extern "C" __global__ void endless(const int *in, int *out, int n)
{
    unsigned i = 1;
    while (i)
        i = i * 3 | 1;
    out[0] = i;
}
extern "C" __global__ void half_barrier(const int *in, int *out, int n)
{
    if (threadIdx.x < 40)
        asm volatile("bar.sync 1, 96;");
    out[threadIdx.x] = 1;
}
#include <assert.h>
extern "C" __global__ void asserts(const int *in, int *out, int n)
{
    assert(in[threadIdx.x] >= 0);
    out[threadIdx.x] = 7;
}
extern "C" __global__ void traps(const int *in, int *out, int n)
{
    if (in[threadIdx.x] == 3)
        __trap();
    out[threadIdx.x] = 7;
}
