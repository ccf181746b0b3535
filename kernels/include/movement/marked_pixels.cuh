/* movement/marked_pixels: sparse kernels with little work for a pixel. A warp takes a word of a mask, 32 adjacent pixels, numbers the marked ones, and gives
 * PIXEL_LANES lanes to each: 32 is DeltaCNN's warp for each pixel; fewer if a pixel has fewer vectors of channels. Blocks have 32 x 8 threads. */
#pragma once
#include "element/element.cuh"

static __shared__ unsigned char numbered_pixels[8][32]; /* by warp */

/* The columns of the marked pixels, ascending. The whole warp calls it. */
static __device__ __forceinline__ const unsigned char *number_pixels(unsigned marks)
{
    unsigned char *pixels = numbered_pixels[threadIdx.y];
    int lane = threadIdx.x;
    if (marks >> lane & 1)
        pixels[__popc(marks & ((1u << lane) - 1))] = lane;
    __syncwarp();
    return pixels;
}

/* Calls body(column, first of the V channels) for every vector of V channels of every marked pixel. */
template <int V, typename BODY> static __device__ __forceinline__ void each_vector(unsigned marks, int channels, BODY body)
{
    const unsigned char *pixels = number_pixels(marks);
    int lane = threadIdx.x;
    for (int i = lane / PIXEL_LANES; i < __popc(marks); i += 32 / PIXEL_LANES)
        for (int c = lane % PIXEL_LANES * V; c < channels; c += PIXEL_LANES * V)
            body(pixels[i], c);
}

/* Is the input (y, x) marked? Outside the image nothing is. */
static __device__ __forceinline__ bool pixel_marked(const unsigned *mask, int y, int x, int H, int W)
{
    return y >= 0 && y < H && x >= 0 && x < W && (mask[y * ((W + 31) / 32) + x / 32] >> (x % 32) & 1);
}
