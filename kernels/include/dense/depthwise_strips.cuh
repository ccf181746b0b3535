/* dense/depthwise_strips: a depthwise convolution of NHWC tensors on tensor cores, whose products belong to one channel each, for sm_90. Its variants:
 *   conv2d/depthwise_strips       16-bit elements
 *   conv2d/depthwise_strips_tf32  f32 that is multiplied in TF32
 *   conv2d/depthwise_strips_s8    whole numbers of 8 bits, results of 4 bytes
 *
 * A block goes down the image with 128 outputs side by side, of CHANNELS channels. A product's 16 rows are strips of eight outputs: row m has the pixels under outputs 8 m to 8 m + 7, and
 * column n is a row of the filter, moved to output n / 2 + n % 2 * 4. A line is added to all LIVE lines of outputs that it belongs to, whose sums are in registers. Which sums these are
 * repeats after PERIOD lines, which are unrolled.
 *
 * Lines come through a ring of RING, and leave through one of four. There is no block barrier: warps arrive at mbarriers when they have read a line and when they have written one, and a
 * thread of another warpgroup loads and stores lines. A line is loaded while the one before is multiplied.
 *
 * Needs C, R, S, STRIDE_Y, STRIDE_X, DILATION_Y, DILATION_X, CHANNELS, RING, SLOT, BOX_W, TAKEN as constants. */
#pragma once
#include "element/element.cuh"
#include "element/epilogue.cuh"
#include "tensor_core/mma_s8.cuh"
#include "tensor_core/wgmma.cuh"

constexpr int LIVE = (R - 1) * DILATION_Y / STRIDE_Y + 1, PERIOD = LIVE * STRIDE_Y;

extern __shared__ unsigned char shared_raw[]; /* up to 1023 bytes in front, ring, four lines of results, barriers */

/* TMA's swizzle of boxes with ROW bytes a row; none of 16. */
template <int ROW> static __device__ __forceinline__ unsigned swizzled(unsigned at) { return at ^ (at >> 3 & ROW - 16); }

static __device__ __forceinline__ unsigned bytes_of_two(unsigned a, unsigned b, unsigned which)
{
    unsigned v;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(which));
    return v;
}

/* The tap of a row of the filter that pixel x of a lane's column looks at, or -1. */
static __device__ __forceinline__ int tap_of(int x)
{
    int column = threadIdx.x % 32 / 4, along = x - (column / 2 + column % 2 * 4) * STRIDE_X, s = along / DILATION_X;
    return along >= 0 && along % DILATION_X == 0 && s < S ? s : -1;
}

/* A place of a ring of N, and the parity of the phase that it is in. */
template <int N> struct place {
    unsigned at = 0, parity = 0;
    __device__ __forceinline__ void next()
    {
        if (++at == N)
            at = 0, parity ^= 1;
    }
};

/* What a block makes: rows from p on, of 128 outputs from q on, of CHANNELS channels from k on. */
struct part {
    int k, q, p, n, lines;
    __device__ __forceinline__ part(int P, int parts_k, int tiles_x, int rows, int parts)
    {
        int i;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(i)); /* each time anew: between two parts nothing of it stays in registers */
        k = i % parts_k * CHANNELS;
        q = i / parts_k % tiles_x * 128;
        p = i / parts_k / tiles_x % parts * rows;
        n = i / parts_k / tiles_x / parts;
        lines = (min(rows, P - p) - 1) * STRIDE_Y + (R - 1) * DILATION_Y + 1;
    }
};

