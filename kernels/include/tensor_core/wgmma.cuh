/* tensor_core/wgmma: the tensor-core instruction of a warpgroup (sm_90a), TMA, which feeds it, and the barriers between them; one function an instruction.
 * Everything here is asynchronous: mbarriers in shared memory and wgmma's groups tell when data may be read or overwritten.
 *
 * Addresses in shared memory are 32-bit (shared_address of tensor_core/mma.cuh). */
#pragma once
#include "tensor_core/mma.cuh"

/* What cuTensorMapEncodeTiled makes: the type that a `tensor_maps:` argument arrives in, as `const __grid_constant__ tensor_map`. */
struct __align__(64) tensor_map {
    unsigned long long opaque[16];
};

/* --- barriers in shared memory (8 bytes): a phase ends when `count` threads have arrived and all announced bytes are there --- */
__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
/* After the last barrier_init, by the thread that did them; then a __syncthreads. */
__device__ __forceinline__ void barrier_init_done() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Arrives at the barrier at the same address in block `block` of the cluster. It does not order memory accesses between blocks, which would cost a fence: it is for
 * readers that have finished. */
__device__ __forceinline__ void barrier_arrive_at(unsigned barrier, unsigned block)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}
/* All threads of all blocks of the cluster. */
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
/* Arrives, and announces bytes that TMA will bring. */
__device__ __forceinline__ void barrier_arrive_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/* Waits until the phase of this parity is over. A fresh barrier is in phase 0; "the phase before" (parity 1) is over from the start. */
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra finished;\n"
                 "bra again;\n"
                 "finished:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
/* Is the phase of this parity over? */
__device__ __forceinline__ bool barrier_over(unsigned barrier, unsigned parity)
{
    unsigned over;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, done;\n"
                 "}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return over;
}

/* --- copies by the engine; out-of-range elements arrive as zeros and count as bytes --- */
/* A box at (x0, x1, x2, x3) of a 4-D tensor, innermost first, to shared memory; `barrier` is told when it is there. One thread calls it. */
__device__ __forceinline__ void copy_box_4d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(map),
                 "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
                 : "memory");
}
/* The same box to the same place in every block of the cluster whose bit is set in `blocks`, each block's own barrier there being told. */
__device__ __forceinline__ void copy_box_4d_to(unsigned short blocks, unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "h"(blocks)
                 : "memory");
}
/* Bytes side by side, a multiple of 16, both ends at multiples of 16. One thread calls it. */
__device__ __forceinline__ void copy_bytes(unsigned to, const void *from, unsigned bytes, unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}
/* To the L2 cache only; nobody is told. */
__device__ __forceinline__ void prefetch_bytes(const void *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void prefetch_map(const tensor_map *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
/* Ordinary stores to shared memory become visible to wgmma and TMA. */
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* A box from shared memory to the tensor; what lies outside the tensor is not written. Belongs to the calling thread's group of stores. */
__device__ __forceinline__ void store_box_4d(const tensor_map *map, unsigned from, int x0, int x1, int x2, int x3)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(from), "r"(x0), "r"(x1), "r"(x2), "r"(x3)
                 : "memory");
}
/* Ends a group of stores of this thread. */
__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/* Waits until all stores of this thread, or all groups but the last PENDING, have left shared memory; or until all have been made. */
template <int PENDING = 0> __device__ __forceinline__ void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }
__device__ __forceinline__ void store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/* Four 8x8 matrices to shared memory: the inverse of load_matrix_4, and of load_matrix_4_transposed. */
__device__ __forceinline__ void store_matrix_4(unsigned address, const unsigned m[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]) : "memory");
}
__device__ __forceinline__ void store_matrix_4_transposed(unsigned address, const unsigned m[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]) : "memory");
}
/* The number of this warpgroup. The shuffle tells the compiler that the value is uniform: values derived from it stay in uniform registers, where wgmma
 * needs its descriptors, instead of being moved there before every wgmma. */
