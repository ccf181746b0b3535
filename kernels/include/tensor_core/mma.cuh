/* tensor_core/mma: tensor-core instructions of a warp and the asynchronous copy that feeds them, one function an instruction. The copy works on every chip,
 * the rest from sm_80 on.
 *
 * Addresses in shared memory are 32-bit (shared_address), as the instructions want them. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#if __CUDA_ARCH__ < 800
/* Turing has no copy behind the thread's back: the thread loads and stores, and there is nothing to wait for. */
__device__ __forceinline__ void copy_async_16(unsigned to, const void *from, bool valid)
{
    uint4 v = valid ? *static_cast<const uint4 *>(from) : make_uint4(0, 0, 0, 0);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void copy_async_16_of(unsigned to, const void *from, unsigned bytes) { copy_async_16(to, from, bytes == 16); }
__device__ __forceinline__ void copy_async_8(unsigned to, const void *from, bool valid)
{
    uint2 v = valid ? *static_cast<const uint2 *>(from) : make_uint2(0, 0);
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(v.x), "r"(v.y) : "memory");
}
__device__ __forceinline__ void copy_async_8(unsigned to, const void *from) { copy_async_8(to, from, true); }
__device__ __forceinline__ void copy_async_4(unsigned to, const void *from, bool valid)
{
    unsigned v = valid ? *static_cast<const unsigned *>(from) : 0;
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}
__device__ __forceinline__ void copy_async_commit() {}
template <int PENDING> __device__ __forceinline__ void copy_async_wait() {}
#else
/* Copies 16 bytes from global to shared memory behind the thread's back, or writes 16 zeros when `valid` is false (then `from` is not read). */
__device__ __forceinline__ void copy_async_16(unsigned to, const void *from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
/* The same, of 16 or 0 bytes: what is not read need not exist. */
__device__ __forceinline__ void copy_async_16_of(unsigned to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/* The same for 8 bytes, and for 4. */
__device__ __forceinline__ void copy_async_8(unsigned to, const void *from, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(valid ? 8 : 0) : "memory");
}
__device__ __forceinline__ void copy_async_4(unsigned to, const void *from, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid ? 4 : 0) : "memory");
}
/* 8 bytes that are there. */
__device__ __forceinline__ void copy_async_8(unsigned to, const void *from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory"); }
/* Ends a group of copies of this thread. */
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* Waits until at most PENDING of this thread's groups are still on their way. A barrier must follow before other threads read. */
template <int PENDING> __device__ __forceinline__ void copy_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }
#endif

/* Arrives at a barrier in shared memory when this thread's copies so far are there; counts as one of those that the barrier waits for. */
__device__ __forceinline__ void copy_async_arrive(unsigned barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/* One 4-byte load. */
__device__ __forceinline__ unsigned load_shared(unsigned address)
{
    unsigned v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
/* One 8-byte load. */
__device__ __forceinline__ float2 load_shared_2(unsigned address)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}
/* One 16-byte load. */
__device__ __forceinline__ void load_shared_4(float v[4], unsigned address)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "r"(address) : "memory");
}

/* One 4-byte store. */
__device__ __forceinline__ void store_shared(unsigned address, unsigned v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory"); }

/* Four 8x8 matrices of 16-bit elements. Lane 8 * i + j gives the address of row j of matrix i; afterwards m[i] of lane l holds elements 2 * (l % 4)
 * and the next of row l / 4 of matrix i. */
__device__ __forceinline__ void load_matrix_4(unsigned m[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}
/* The same, each matrix turned: m[i] holds elements l / 4 of rows 2 * (l % 4) and the next. */
__device__ __forceinline__ void load_matrix_4_transposed(unsigned m[4], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}
/* Two such matrices; the addresses of lanes 0 to 15 count. */
__device__ __forceinline__ void load_matrix_2(unsigned m[2], unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(m[0]), "=r"(m[1]) : "r"(address) : "memory");
}

/* d += a * b: 16 rows, 8 columns, 16 deep; f32 sums. Lane l holds rows l / 4 (d[0], d[1]) and l / 4 + 8 (d[2], d[3]) of d, columns 2 * (l % 4) and the
 * next. load_matrix_4 gives a: (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15), and b, with columns as rows: (k 0-7), (k 8-15). */
template <typename T> __device__ __forceinline__ void multiply_16x8x16(float d[4], const unsigned a[4], const unsigned b[2]);
template <> __device__ __forceinline__ void multiply_16x8x16<__half>(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <> __device__ __forceinline__ void multiply_16x8x16<__nv_bfloat16>(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/* The same, 8 deep: a is the first two matrices, b the first. */
template <typename T> __device__ __forceinline__ void multiply_16x8x8(float d[4], const unsigned a[2], unsigned b);
template <> __device__ __forceinline__ void multiply_16x8x8<__half>(float d[4], const unsigned a[2], unsigned b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}
template <> __device__ __forceinline__ void multiply_16x8x8<__nv_bfloat16>(float d[4], const unsigned a[2], unsigned b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}
/* d = a * b + c, where c is the same for both rows of a lane: c[0] and c[1] belong to its two columns. */
template <typename T> __device__ __forceinline__ void multiply_16x8x16_from(float d[4], const unsigned a[4], const unsigned b[2], const float c[2]);
template <> __device__ __forceinline__ void multiply_16x8x16_from<__half>(float d[4], const unsigned a[4], const unsigned b[2], const float c[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %10, %11};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]));
}
template <> __device__ __forceinline__ void multiply_16x8x16_from<__nv_bfloat16>(float d[4], const unsigned a[4], const unsigned b[2], const float c[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %10, %11};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]));
}

/* To the nearest number of 10 bits of fraction, ties away from 0: an f32 as the TF32 instructions want it, which look at these bits only. */
__device__ __forceinline__ unsigned round_tf32(float x)
{
    unsigned v;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(x));
    return v;
}
/* d += a * b in TF32: 16 rows, 8 columns, 8 deep. Lane l holds (row l / 4, depth l % 4), (row + 8, same), (row, depth + 4), (row + 8, depth + 4) of a, which is what
 * load_matrix_4 gives for rows of f32, because four of them are as wide as eight halves; and (depth l % 4, column l / 4), (depth + 4, same) of b. */
__device__ __forceinline__ void multiply_16x8x8_tf32(float d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
