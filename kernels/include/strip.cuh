/* strip: pieces of rows between global memory and shared memory, 16 bytes at a time, where rows begin at any element.
 *
 * A block has ROWS_IN pieces of neighbouring rows of one tensor, and makes ROWS_OUT pieces of neighbouring rows of another. A piece lies in shared memory as far from a multiple
 * of 16 bytes as in global memory, so its whole vectors are whole vectors there. Rows that follow each other begin LINE elements apart, and their pieces a PITCH that
 * is the same modulo the vector: element e of piece k is always at k * PITCH + e. What a piece has before its first whole vector and after its last moves by elements, and only on the way out.
 *
 * In between a thread is free to read and write any element of shared memory, at the price of an instruction for one, or two. */
#pragma once
#include "element.cuh"
#include "mma.cuh"

namespace strip {
/* Elements from a piece to the next: room for `count` and what hangs over at both ends, and `line` modulo the vector. */
constexpr int pitch(int count, int line, int v) { return (count + 2 * v + v - 1) / v * v + line % v; }

/* COUNT pieces of `elements`, LINE apart in global memory, the first at element `from` of the tensor (negative for one that would begin before it); those outside of 0 <= k < rows
 * are left out. The tensor has `end` elements; none outside of it is touched. All threads of the block; complete after copy_async_wait and a barrier. */
template <typename T, int PITCH, int N>
static __device__ __forceinline__ void take(T *to, const T *all, long long from, int line, int elements, int low, int high, long long end)
{
    constexpr int V = 16 / sizeof(T);
    int over = from & (V - 1), vectors = (elements + V - 1) / V + 1; /* one more than needed where the row's offset is small */
    for (int k = low + threadIdx.x / 32; k < high; k += N / 32) {
        int at = k * PITCH + over, before = at % V;
        long long first = from + (long long)k * line - before;
        for (int i = threadIdx.x % 32; i < vectors; i += 32) {
            long long element = first + i * V, left = (end - element) * (long long)sizeof(T);
            if (element >= 0 && left > 0)
                copy_async_16_of(shared_address(to + at - before + i * V), all + element, left >= 16 ? 16 : (unsigned)left);
        }
    }
}

/* Pieces low <= k < high of `elements` each back to global memory, piece 0 at element `to` of the tensor. All threads of the block. */
template <typename T, int PITCH, int N>
static __device__ __forceinline__ void give(T *all, const T *from, long long to, int line, int elements, int low, int high)
{
    constexpr int V = 16 / sizeof(T);
    int over = to & (V - 1), lane = threadIdx.x % 32;
    for (int k = low + threadIdx.x / 32; k < high; k += N / 32) {
        const T *piece = from + k * PITCH + over;
        T *row = all + to + (long long)k * line;
        int skipped = min(-(k * PITCH + over) & (V - 1), elements), rest = (elements - skipped) % V;
        for (int e = skipped + lane * V; e + V <= elements; e += 32 * V)
            *reinterpret_cast<uint4 *>(row + e) = *reinterpret_cast<const uint4 *>(piece + e);
        if (lane < skipped)
            row[lane] = piece[lane];
        if (lane < rest)
            row[elements - rest + lane] = piece[elements - rest + lane];
    }
}
} // namespace strip