__device__ __forceinline__ int warpgroup_index() { return __shfl_sync(0xffffffff, (int)threadIdx.x / 128, 0); }
/* A barrier of the 128 threads of warpgroup `group`, which must be the caller's. */
__device__ __forceinline__ void warpgroup_sync(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

/* --- registers move from the warpgroups that wait to those that compute; all four warps call it --- */
template <int REGISTERS> __device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template <int REGISTERS> __device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

/* --- wgmma --- */
/* Before the first of a group: registers that it reads or adds to were written by ordinary instructions. */
__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

/* Describes a matrix in shared memory whose rows are 128 bytes (64 elements of the depth), swizzled in blocks of 8 rows (1024 bytes), as a copy
 * with swizzle 128 leaves it. The start may lie at any row and any 32 bytes inside it: the swizzle follows the absolute address. `block`: bytes from
 * one 8 rows to the next, a multiple of 1024. */
__device__ __forceinline__ unsigned long long matrix_rows_128(unsigned address, unsigned block = 1024)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | (unsigned long long)(block >> 4) << 32 | 1ull << 62;
}

/* Describes a right operand whose 128 bytes are 64 columns of one depth: depths in groups of 8 (1024 bytes, swizzled together), and the next 64 columns
 * `columns` bytes further on, as copies of boxes of 64 columns with swizzle 128 leave them. */
