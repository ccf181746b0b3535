/* dense/depthwise_bulk: a depthwise convolution of NHWC tensors whose lines come and leave by TMA, for sm_90. Its variants:
 *   conv2d/depthwise_bulk     16-bit elements
 *   conv2d/depthwise_bulk_s8  whole numbers of 8 bits, results of 4 bytes
 *
 * A block goes down the image with TILES_FIT times 32 outputs side by side, of BLOCK_CHANNELS channels. Lines of the input pass through a ring of RING of them, each once; what is outside of the
 * image arrives as zeros. A line is added to all LIVE lines of outputs that it belongs to, whose sums are in registers. Which sums these are repeats after PERIOD lines, which are
 * unrolled. One barrier a line tells that it has been read, and that a line of results may leave.
 *
 * A product has 16 rows, pairs of neighbouring outputs, and 8 columns: output of the pair, then channel of four. Its depth is pixels, then the same four channels, so that an element
 * of the weights' matrix counts if its channel is the column's and its pixel lies under the output's filter.
 *
 * Needs C, R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, BLOCK_CHANNELS, TILES_FIT, RING, SLOT, BOX_W as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, ring, two lines of results, barriers */

/* TMA's swizzle of boxes with ROW bytes a row; none of 16. */
template <int ROW> static __device__ __forceinline__ unsigned swizzled(unsigned at) { return at ^ (at >> 3 & ROW - 16); }

/* The weight of channel k of the filter's row r for column `output` of a pair and pixel x under it, as a word of `one`s in which it is the number `at`; or 0. */
template <typename T> static __device__ __forceinline__ unsigned weight_of(const T *filter, int r, int x, int output, int k, bool counts, int at)
{
    int along = x - output * STRIDE_X, s = along / DILATION_X;
    return counts && along >= 0 && along % DILATION_X == 0 && s < S ? (unsigned)filter[(r * S + s) * C + k] << at * 8 * (int)sizeof(T) : 0;
}

/* WARP: what a warp does, for UNIT channels of PIXEL bytes a pixel of the block's, and PUT bytes a pixel of its results. */
template <typename WARP, typename T>
static __device__ __forceinline__ void convolve_lines(const tensor_map *input, const tensor_map *output, const T *filter, const float *bias, int P, int pad, int pad_x, int parts_k,
                                                      int tiles_x, int rows, int parts)
{
    constexpr int STAGED = TILES_FIT * 32 * WARP::PUT, WARPS = BLOCK_CHANNELS / WARP::UNIT * TILES_FIT;
    int i = blockIdx.x, warp = threadIdx.x / 32;
    int k0 = i % parts_k * BLOCK_CHANNELS, q0 = i / parts_k % tiles_x * (32 * TILES_FIT), p = i / parts_k / tiles_x % parts * rows, n = i / parts_k / tiles_x / parts;
    int x0 = q0 * STRIDE_X - pad_x, y = p * STRIDE_Y - pad;
    rows = min(rows, P - p);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
    unsigned ring = (shared_address(shared_raw) + 1023) / 1024 * 1024, staging = ring + RING * SLOT, come = staging + 2 * STAGED;
    bool loads = threadIdx.x == 0, stores = threadIdx.x == 32 * (WARPS - 1);
    auto ask = [&](unsigned slot) {
        barrier_arrive_expect(come + slot * 8, BOX_W * WARP::PIXEL);
        copy_box_4d(ring + slot * SLOT, input, come + slot * 8, k0, x0, y++, n);
    };
    if (loads) {
        for (int a = 0; a < RING; a++)
            barrier_init(come + a * 8, 1);
        barrier_init_done();
        for (int a = 0; a < RING && a < lines; a++)
            ask(a);
    }
    WARP own(filter, bias, k0, warp / TILES_FIT * WARP::UNIT, warp % TILES_FIT);
    __syncthreads();
    unsigned slot = 0, parity = 0, place = 0; /* place: of two lines of results */
    for (int from = 0; from < lines; from += PERIOD) {
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if (from + u >= lines)
                break;
            barrier_wait(come + slot * 8, parity);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y;
            bool ready = last % STRIDE_Y == 0 && from / STRIDE_Y + last / STRIDE_Y >= LIVE - 1; /* a line of outputs ends here */
            own.add(ring + slot * SLOT, u); /* also to outputs above the first and below the last one, which nobody stores */
            if (ready)
                own.put(last / STRIDE_Y % LIVE, staging + place);
            if (stores)
                store_wait_read(); /* the line before: its place is the next one's */
            fence_async();
            __syncthreads();
            if (loads && from + u + RING < lines)
                ask(slot);
            if (stores && ready) {
                store_box_4d(output, staging + place, k0, q0, p, n);
                store_commit();
            }
            if (ready) {
                p++;
                place = STAGED - place;
            }
            if (++slot == RING)
                slot = 0, parity ^= 1;
        }
    }
    if (stores)
        store_wait();
}
