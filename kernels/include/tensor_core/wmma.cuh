/* tensor_core/wmma: the first interface to tensor cores, here from sm_75 on: a warp multiplies 16x16x16, and which lane holds which element is unspecified. Matrices are
 * loaded and stored as a whole; `pitch` is in elements. fp16 operands, f32 sums. */
#pragma once

__device__ __forceinline__ unsigned wmma_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* 16 rows of 16 from shared memory: the left operand. */
__device__ __forceinline__ void wmma_load_rows(unsigned m[8], unsigned address, int pitch)
{
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]), "=r"(m[4]), "=r"(m[5]), "=r"(m[6]), "=r"(m[7])
                 : "r"(address), "r"(pitch)
                 : "memory");
}
/* 16 columns of 16, each of them contiguous: the right operand. */
__device__ __forceinline__ void wmma_load_columns(unsigned m[8], unsigned address, int pitch)
{
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]), "=r"(m[4]), "=r"(m[5]), "=r"(m[6]), "=r"(m[7])
                 : "r"(address), "r"(pitch)
                 : "memory");
}
/* d += a * b */
__device__ __forceinline__ void wmma_multiply(float d[8], const unsigned a[8], const unsigned b[8])
{
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]),
                   "r"(b[5]), "r"(b[6]), "r"(b[7]));
}
/* 16 rows of 16 sums to shared memory. */
__device__ __forceinline__ void wmma_store_rows(unsigned address, const float d[8], int pitch)
{
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(address), "f"(d[0]), "f"(d[1]),
                 "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]), "r"(pitch)
                 : "memory");
}
