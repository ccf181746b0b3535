/* movement/shuffle_tile: depth_to_space and its inverse of an NHWC tile, in shared memory, for runs of channels that are too short to be moved by themselves.
 *
 * A tile is PIXELS pixels of a row of the deep image. They are one piece of memory there, and BLOCK pieces in the shallow one, which makes three passes:
 *   in       whole pieces, FROM_BYTES a thread, asynchronously
 *   permute  a thread takes the elements of one line dy of GROUP pixels: BLOCK neighbours (CRD) or the whole line (DCR) of each, permutes them in registers, and
 *            has whole vectors on the other side
 *   out      whole pieces again
 * So neither side of global memory sees anything but runs of kilobytes, and shared memory no single elements (but for an odd BLOCK).
 *
 * Measured on an H200, f16, cold, against a device copy of the same bytes: 3 channels at r = 2, 3, 4, 8 0.92 to 1.06 (each thread for itself: 0.47 to 0.65), 16 channels at
 * r = 4 and 8 1.00 (0.81, 0.62); space_to_depth CRD 0.94 to 1.04 (0.21 to 0.86).
 *
 * Needs BLOCK, CRD, CHANNELS (of the deep image), PIXELS (a multiple of 8), ELEMENT_T, DEEP_BYTES and LINE_BYTES (what divides a row of each image, at most 16) as constants. */
#pragma once
#include "element/element.cuh"
#include "tensor_core/mma.cuh"

namespace shuffle {
constexpr int SIZE = sizeof(ELEMENT_T), V = 16 / SIZE, SQUARE = BLOCK * BLOCK;
constexpr int CO = CHANNELS / SQUARE, LINE = BLOCK * CO; /* channels of the shallow image; elements of a pixel that share a line */

constexpr bool SUBSETS = CO % V == 0;             /* a thread takes V channels of a pixel, else all of GROUP pixels */
constexpr int TAKEN = SUBSETS ? V : CO;           /* channels of an item */
/* Pixels that make whole vectors, if that is not more than 72 elements; else shorter vectors. */
constexpr int vector_for(int v) { return v == 1 || v / divisor(LINE, v) * LINE <= 72 ? v : vector_for(v / 2); }
constexpr int STORE = SUBSETS ? V : vector_for(V), GROUP = SUBSETS ? 1 : STORE / divisor(LINE, STORE);
constexpr int ATOM = CRD ? divisor(BLOCK, V) : SUBSETS ? V : divisor(LINE, V); /* neighbours in both orders, before the permutation */
constexpr int SETS = CO / TAKEN, ITEMS = PIXELS / GROUP * SETS * BLOCK;

/* Shared memory: the deep piece with some bits of the item added to a vector's place, so that items lie in different banks; then the lines, 2 vectors apart in banks. */
constexpr int DEEP = PIXELS * CHANNELS * SIZE, LINE_AREA = PIXELS * LINE * SIZE, LINE_PITCH = LINE_AREA + (LINE_AREA % 128 <= 32 ? 32 - LINE_AREA % 128 : 160 - LINE_AREA % 128);
constexpr int ITEM_BYTES = GROUP * CHANNELS / SETS * SIZE, SPAN = ITEM_BYTES % 16 == 0 ? ITEM_BYTES / 16 : 0;
constexpr int ZEROS = SPAN == 0 || SPAN % 2 ? 0 : SPAN % 8 == 0 ? 3 : SPAN % 4 == 0 ? 2 : 1;

extern __shared__ __align__(128) unsigned char area[];

/* Byte of the deep piece. */
static __device__ __forceinline__ unsigned deep_at(int byte)
{
    return ZEROS ? byte ^ (byte / (16 * (SPAN ? SPAN : 1)) >> (3 - ZEROS) & ((1 << ZEROS) - 1)) * 16 : byte;
}
static __device__ __forceinline__ unsigned line_at(int dy, int byte) { return DEEP + dy * LINE_PITCH + byte; }

template <int BYTES> static __device__ __forceinline__ void fetch(unsigned at, const unsigned char *from)
{
    if (BYTES == 16)
        copy_async_16(shared_address(area) + at, from, true);
    else if (BYTES == 8)
        copy_async_8(shared_address(area) + at, from);
    else if (BYTES == 4)
        copy_async_4(shared_address(area) + at, from, true);
    else
        *reinterpret_cast<ELEMENT_T *>(area + at) = *reinterpret_cast<const ELEMENT_T *>(from);
}
template <int BYTES> static __device__ __forceinline__ void put(unsigned char *to, unsigned at)
{
    using word = typename bytes_of<BYTES>::type;
    *reinterpret_cast<word *>(to) = *reinterpret_cast<const word *>(area + at);
}

/* N elements between an array of registers and shared memory. */
template <bool LOAD, int N> static __device__ __forceinline__ void move(ELEMENT_T *v, unsigned at)
{
    pack<ELEMENT_T, N> p;
    if (LOAD)
        p = load_pack<ELEMENT_T, N>(reinterpret_cast<const ELEMENT_T *>(area + at));
#pragma unroll
    for (int i = 0; i < N; i++)
        if (LOAD)
            v[i] = p.item[i];
        else
            p.item[i] = v[i];
    if (!LOAD)
        store_pack<ELEMENT_T, N>(reinterpret_cast<ELEMENT_T *>(area + at), p);
}

/* An item's elements on the deep side: in v they lie as in the line, [pixel][dx][channel]. */
template <bool LOAD> static __device__ __forceinline__ void move_deep(ELEMENT_T v[GROUP * BLOCK * TAKEN], int pixel, int set, int dy)
{
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
        int first = (pixel + g) * CHANNELS;
        if (CRD) {
#pragma unroll
            for (int c = 0; c < TAKEN; c++)
#pragma unroll
                for (int dx = 0; dx < BLOCK; dx += ATOM) {
                    ELEMENT_T atom[ATOM];
                    unsigned at = deep_at((first + (set * TAKEN + c) * SQUARE + dy * BLOCK + dx) * SIZE);
#pragma unroll
                    for (int i = 0; !LOAD && i < ATOM; i++)
                        atom[i] = v[(g * BLOCK + dx + i) * TAKEN + c];
                    move<LOAD, ATOM>(atom, at);
#pragma unroll
                    for (int i = 0; LOAD && i < ATOM; i++)
                        v[(g * BLOCK + dx + i) * TAKEN + c] = atom[i];
                }
        } else {
#pragma unroll
            for (int e = 0; e < BLOCK * TAKEN; e += ATOM) /* of the item; SUBSETS: V channels of each dx */
                move<LOAD, ATOM>(v + g * BLOCK * TAKEN + e, deep_at((first + dy * LINE + (SUBSETS ? e / TAKEN * CO + set * TAKEN : e)) * SIZE));
        }
    }
}
template <bool LOAD> static __device__ __forceinline__ void move_line(ELEMENT_T v[GROUP * BLOCK * TAKEN], int pixel, int set, int dy)
{
#pragma unroll
    for (int e = 0; e < GROUP * BLOCK * TAKEN; e += STORE)
        move<LOAD, STORE>(v + e, line_at(dy, (pixel * LINE + (SUBSETS ? e / TAKEN * CO + set * TAKEN : e)) * SIZE));
}

