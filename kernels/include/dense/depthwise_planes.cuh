/* dense/depthwise_planes: a depthwise convolution of NCHW tensors whose lines come by the copy engine, for sm_90. Its variants:
 *   conv2d/depthwise_bulk_nchw       16-bit elements
 *   conv2d/depthwise_bulk_s8_nchw    whole numbers of 8 bits, results of 4 bytes
 *   conv2d/depthwise_bulk_tf32_nchw  f32 that is multiplied in TF32
 *   conv2d/depthwise_bulk_f32_nchw   f32
 *
 * A block goes down a plane with all columns of a line, or with some of a wide one. A line is added to all LIVE lines of outputs that it
 * belongs to, whose sums are in registers. Which sums these are repeats after PERIOD lines. So many lines come together, into a ring of
 * RING such pieces, and whole lines as one copy of bytes. Columns beside the image are not loaded from shared memory, and lines above and
 * below it are left out.
 *
 * A copy begins at a multiple of 16 bytes; BEFORE: columns in front of a block's first output that come with a part of a line.
 *
 * Needs R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, RING, WARPS, WIDTH, COLUMNS, BOX, BEFORE as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;
constexpr bool WHOLE_LINES = BOX == WIDTH; /* BOX: columns of a line in shared memory */

extern __shared__ unsigned char shared_raw[]; /* up to 127 bytes in front, ring, barriers */

/* WARP: what a warp does, for ACROSS outputs of a line. `parts` of a plane are under each other, tiles_x of them beside each other. */
template <typename WARP, typename T, typename OUT>
static __device__ __forceinline__ void convolve_planes(const T *input, const T *filter, const float *bias, OUT *output, int K, int H, int P,
                                                       int pad, int tiles_x, int rows, int parts)
{
    constexpr int SIZE = sizeof(T), LINE = BOX * SIZE, SLOT = (PERIOD * LINE + 127) / 128 * 128;
    int tile = blockIdx.x % tiles_x, part = blockIdx.x / tiles_x % parts, plane = blockIdx.x / tiles_x / parts, k = plane % K;
    int p0 = part * rows, y0 = p0 * STRIDE_Y - pad, q0 = tile * (WARP::ACROSS * WARPS), x0 = WHOLE_LINES ? 0 : q0 * STRIDE_X - BEFORE;
    int from_x = max(0, x0), to_x = min(WIDTH, x0 + BOX); /* columns that are there */
    rows = min(rows, P - p0);
    int lines = (rows - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1, above = max(0, -y0), there = min(lines, H - y0) - above, asked = 0;
    unsigned ring = (shared_address(shared_raw) + 127) / 128 * 128, come = ring + RING * SLOT, gone = come + RING * 8;
    const T *image = input + (size_t)plane * H * WIDTH + from_x;
    auto ask = [&](unsigned slot) {
        int first = max(above, asked), count = max(0, min(above + there, asked + PERIOD) - first), bytes = (to_x - from_x) * SIZE;
        int each = WHOLE_LINES ? count : 1; /* lines, of a copy */
        unsigned to = ring + slot * SLOT + (first - asked) * LINE + (from_x - x0) * SIZE;
        barrier_arrive_expect(come + slot * 8, count * bytes);
        for (int i = 0; i < count; i += each)
            copy_bytes(to + i * LINE, image + (size_t)(y0 + first + i) * WIDTH, each * bytes, come + slot * 8);
        asked += PERIOD;
    };
    if (threadIdx.x == 0) {
        for (int a = 0; a < RING; a++) {
            barrier_init(come + a * 8, 1);
            barrier_init(gone + a * 8, WARPS);
        }
        barrier_init_done();
        for (int a = 0; a < RING && asked < lines; a++)
            ask(a);
    }
    int own_q = q0 + (int)threadIdx.x / 32 * WARP::ACROSS;
    WARP own(filter, bias, k, K, own_q, x0);
    OUT *to = output + ((size_t)plane * P + p0) * COLUMNS + own_q;
    unsigned slot = 0, parity = 0, before = 0, before_parity = 0;
    __syncthreads();
    for (int from = 0; from < lines; from += PERIOD) {
        if (threadIdx.x == 0 && from > 0 && asked < lines) { /* into the place of the period before, when all warps have read it */
            barrier_wait(gone + before * 8, before_parity);
            ask(before);
        }
        __syncwarp();
        barrier_wait(come + slot * 8, parity);
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if ((unsigned)(from + u - above) < (unsigned)there)
                own.add(ring + slot * SLOT + u * LINE, u); /* also to outputs above the first and below the last one, which nobody stores */
            else
                own.begin(u);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y, row = from / STRIDE_Y + last / STRIDE_Y - (LIVE - 1);
            if (last % STRIDE_Y || (unsigned)row >= (unsigned)rows) /* no output ends here */
                continue;
            own.put(last / STRIDE_Y % LIVE, to, k, COLUMNS - own_q);
            to += COLUMNS;
        }
        __syncwarp(); /* all lanes have read it */
        if (threadIdx.x % 32 == 0)
            barrier_arrive(gone + slot * 8);
        before = slot, before_parity = parity;
        if (++slot == RING)
            slot = 0, parity ^= 1;
    }
}
