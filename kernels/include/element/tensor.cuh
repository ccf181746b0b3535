/* element/tensor: where an element of an activation or a filter lies, for every layout that a head can name.
 *
 * A head says `NHWC: layout(input) == 'NHWC'` (0 is NCHW) and `FILTER: layout(filter)`, and the functions fold to one line each. */
#pragma once

#ifdef NHWC
/* Offset of (c, y, x) in an image. An image has fewer than 2^31 elements; a batch may have more. */
__device__ __forceinline__ int at(int c, int y, int x, int channels, int height, int width)
{
    return NHWC ? (y * width + x) * channels + c : (c * height + y) * width + x;
}
#endif

#ifdef DIVISOR
/* The divisor of the mean over a window whose first tap is at (y, x). DIVISOR 0: all taps; 1: those before the end of the padding; 2: those inside the
 * image. */
__device__ __forceinline__ int mean_of(int y, int x, int H, int W)
{
    int rows = 0, columns = 0;
    for (int r = 0; r < R; r++)
        rows += DIVISOR < 2 ? y + r * DILATION_Y < H + PAD_BOTTOM : y + r * DILATION_Y >= 0 && y + r * DILATION_Y < H;
    for (int s = 0; s < S; s++)
        columns += DIVISOR < 2 ? x + s * DILATION_X < W + PAD_RIGHT : x + s * DILATION_X >= 0 && x + s * DILATION_X < W;
    return DIVISOR ? rows * columns : R * S;
}
#endif

#ifdef FILTER
#define FILTER_KCRS 1
#define FILTER_KRSC 2
#define FILTER_RSCK 3
#define FILTER_CRSK 4
#define FILTER_PASTE(a) FILTER_##a
#define FILTER_NAME(a) FILTER_PASTE(a)
/* Offset of (k, c, r, s) in a filter of that many outputs, channels, rows and columns. Lower case, because R and S may be constants of the head. */
__device__ __forceinline__ int filter_at(int k, int c, int r, int s, int outputs, int channels, int rows, int columns)
{
    return FILTER_NAME(FILTER) == FILTER_KCRS   ? ((k * channels + c) * rows + r) * columns + s
           : FILTER_NAME(FILTER) == FILTER_KRSC ? ((k * rows + r) * columns + s) * channels + c
           : FILTER_NAME(FILTER) == FILTER_RSCK ? ((r * columns + s) * channels + c) * outputs + k
                                                : ((c * rows + r) * columns + s) * outputs + k;
}
#endif