/* The pixels that the last group of a row has too many. */
static __device__ __forceinline__ void blank(bool deep, int pixels)
{
    int elements = (pixels + GROUP - 1) / GROUP * GROUP - pixels, each = deep ? CHANNELS : LINE;
    for (int i = threadIdx.x; i < elements * CHANNELS; i += 256) {
        int at = (pixels * each + i % (elements * each)) * SIZE;
        *reinterpret_cast<ELEMENT_T *>(area + (deep ? deep_at(at) : line_at(i / (elements * each), at))) = ELEMENT_T(0);
    }
}

/* All threads of the block (256). deep, shallow: where the tile begins in each image; shallow lines are `shallow_row` bytes apart. TO_LINES: depth_to_space. */
template <bool TO_LINES> static __device__ __forceinline__ void tile(unsigned char *deep, unsigned char *shallow, size_t shallow_row, int pixels)
{
    int deep_bytes = pixels * CHANNELS * SIZE, line_bytes = pixels * LINE * SIZE;
    if (TO_LINES) {
#pragma unroll 4
        for (int i = threadIdx.x * DEEP_BYTES; i < deep_bytes; i += 256 * DEEP_BYTES)
            fetch<DEEP_BYTES>(deep_at(i), deep + i);
    } else {
        for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll 4
            for (int i = threadIdx.x * LINE_BYTES; i < line_bytes; i += 256 * LINE_BYTES)
                fetch<LINE_BYTES>(line_at(dy, i), shallow + dy * shallow_row + i);
    }
    if (GROUP > 1)
        blank(TO_LINES, pixels);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    for (int i = threadIdx.x; i < ITEMS; i += 256) {
        int dy = i % BLOCK, set = i / BLOCK % SETS, pixel = i / (BLOCK * SETS) * GROUP;
        if (pixel >= pixels)
            break;
        ELEMENT_T v[GROUP * BLOCK * TAKEN];
        if (TO_LINES) {
            move_deep<true>(v, pixel, set, dy);
            move_line<false>(v, pixel, set, dy);
        } else {
            move_line<true>(v, pixel, set, dy);
            move_deep<false>(v, pixel, set, dy);
        }
    }
    __syncthreads();
    if (TO_LINES) {
        for (int dy = 0; dy < BLOCK; dy++)
#pragma unroll 4
            for (int i = threadIdx.x * LINE_BYTES; i < line_bytes; i += 256 * LINE_BYTES)
                put<LINE_BYTES>(shallow + dy * shallow_row + i, line_at(dy, i));
    } else {
#pragma unroll 4
        for (int i = threadIdx.x * DEEP_BYTES; i < deep_bytes; i += 256 * DEEP_BYTES)
            put<DEEP_BYTES>(deep + i, deep_at(i));
    }
}
} // namespace shuffle
