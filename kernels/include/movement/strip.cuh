/* movement/strip: copies pieces of rows between global and shared memory, 16 bytes at a time, for rows that begin at any element.
 *
 * A block reads pieces of adjacent rows of one tensor and writes pieces of adjacent rows of another. In shared memory a piece has the same offset from a multiple of 16 bytes as in global
 * memory, so the same vectors are aligned. Rows begin LINE elements apart, and their pieces a PITCH that is equal modulo the vector: element e of piece k is always at k * PITCH + e. The
 * elements before a piece's first whole vector and after its last are moved one by one, and only on the way out.
 *
 * In between a thread may read and write any element of shared memory, for one instruction each, or two. */
#pragma once
#include "element/element.cuh"
#include "tensor_core/mma.cuh"

namespace strip {
/* How many of N threads take a piece, so that the block is through with all of them soonest: rounds of pieces times rounds of vectors, and what a piece costs by itself. */
constexpr int rounds(int pieces, int vectors, int n, int lanes) { return (pieces + n / lanes - 1) / (n / lanes) * ((vectors + lanes - 1) / lanes + 2); }
constexpr int lanes_of(int pieces, int vectors, int n)
{
    int best = n;
    for (int lanes = n / 2; lanes >= 8; lanes /= 2)
        best = rounds(pieces, vectors, n, lanes) < rounds(pieces, vectors, n, best) ? lanes : best;
    return best;
}

/* Pieces low <= k < high (at most PIECES) of `elements` each (at most MOST), `line` apart in global memory, piece 0 at element `from` of the tensor (negative for one that would begin
 * before it). The tensor has `end` elements; none outside of it is touched. All N threads of the block; complete after copy_async_wait and a barrier. */
template <typename T, int PIECES, int MOST, int PITCH, int N>
static __device__ __forceinline__ void take(T *to, const T *all, long long from, int line, int elements, int low, int high, long long end)
{
    constexpr int V = 16 / sizeof(T), VECTORS = (MOST + V - 1) / V + 1, LANES = lanes_of(PIECES, VECTORS, N); /* a vector more where a row begins between */
    int over = from & (V - 1);
    for (int k = low + threadIdx.x / LANES; k < high; k += N / LANES) {
        int at = k * PITCH + over, before = at % V;
        long long first = from + (long long)k * line;
        for (int e = threadIdx.x % LANES * V - before; e < elements; e += LANES * V) {
            long long left = (end - first - e) * (long long)sizeof(T);
            if (first + e >= 0 && left > 0)
                copy_async_16_of(shared_address(to + at + e), all + first + e, left >= 16 ? 16 : (unsigned)left);
        }
    }
}

/* The same pieces back to global memory, piece 0 at element `to` of the tensor. All threads of the block. */
template <typename T, int PIECES, int MOST, int PITCH, int N>
static __device__ __forceinline__ void give(T *all, const T *from, long long to, int line, int elements, int low, int high)
{
    constexpr int V = 16 / sizeof(T), LANES = lanes_of(PIECES, (MOST + V - 1) / V, N);
    int over = to & (V - 1), lane = threadIdx.x % LANES;
    for (int k = low + threadIdx.x / LANES; k < high; k += N / LANES) {
        const T *piece = from + k * PITCH + over;
        T *row = all + to + (long long)k * line;
        int skipped = min(-(k * PITCH + over) & (V - 1), elements), rest = (elements - skipped) % V;
        for (int e = skipped + lane * V; e + V <= elements; e += LANES * V)
            *reinterpret_cast<uint4 *>(row + e) = *reinterpret_cast<const uint4 *>(piece + e);
        if (lane < skipped) /* V - 1 at most */
            row[lane] = piece[lane];
        if (lane < rest)
            row[elements - rest + lane] = piece[elements - rest + lane];
    }
}
} // namespace strip
