// The maximum rates of this machine: kernels that do one kind of work only, for `bench doctor --roofs`. measure/time/roofs.c states the work of one thread in
// one iteration; tests/unit/test_roofs.c counts it on emu. All have one signature: `count` 16-byte pieces at `from` and `to`.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if __CUDA_ARCH__ == 900
#include "tensor_core/wgmma.cuh"
#elif __CUDA_ARCH__ >= 800
#include "tensor_core/mma.cuh"
#endif
#include "tensor_core/mma_s8.cuh"
#define ROOF extern "C" __global__ void __launch_bounds__(256)

ROOF roof_empty(uint4 *to, const uint4 *from, int count, int iterations) {}

// Four pieces in flight a thread; the grid covers `count` once.
ROOF roof_copy(uint4 *to, const uint4 *from, int count, int iterations)
{
    int at = blockIdx.x * 1024 + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] = __ldcs(from + at + 256 * i);
#pragma unroll
    for (int i = 0; i < 4; i++)
        __stcs(to + at + 256 * i, v[i]);
}

// Reads the same `count` pieces again and again past the L1; block b starts somewhere else, so that blocks do not walk in step.
ROOF roof_l2(uint4 *to, const uint4 *from, int count, int iterations)
{
    unsigned sum = 0;
    int at = (int)((blockIdx.x * 1024ll + threadIdx.x) % count);
    for (int k = 0; k < iterations; k++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint4 v = __ldcg(from + at + 256 * i);
            sum += v.x ^ v.y ^ v.z ^ v.w;
        }
        at += 1024 * gridDim.x;
        at = at < count ? at : at % count;
    }
    if (sum == 0x9e3779b9u) // never, as far as the compiler can know
        to[threadIdx.x].x = sum;
}

// 16 bytes a lane, neighbouring lanes side by side: four wavefronts of 128 bytes a warp, no conflict.
ROOF roof_shared(uint4 *to, const uint4 *from, int count, int iterations)
{
    __shared__ uint4 tile[512];
    tile[threadIdx.x] = from[threadIdx.x];
    tile[threadIdx.x + 256] = from[threadIdx.x + 256];
    __syncthreads();
    unsigned sum = 0, base = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    for (int k = 0; k < iterations; k++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            uint4 v;
            asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(base + i % 2 * 4096));
            sum += v.x; // one add a load: the pipe of shared memory stays the narrow one
        }
    }
    if (sum == 0x9e3779b9u)
        to[threadIdx.x].x = sum;
}

// Eight chains a thread: enough for the latency of the pipe at eight warps a scheduler.
ROOF roof_f32(uint4 *to, const uint4 *from, int count, int iterations)
{
    const unsigned *in = (const unsigned *)from; /* made 0.5 to 1, of either sign: the chains stay finite */
    float a[8], x = __uint_as_float((in[threadIdx.x] & 0x807fffffu) | 0x3f000000u), y = __uint_as_float((in[threadIdx.x + 256] & 0x807fffffu) | 0x3f000000u);
#pragma unroll
    for (int i = 0; i < 8; i++)
        a[i] = x + i;
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int i = 0; i < 8; i++)
                a[i] = fmaf(a[i], x, y);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += a[i];
    if (sum == 1.5e38f)
        to[threadIdx.x].x = 1;
}

#if __CUDA_ARCH__ >= 800
// Fragments are bits of `from` with small exponents, which neither overflow nor vanish, so that the multiplier really works. Whole numbers
// (exponent 0) stay as they are.
static __device__ __forceinline__ unsigned small_pair(unsigned bits, unsigned exponent) { return exponent ? (bits & 0x83ff83ffu) | exponent : bits; }

#define TENSOR_BEGIN(exponent)                                                                                                                                 \
    const unsigned *in = (const unsigned *)from;                                                                                                               \
    unsigned a[4], b[2];                                                                                                                                       \
    _Pragma("unroll") for (int i = 0; i < 4; i++) a[i] = small_pair(in[threadIdx.x + 256 * i], exponent);                                                      \
    _Pragma("unroll") for (int i = 0; i < 2; i++) b[i] = small_pair(in[threadIdx.x + 256 * (i + 4)], exponent);                                                \
    float d[8][4] = {};
#define TENSOR_END                                                                                                                                             \
    float sum = 0;                                                                                                                                             \
    _Pragma("unroll") for (int i = 0; i < 8; i++) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];                                                                \
    if (sum == 1.5e38f)                                                                                                                                        \
        to[threadIdx.x].x = 1;

