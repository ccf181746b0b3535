/* movement/shuffle_strip: depth_to_space and its inverse in NCHW, for rows that begin at any element (movement/strip.cuh).
 *
 * A line of the image with fewer channels takes its pixels alternately from BLOCK planes of the other. A block of threads has pieces of ROWS rows of these planes, and the lines that they
 * make; a thread interleaves PX pixels of each.
 *
 * Share of the speed of a device copy, measured on an H200, f16, cold: depth_to_space to 16 channels of 1438 x 1278 0.95, space_to_depth of 32 channels of 718 x 1278 0.92. With strips of
 * 512 and 127 pixels, where now two are equal, it was 0.85 and 0.81.
 *
 * Needs BLOCK, ELEMENT_T, WIDTH (of the deep image), STRIP_PIXELS (pixels of a piece, a multiple of PX), ROWS, PX, PLANE (elements of shared memory for a plane's pieces), PITCH_DEEP and
 * PITCH_LINE (movement/strip.cuh) and SHUFFLE_THREADS as constants. */
#pragma once
#include "movement/strip.cuh"

namespace shuffle {
constexpr int STRIP_V = 16 / sizeof(ELEMENT_T), RUN = PX * BLOCK;
constexpr int widest(int n, int v) { return n % v == 0 ? v : widest(n, v / 2); }
constexpr int MOVED = widest(WIDTH * BLOCK, widest(RUN, STRIP_V)); /* elements of a line that move at once */

extern __shared__ __align__(128) unsigned char strips[];

/* Called by all threads of the block. deep: first element of the block's piece of plane 0 (planes are `planes` elements apart); shallow: of its first line. Both tensors have
 * `end` elements. TO_LINES: depth_to_space. */
template <bool TO_LINES>
static __device__ __forceinline__ void strip_of(const ELEMENT_T *input, ELEMENT_T *output, long long deep, long long planes, long long shallow, int pixels, int rows, long long end)
{
    constexpr int line = BLOCK * BLOCK * WIDTH;
    ELEMENT_T *plane = reinterpret_cast<ELEMENT_T *>(strips), *lines = plane + BLOCK * PLANE;
    if (TO_LINES)
        for (int dx = 0; dx < BLOCK; dx++)
            strip::take<ELEMENT_T, ROWS, STRIP_PIXELS, PITCH_DEEP, SHUFFLE_THREADS>(plane + dx * PLANE, input, deep + dx * planes, WIDTH, pixels, 0, rows, end);
    else
        strip::take<ELEMENT_T, ROWS, STRIP_PIXELS * BLOCK, PITCH_LINE, SHUFFLE_THREADS>(lines, input, shallow, line, pixels * BLOCK, 0, rows, end);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();

    for (int i = threadIdx.x; i < rows * (STRIP_PIXELS / PX); i += SHUFFLE_THREADS) {
        int x = i % (STRIP_PIXELS / PX) * PX, k = i / (STRIP_PIXELS / PX);
        ELEMENT_T *own = lines + (shallow & (STRIP_V - 1)) + k * PITCH_LINE + x * BLOCK, v[RUN];
        if (!TO_LINES && x < pixels)
#pragma unroll
            for (int j = 0; j < RUN; j += MOVED) {
                pack<ELEMENT_T, MOVED> p = load_pack<ELEMENT_T, MOVED>(x + j / BLOCK < pixels ? own + j : own);
#pragma unroll
                for (int e = 0; e < MOVED; e++)
                    v[j + e] = p.item[e];
            }
#pragma unroll
        for (int dx = 0; dx < BLOCK; dx++) {
            ELEMENT_T *from = plane + dx * PLANE + ((deep + dx * planes) & (STRIP_V - 1)) + k * PITCH_DEEP + x;
#pragma unroll
            for (int j = 0; j < PX; j++)
                if (x + j < pixels) {
                    if (TO_LINES)
                        v[j * BLOCK + dx] = from[j];
                    else
                        from[j] = v[j * BLOCK + dx];
                } else if (TO_LINES)
                    v[j * BLOCK + dx] = ELEMENT_T(0);
        }
        if (TO_LINES && x < pixels)
#pragma unroll
            for (int j = 0; j < RUN; j += MOVED) {
                pack<ELEMENT_T, MOVED> p;
#pragma unroll
                for (int e = 0; e < MOVED; e++)
                    p.item[e] = v[j + e];
                store_pack<ELEMENT_T, MOVED>(own + j, p);
            }
    }
    __syncthreads();
    if (TO_LINES)
        strip::give<ELEMENT_T, ROWS, STRIP_PIXELS * BLOCK, PITCH_LINE, SHUFFLE_THREADS>(output, lines, shallow, line, pixels * BLOCK, 0, rows);
    else
        for (int dx = 0; dx < BLOCK; dx++)
            strip::give<ELEMENT_T, ROWS, STRIP_PIXELS, PITCH_DEEP, SHUFFLE_THREADS>(output, plane + dx * PLANE, deep + dx * planes, WIDTH, pixels, 0, rows);
}

/* Grid: strips of a row times groups of ROWS rows, and (image, channel of the shallow image, dy). C, H: of the deep image. */
template <bool TO_LINES> static __device__ __forceinline__ void strip_of_block(const ELEMENT_T *input, ELEMENT_T *output, int C, int H, long long end)
{
    constexpr int across = (WIDTH + STRIP_PIXELS - 1) / STRIP_PIXELS;
    int x0 = blockIdx.x % across * STRIP_PIXELS, y0 = blockIdx.x / across * ROWS, dy = blockIdx.y % BLOCK, co = C / (BLOCK * BLOCK), c = blockIdx.y / BLOCK % co;
    long long image = blockIdx.y / BLOCK / co;
    int first = CRD ? (c * BLOCK + dy) * BLOCK : co * BLOCK * dy + c, step = CRD ? 1 : co; /* planes */
    long long deep = ((image * C + first) * H + y0) * WIDTH + x0, shallow = (((image * co + c) * H + y0) * BLOCK + dy) * (WIDTH * BLOCK) + x0 * BLOCK;
    strip_of<TO_LINES>(input, output, deep, (long long)step * H * WIDTH, shallow, min(STRIP_PIXELS, WIDTH - x0), min(ROWS, H - y0), end);
}
} // namespace shuffle