__device__ __forceinline__ unsigned long long matrix_across_128(unsigned address, unsigned columns)
{
    return (unsigned long long)(address >> 4 & 0x3fff) | (unsigned long long)(columns >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

/* d (64 rows by N columns, f32) = a * b, or += when `add`; 16 deep. Warp w of the warpgroup holds rows 16 w .. 16 w + 15 as in tensor_core/mma.cuh: lane l has rows
 * l / 4 (d[4 j], d[4 j + 1]) and l / 4 + 8 (d[4 j + 2], d[4 j + 3]), columns 8 j + 2 * (l % 4) and the next. a: four registers as in tensor_core/mma.cuh, or a
 * descriptor of 64 rows; b: a descriptor of N rows (the columns of the product). */
template <typename T, int N> __device__ __forceinline__ void wgmma_registers(float d[N / 2], const unsigned a[4], unsigned long long b, bool add);
template <typename T, int N> __device__ __forceinline__ void wgmma_shared(float d[N / 2], unsigned long long a, unsigned long long b, bool add);

/* The sums of N columns are N / 2 registers, %0 and up in the text of an instruction; behind them come its other operands, whose numbers A, B and ADD say. */
#define WGMMA_TEXT_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WGMMA_TEXT_16 WGMMA_TEXT_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_TEXT_24 WGMMA_TEXT_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WGMMA_TEXT_32 WGMMA_TEXT_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_TEXT_40 WGMMA_TEXT_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_TEXT_48 WGMMA_TEXT_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_TEXT_56 WGMMA_TEXT_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define WGMMA_TEXT_64 WGMMA_TEXT_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_TEXT_72 WGMMA_TEXT_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define WGMMA_TEXT_80 WGMMA_TEXT_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define WGMMA_TEXT_88 WGMMA_TEXT_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define WGMMA_TEXT_96 WGMMA_TEXT_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define WGMMA_TEXT_104 WGMMA_TEXT_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define WGMMA_TEXT_112 WGMMA_TEXT_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define WGMMA_TEXT_120 WGMMA_TEXT_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define WGMMA_TEXT_128 WGMMA_TEXT_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define WGMMA_SUMS_8(R, i) "+" R(d[i]), "+" R(d[i + 1]), "+" R(d[i + 2]), "+" R(d[i + 3]), "+" R(d[i + 4]), "+" R(d[i + 5]), "+" R(d[i + 6]), "+" R(d[i + 7])
#define WGMMA_SUMS_16(R, i) WGMMA_SUMS_8(R, i), WGMMA_SUMS_8(R, i + 8)
#define WGMMA_SUMS_24(R, i) WGMMA_SUMS_16(R, i), WGMMA_SUMS_8(R, i + 16)
#define WGMMA_SUMS_32(R, i) WGMMA_SUMS_16(R, i), WGMMA_SUMS_16(R, i + 16)
#define WGMMA_SUMS_40(R, i) WGMMA_SUMS_32(R, i), WGMMA_SUMS_8(R, i + 32)
#define WGMMA_SUMS_48(R, i) WGMMA_SUMS_32(R, i), WGMMA_SUMS_16(R, i + 32)
#define WGMMA_SUMS_56(R, i) WGMMA_SUMS_32(R, i), WGMMA_SUMS_24(R, i + 32)
#define WGMMA_SUMS_64(R, i) WGMMA_SUMS_32(R, i), WGMMA_SUMS_32(R, i + 32)
#define WGMMA_SUMS_72(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_8(R, i + 64)
#define WGMMA_SUMS_80(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_16(R, i + 64)
#define WGMMA_SUMS_88(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_24(R, i + 64)
#define WGMMA_SUMS_96(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_32(R, i + 64)
#define WGMMA_SUMS_104(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_40(R, i + 64)
#define WGMMA_SUMS_112(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_48(R, i + 64)
#define WGMMA_SUMS_120(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_56(R, i + 64)
#define WGMMA_SUMS_128(R, i) WGMMA_SUMS_64(R, i), WGMMA_SUMS_64(R, i + 64)
/* SUM, R: type of the sums, and its letter among asm's constraints. SHAPE: their PTX type behind the depth, then the operands' types. FLAGS: scales and
 * transpositions, where the operands' types have them. */
#define WGMMA_REGISTERS(NAME, SUM, R, SHAPE, FLAGS, N, HALF, A0, A1, A2, A3, B, ADD)                                                                       \
    template <> __device__ __forceinline__ void NAME(SUM d[HALF], const unsigned a[4], unsigned long long b, bool add)                                     \
    {                                                                                                                                                      \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" WGMMA_TEXT_##HALF               \
                     "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", add" FLAGS ";\n}"                                                             \
                     : WGMMA_SUMS_##HALF(R, 0)                                                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));                                                                 \
    }
#define WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, N, HALF, A, B, ADD) WGMMA_NAMED(wgmma_shared, T, SUM, R, SHAPE, FLAGS, N, HALF, A, B, ADD)
#define WGMMA_NAMED(NAME, T, SUM, R, SHAPE, FLAGS, N, HALF, A, B, ADD)                                                                       \
    template <> __device__ __forceinline__ void NAME<T, N>(SUM d[HALF], unsigned long long a, unsigned long long b, bool add)        \
    {                                                                                                                                        \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N SHAPE " {" WGMMA_TEXT_##HALF \
                     "}, %" #A ", %" #B ", add" FLAGS ";\n}"                                                                                 \
                     : WGMMA_SUMS_##HALF(R, 0)                                                                                               \
                     : "l"(a), "l"(b), "r"((int)add));                                                                                       \
    }
/* All widths. */
#define WGMMA_SHAREDS(T, SUM, R, SHAPE, FLAGS)                                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 16, 8, 8, 9, 10)                                                                                   \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 32, 16, 16, 17, 18)                                                                                \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 48, 24, 24, 25, 26)                                                                                \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 64, 32, 32, 33, 34)                                                                                \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 80, 40, 40, 41, 42)                                                                                \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 96, 48, 48, 49, 50)                                                                                \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 112, 56, 56, 57, 58)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 128, 64, 64, 65, 66)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 144, 72, 72, 73, 74)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 160, 80, 80, 81, 82)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 176, 88, 88, 89, 90)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 192, 96, 96, 97, 98)                                                                               \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 208, 104, 104, 105, 106)                                                                           \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 224, 112, 112, 113, 114)                                                                           \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 240, 120, 120, 121, 122)                                                                           \
    WGMMA_SHARED(T, SUM, R, SHAPE, FLAGS, 256, 128, 128, 129, 130)
#define WGMMA_COMMA ,
#define WGMMA_OF_TYPE(T, TYPES)                                                                                   \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 64>, float, "f", "k16.f32." TYPES, ", 1, 1, 0", 64, 32, 32, 33, 34, 35, 36, 37)   \
    WGMMA_REGISTERS(wgmma_registers<T WGMMA_COMMA 128>, float, "f", "k16.f32." TYPES, ", 1, 1, 0", 128, 64, 64, 65, 66, 67, 68, 69) \
    WGMMA_SHAREDS(T, float, "f", "k16.f32." TYPES, ", 1, 1, 0, 0")
WGMMA_OF_TYPE(__half, "f16.f16")
WGMMA_OF_TYPE(__nv_bfloat16, "bf16.bf16")

/* The same with b stored the other way: 128 bytes of shared memory are 64 columns of one depth. b: matrix_across_128. */
template <typename T, int N> __device__ __forceinline__ void wgmma_across(float d[N / 2], unsigned long long a, unsigned long long b, bool add);
#define WGMMA_ACROSS(T, TYPES)                                                                                \
    WGMMA_NAMED(wgmma_across, T, float, "f", "k16.f32." TYPES, ", 1, 1, 0, 1", 128, 64, 64, 65, 66)           \
    WGMMA_NAMED(wgmma_across, T, float, "f", "k16.f32." TYPES, ", 1, 1, 0, 1", 192, 96, 96, 97, 98)           \
    WGMMA_NAMED(wgmma_across, T, float, "f", "k16.f32." TYPES, ", 1, 1, 0, 1", 256, 128, 128, 129, 130)
WGMMA_ACROSS(__half, "f16.f16")
WGMMA_ACROSS(__nv_bfloat16, "bf16.bf16")

/* The same in tf32, 8 deep: a row of 128 bytes is 32 elements. a: (row l / 4, depth l % 4), (row + 8, same), (row, depth + 4), (row + 8, depth + 4). The low 13
 * bits of an f32 in shared memory are not looked at; registers should be rounded first (round_tf32). */
template <int N> __device__ __forceinline__ void wgmma_registers_tf32(float d[N / 2], const unsigned a[4], unsigned long long b, bool add);
WGMMA_REGISTERS(wgmma_registers_tf32<64>, float, "f", "k8.f32.tf32.tf32", ", 1, 1", 64, 32, 32, 33, 34, 35, 36, 37)
WGMMA_REGISTERS(wgmma_registers_tf32<128>, float, "f", "k8.f32.tf32.tf32", ", 1, 1", 128, 64, 64, 65, 66, 67, 68, 69)
/* Both operands in shared memory, where every type has 32 bytes of depth in one product: 8 of tf32 (T is float), 32 whole numbers of 8 bits, whose sums are exact. */
WGMMA_SHAREDS(float, float, "f", "k8.f32.tf32.tf32", ", 1, 1")
template <typename T, int N> __device__ __forceinline__ void wgmma_shared(int d[N / 2], unsigned long long a, unsigned long long b, bool add);
WGMMA_SHAREDS(signed char, int, "r", "k32.s32.s8.s8", "")
/* a: four whole numbers of 8 bits in each register, (row l / 4, depth 4 * (l % 4) and the next three), (row + 8, same), then both 16 further in the depth. */
template <typename T, int N> __device__ __forceinline__ void wgmma_registers(int d[N / 2], const unsigned a[4], unsigned long long b, bool add);
WGMMA_REGISTERS(wgmma_registers<signed char WGMMA_COMMA 64>, int, "r", "k32.s32.s8.s8", "", 64, 32, 32, 33, 34, 35, 36, 37)
WGMMA_REGISTERS(wgmma_registers<signed char WGMMA_COMMA 128>, int, "r", "k32.s32.s8.s8", "", 128, 64, 64, 65, 66, 67, 68, 69)