// Eight independent products a warp and iteration.
ROOF roof_mma_f16(uint4 *to, const uint4 *from, int count, int iterations)
{
    TENSOR_BEGIN(0x20002000u)
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            multiply_16x8x16<__half>(d[i], a, b);
    TENSOR_END
}
ROOF roof_mma_bf16(uint4 *to, const uint4 *from, int count, int iterations)
{
    TENSOR_BEGIN(0x3c003c00u)
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            multiply_16x8x16<__nv_bfloat16>(d[i], a, b);
    TENSOR_END
}
ROOF roof_mma_tf32(uint4 *to, const uint4 *from, int count, int iterations)
{
    TENSOR_BEGIN(0x3c000000u)
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    TENSOR_END
}
ROOF roof_mma_f16_acc16(uint4 *to, const uint4 *from, int count, int iterations)
{
    TENSOR_BEGIN(0x10001000u)
    unsigned h[8][2] = {};
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                         : "+r"(h[i][0]), "+r"(h[i][1])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#pragma unroll
    for (int i = 0; i < 8; i++)
        d[i][0] = __uint_as_float(h[i][0] ^ h[i][1]);
    TENSOR_END
}
ROOF roof_mma_s8(uint4 *to, const uint4 *from, int count, int iterations)
{
    TENSOR_BEGIN(0)
    int whole[8][4] = {};
    for (int k = 0; k < iterations; k++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            multiply_16x8x32(whole[i], a, b);
#pragma unroll
    for (int i = 0; i < 32; i++)
        d[i / 4][i % 4] = (float)whole[i / 4][i % 4];
    TENSOR_END
}
#endif

#if __CUDA_ARCH__ == 900
// 64 x 128 x 16 a warpgroup and instruction, a from registers, b from 16 KiB of shared memory; four instructions an iteration.
#define WGMMA_BODY(call)                                                                                                                                       \
    extern __shared__ __align__(1024) unsigned tile[];                                                                                                         \
    const unsigned *in = (const unsigned *)from;                                                                                                               \
    for (int i = threadIdx.x; i < 4096; i += 256)                                                                                                              \
        tile[i] = small_pair(in[i % 2048], EXPONENT);                                                                                                          \
    unsigned a[4];                                                                                                                                             \
    _Pragma("unroll") for (int i = 0; i < 4; i++) a[i] = small_pair(in[threadIdx.x + 256 * i], EXPONENT);                                                      \
    SUM d[64] = {};                                                                                                                                            \
    unsigned long long b = matrix_rows_128((shared_address(tile) + 1023) & ~1023u);                                                                            \
    fence_async();                                                                                                                                             \
    __syncthreads();                                                                                                                                           \
    wgmma_begin();                                                                                                                                             \
    for (int k = 0; k < iterations; k++) {                                                                                                                     \
        _Pragma("unroll") for (int i = 0; i < 4; i++) call;                                                                                                    \
        wgmma_commit();                                                                                                                                        \
        wgmma_wait<1>();                                                                                                                                       \
    }                                                                                                                                                          \
    wgmma_wait<0>();                                                                                                                                           \
    float sum = 0;                                                                                                                                             \
    _Pragma("unroll") for (int i = 0; i < 64; i++) sum += d[i];                                                                                                \
    if (sum == 1.5e38f)                                                                                                                                        \
        to[threadIdx.x].x = 1;

#define SUM float
#define EXPONENT 0x20002000u
ROOF roof_wgmma_f16(uint4 *to, const uint4 *from, int count, int iterations) { WGMMA_BODY((wgmma_registers<__half, 128>(d, a, b + 2 * i, true))) }
#undef EXPONENT
#define EXPONENT 0x3c003c00u
ROOF roof_wgmma_bf16(uint4 *to, const uint4 *from, int count, int iterations) { WGMMA_BODY((wgmma_registers<__nv_bfloat16, 128>(d, a, b + 2 * i, true))) }
#undef EXPONENT
#define EXPONENT 0x3c000000u
ROOF roof_wgmma_tf32(uint4 *to, const uint4 *from, int count, int iterations) { WGMMA_BODY((wgmma_registers_tf32<128>(d, a, b + 2 * i, true))) }
#undef EXPONENT
#undef SUM
#define SUM int
#define EXPONENT 0
ROOF roof_wgmma_s8(uint4 *to, const uint4 *from, int count, int iterations) { WGMMA_BODY((wgmma_registers<signed char, 128>(d, a, b + 2 * i, true))) }
#endif
