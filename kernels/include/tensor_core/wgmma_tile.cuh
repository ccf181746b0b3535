/* tensor_core/wgmma_tile: wgmma for tiles of 3 to 8 rows of 8 pixels: the left operand in registers, N = 24 .. 64 columns, 16 deep; and the descriptor of such a tile
 * as an operand without a swizzle. Lanes hold the same elements of the result as in tensor_core/wgmma.cuh. */
#pragma once
#include "tensor_core/wgmma.cuh"

/* Describes a right operand of core matrices: 8 pixels of 16 bytes side by side (8 channels each); `rows` bytes further on the next 8 pixels, `planes` bytes further
 * on the next 8 channels. The start may lie at any 16 bytes. */
__device__ __forceinline__ unsigned long long matrix_planes(unsigned address, unsigned planes, unsigned rows)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(planes >> 4) << 16 | (unsigned long long)(rows >> 4) << 32;
}

#define TILE_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TILE_12(i) TILE_4(i), TILE_4(i + 4), TILE_4(i + 8)
#define TILE_LIST_12 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11"
#define TILE_LIST_16 TILE_LIST_12 ", %12, %13, %14, %15"
#define TILE_LIST_20 TILE_LIST_16 ", %16, %17, %18, %19"
#define TILE_LIST_24 TILE_LIST_20 ", %20, %21, %22, %23"
#define TILE_LIST_28 TILE_LIST_24 ", %24, %25, %26, %27"
/* N columns need N / 2 registers: %0 to %(N / 2 - 1); then a, b and the flag. */
#define TILE_WGMMA(T, TEXT, N, LIST, A0, A1, A2, A3, B, ADD, ...)                                                                                                 \
    template <> __device__ __forceinline__ void wgmma_registers<T, N>(float d[N / 2], const unsigned a[4], unsigned long long b, bool add)                       \
    {                                                                                                                                                            \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TEXT "." TEXT " {" LIST "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B              \
                     ", add, 1, 1, 0;\n}"                                                                                                                        \
                     : __VA_ARGS__                                                                                                                               \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));                                                                       \
    }
#define TILE_WGMMAS(T, TEXT)                                                                                                                                     \
    TILE_WGMMA(T, TEXT, 24, TILE_LIST_12, 12, 13, 14, 15, 16, 17, TILE_12(0))                                                                                    \
    TILE_WGMMA(T, TEXT, 32, TILE_LIST_16, 16, 17, 18, 19, 20, 21, TILE_12(0), TILE_4(12))                                                                        \
    TILE_WGMMA(T, TEXT, 40, TILE_LIST_20, 20, 21, 22, 23, 24, 25, TILE_12(0), TILE_4(12), TILE_4(16))                                                            \
    TILE_WGMMA(T, TEXT, 48, TILE_LIST_24, 24, 25, 26, 27, 28, 29, TILE_12(0), TILE_12(12))                                                                       \
    TILE_WGMMA(T, TEXT, 56, TILE_LIST_28, 28, 29, 30, 31, 32, 33, TILE_12(0), TILE_12(12), TILE_4(24))
TILE_WGMMAS(__half, "f16")
TILE_WGMMAS(__nv_bfloat16, "bf16")
