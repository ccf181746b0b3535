/* Atomics of 16 bytes, and random rounding to 16 bits, for which CUDA has no intrinsic. */
#include "common.cuh"
struct alignas(16) pair {
    unsigned long long count, sum;
};

KERNEL wide(unsigned *out)
{
    __shared__ pair all;
    __shared__ unsigned seen[256];
    if (threadIdx.x == 0)
        all = {0, 1ull << 40};
    seen[threadIdx.x] = 0;
    __syncthreads();
    pair old = {0, 0}, next;
    do { /* one more, and the sum of all numbers so far */
        next = {old.count + 1, old.sum + threadIdx.x};
    } while (!__nv_atomic_compare_exchange(&all, &old, &next, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK));
    atomicAdd(&seen[old.count], 1);
    __syncthreads();
    check(out, seen[threadIdx.x] == 1);
    pair none = {0, 0}, last;
    __nv_atomic_exchange(&all, &none, &last, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
    check(out, (last.count == blockDim.x && last.sum == (1ull << 40) + blockDim.x * (blockDim.x - 1) / 2) || (last.count == 0 && last.sum == 0));
#if __CUDA_ARCH_FEAT_SM100_ALL
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) { /* a sum and a mask are all there is, as long as nothing overflows */
        float a = value(i, 1 / 64.f), b = value(i + 77, 1 / 32.f);
        unsigned r = mix(i + 3), d;
        asm("cvt.rs.bf16x2.f32 %0, %1, %2, %3;" : "=r"(d) : "f"(a), "f"(b), "r"(r));
        check(out, d >> 16 == __float_as_uint(a) + (r >> 16) >> 16 && (d & 0xffff) == __float_as_uint(b) + (r & 0xffff) >> 16);
    }
#endif
}
