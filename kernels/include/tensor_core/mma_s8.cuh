/* tensor_core/mma_s8: matrix products of 8-bit whole numbers, with exact sums in 32 bits. */
#pragma once

/* d += a * b: 16 rows, 8 columns, 32 deep, and 16. Registers are those of multiply_16x8x16 and multiply_16x8x8 (mma.cuh), with four numbers in a word instead of two halves. */
__device__ __forceinline__ void multiply_16x8x32(int d[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply_16x8x16(int d[4], const unsigned a[2], unsigned b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
}
