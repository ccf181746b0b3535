/* strip: pieces of rows between global memory and shared memory, 16 bytes at a time, where rows begin at any element.
 *
 * A block has pieces of neighbouring rows of one tensor, and makes pieces of neighbouring rows of another. A piece lies in shared memory as far from a multiple
 * of 16 bytes as in global memory, so its whole vectors are whole vectors there. Rows that follow each other begin LINE elements apart, and their pieces a PITCH that
 * is the same modulo the vector: element e of piece k is always at k * PITCH + e. What a piece has before its first whole vector and after its last moves by elements, and only on the way out.
 *
 * In between a thread is free to read and write any element of shared memory, at the price of an instruction for one, or two. */
#pragma once
#include "element.cuh"
#include "mma.cuh"

namespace strip {
/* Pieces low <= k < high of `elements` each (at most MOST), LINE apart in global memory, piece 0 at element `from` of the tensor (negative for one that would begin before it).
 * The tensor has `end` elements; none outside of it is touched. All N threads of the block; complete after copy_async_wait and a barrier. */
template <typename T, int MOST, int PITCH, int N>
static __device__ __forceinline__ void take(T *to, const T *all, long long from, int line, int elements, int low, int high, long long end)
{
    constexpr int V = 16 / sizeof(T), VECTORS = (MOST + V - 1) / V + 1; /* one more where a row begins between */
    int over = from & (V - 1);
#pragma unroll 2
    for (int i = threadIdx.x; i < (high - low) * VECTORS; i += N) {
        int k = low + i / VECTORS, at = k * PITCH + over, before = at % V, e = i % VECTORS * V - before; /* e: of the piece */
        long long element = from + (long long)k * line + e, left = (end - element) * (long long)sizeof(T);
        if (e < elements && element >= 0 && left > 0)
            copy_async_16_of(shared_address(to + at + e), all + element, left >= 16 ? 16 : (unsigned)left);
    }
}

/* The same pieces back to global memory, piece 0 at element `to` of the tensor. All threads of the block. */
template <typename T, int MOST, int PITCH, int N>
static __device__ __forceinline__ void give(T *all, const T *from, long long to, int line, int elements, int low, int high)
{
    constexpr int V = 16 / sizeof(T), VECTORS = (MOST + V - 1) / V;
    int over = to & (V - 1);
#pragma unroll 2
    for (int i = threadIdx.x; i < (high - low) * VECTORS; i += N) {
        int k = low + i / VECTORS, at = k * PITCH + over, e = (-at & (V - 1)) + i % VECTORS * V;
        if (e + V <= elements)
            *reinterpret_cast<uint4 *>(all + to + (long long)k * line + e) = *reinterpret_cast<const uint4 *>(from + at + e);
    }
    for (int i = threadIdx.x; i < (high - low) * 2 * V; i += N) { /* before the first whole vector and after the last */
        int k = low + i / (2 * V), at = k * PITCH + over, e = i % V, skipped = min(-at & (V - 1), elements), rest = (elements - skipped) % V;
        bool after = i / V % 2;
        if (e < (after ? rest : skipped)) {
            e += after ? elements - rest : 0;
            all[to + (long long)k * line + e] = from[at + e];
        }
    }
}
} // namespace strip