/* What one thread does for all: asks for lines, and lets lines of results leave that all warps have written. */
template <int PIXEL, int STAGED>
static __device__ __forceinline__ void serve(const tensor_map *input, const tensor_map *output, unsigned ring, unsigned staging, unsigned come, unsigned gone, unsigned full,
                                             unsigned free, const part &own, int x, int y)
{
    place<RING> in;
    place<4> out;
    int stored = 0;
#pragma unroll 1
    for (int line = 0; line < own.lines + RING + 1; line++) {
        if (line < own.lines) {
            if (line >= RING)
                barrier_wait(gone + in.at * 8, in.parity ^ 1);
            barrier_arrive_expect(come + in.at * 8, BOX_W * PIXEL);
            copy_box_4d(ring + in.at * SLOT, input, come + in.at * 8, own.k, x, y + line, own.n);
            in.next();
        }
        int reach = line - RING - 1 - (R - 1) * DILATION_Y; /* of the line of results that line `line` - RING - 1 ends */
        if (reach < 0 || reach % STRIDE_Y)
            continue;
        barrier_wait(full + out.at * 8, out.parity);
        store_box_4d(output, staging + out.at * STAGED, own.k, own.q, own.p + stored, own.n);
        store_commit();
        store_wait_read<1>();
        if (stored > 0)
            barrier_arrive(free + (out.at + 3) % 4 * 8);
        stored++;
        out.next();
    }
    store_wait();
}

/* WARP: what a warp does, for GROUP channels of PIXEL bytes a pixel of the block's, and PUT bytes a pixel of its results. */
template <typename WARP, typename T>
static __device__ __forceinline__ void convolve_strips(const tensor_map *input, const tensor_map *output, const T *filter, const float *bias, int P, int pad, int pad_x, int parts_k,
                                                       int tiles_x, int rows, int parts)
{
    constexpr int STAGED = 128 * WARP::PUT, WARPS = CHANNELS / WARP::GROUP;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned ring = (shared_address(shared_raw) + 1023) / 1024 * 1024, staging = ring + RING * SLOT;
    unsigned come = staging + 4 * STAGED, gone = come + RING * 8, full = gone + RING * 8, free = full + 32;
    if (threadIdx.x == 0) {
        for (int a = 0; a < RING; a++) {
            barrier_init(come + a * 8, 1);
            barrier_init(gone + a * 8, WARPS);
        }
        for (int a = 0; a < 4; a++) {
            barrier_init(full + a * 8, WARPS);
            barrier_init(free + a * 8, 1);
        }
        barrier_init_done();
    }
    __syncthreads();
    if (warp >= WARPS) {
        give_registers<24>();
        if (threadIdx.x == 32 * WARPS) {
            part own(P, parts_k, tiles_x, rows, parts);
            serve<WARP::PIXEL, STAGED>(input, output, ring, staging, come, gone, full, free, own, own.q * STRIDE_X - pad_x, own.p * STRIDE_Y - pad);
        }
        return;
    }
    take_registers<TAKEN>();
    WARP own(filter, bias, part(P, parts_k, tiles_x, rows, parts).k, warp * WARP::GROUP);
    typename WARP::line next;
    place<RING> in;
    place<4> out;
    barrier_wait(come, 0);
    own.load(next, ring);
    bool begun = false; /* a period is over */
    for (int left = part(P, parts_k, tiles_x, rows, parts).lines; left > 0; left -= PERIOD, begun = true) {
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if (u >= left)
                break;
            typename WARP::operands now;
            own.sort(now, next);
            __syncwarp();
            if (lane == 0)
                barrier_arrive(gone + in.at * 8);
            in.next();
            if (u + 1 < left) {
                barrier_wait(come + in.at * 8, in.parity);
                own.load(next, ring + in.at * SLOT);
            }
            own.add(now, u); /* also to outputs above the first and below the last one, which nobody stores */
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y;
            if (last % STRIDE_Y == 0 && (begun || last / STRIDE_Y >= LIVE - 1)) { /* a line of outputs ends here */
                barrier_wait(free + out.at * 8, out.parity ^ 1);
                own.put(last / STRIDE_Y % LIVE, staging + out.at * STAGED);
                fence_async();
                __syncwarp();
                if (lane == 0)
                    barrier_arrive(full + out.at * 8);
                out.next();
            }
        }
    }
}
