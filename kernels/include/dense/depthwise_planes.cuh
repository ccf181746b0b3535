/* dense/depthwise_planes: a depthwise convolution of NCHW tensors whose lines come by TMA, for sm_90. Its variants:
 *   conv2d/depthwise_bulk_nchw       16-bit elements
 *   conv2d/depthwise_bulk_s8_nchw    whole numbers of 8 bits, results of 4 bytes
 *   conv2d/depthwise_bulk_tf32_nchw  f32 that is multiplied in TF32
 *   conv2d/depthwise_bulk_f32_nchw   f32
 *
 * A block goes down a plane with all columns of a line, or with some of a wide one. PERIOD lines come together, into a ring of RING such
 * pieces. Lines above and below the image are left out. ZEROS: shared memory has zeros for the columns beside the image, between whole
 * lines, and a period whose lines are all in the image has no branches between them. Without ZEROS, loads are guarded and whole lines come
 * as one copy. That is for f32, where two copies of a period's code cost more than the branches.
 *
 * A copy begins at a multiple of 16 bytes. BEFORE: columns in shared memory before a block's first output; PITCH: bytes of a line; TAIL:
 * behind the last line; WHOLE: lines are whole.
 *
 * Needs RING, WARPS, WIDTH, COLUMNS, PITCH, TAIL, WHOLE, BEFORE, EVEN, EXTRA as constants, and what dense/depthwise_line.cuh
 * does. */
#pragma once
#include "dense/depthwise_line.cuh"
#include "dense/depthwise_walk.cuh"

/* What copies leave out of a line, and what lies behind the last one. Of a line `there` times 16 bytes come, after `head` times 16. */
template <int SIZE> static __device__ __forceinline__ void fill_zeros(unsigned ring, int head, int there)
{
    constexpr int LINE = PITCH * SIZE;
    int each = LINE / 16 - there, behind = RING * PERIOD * each;
#pragma unroll 1
    for (int a = threadIdx.x; a < behind + TAIL * SIZE / 16; a += 32 * WARPS) {
        unsigned at = a < behind ? a / each * LINE + (a % each + (a % each < head ? 0 : there)) * 16
                                 : RING * PERIOD * LINE + (a - behind) * 16;
        asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(ring + at), "r"(0) : "memory");
    }
}

/* Lines from `from` on, at `lines` in shared memory; `there` of them from line `above` on are of the image. */
template <typename WARP, typename OUT>
static __device__ __forceinline__ void add_period(WARP &own, unsigned lines, int line, OUT *&to, int k, int from, int above, int there,
                                                  int rows)
{
    /* Every line is there, and so is every output that ends here: no branch between the lines. */
    if (WARP::ZEROS && from >= above && from + PERIOD <= above + there && from / STRIDE_Y >= LIVE - 1 && from / STRIDE_Y < rows) {
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            own.add(lines + u * line, u);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y;
            if (last % STRIDE_Y == 0) {
                own.put(last / STRIDE_Y % LIVE, to, k);
                to += COLUMNS;
            }
        }
    } else
#pragma unroll
        for (int u = 0; u < PERIOD; u++) {
            if ((unsigned)(from + u - above) < (unsigned)there)
                own.add(lines + u * line, u); /* also to outputs above the first and below the last one, which nobody stores */
            else
                own.begin(u);
            int last = u + (LIVE - 1) * STRIDE_Y - (R - 1) * DILATION_Y, row = from / STRIDE_Y + last / STRIDE_Y - (LIVE - 1);
            if (last % STRIDE_Y || (unsigned)row >= (unsigned)rows) /* no output ends here */
                continue;
            own.put(last / STRIDE_Y % LIVE, to, k);
            to += COLUMNS;
        }
}

/* WARP: what a warp does, for ACROSS outputs of a line. tiles_x blocks are beside each other; `all` of them are a plane's, times planes. */
template <typename WARP, typename T, typename OUT>
static __device__ __forceinline__ void convolve_planes(const T *input, const T *filter, const float *bias, OUT *output, int K, int H, int P,
                                                       int pad, int tiles_x, int all, int each)
{
    constexpr int SIZE = sizeof(T), LINE = PITCH * SIZE, SLOT = PERIOD * LINE;
    unsigned ring = (shared_address(shared_raw) + 127) / 128 * 128, come = ring + RING * SLOT + TAIL * SIZE, gone = come + RING * 8;
    if (threadIdx.x == 0) {
        for (int a = 0; a < RING; a++) {
            barrier_init(come + a * 8, 1);
            barrier_init(gone + a * 8, WARPS);
        }
        barrier_init_done();
    }
    unsigned slot = 0, parity = 0, before = 0, before_parity = 0;
    for (walk<WARP::ACROSS * WARPS> way(P, K, tiles_x, all, each); way.lines; way.column()) {
        int plane = way.n * K + way.k, y0 = way.p * STRIDE_Y - pad, q0 = way.q, x0 = q0 * STRIDE_X - BEFORE, lines = way.lines;
        int from_x = WHOLE ? 0 : max(0, x0), to_x = WHOLE ? WIDTH : min(WIDTH, x0 + PITCH); /* columns that are there */
        int above = max(0, -y0), there = min(lines, H - y0) - above, asked = 0;
        const T *image = input + (size_t)plane * H * WIDTH + from_x;
        auto ask = [&](unsigned slot) {
            int first = max(above, asked), count = max(0, min(above + there, asked + PERIOD) - first), bytes = (to_x - from_x) * SIZE;
            unsigned to = ring + slot * SLOT + (first - asked) * LINE + (from_x - x0) * SIZE;
            barrier_arrive_expect(come + slot * 8, count * bytes);
            int each = WHOLE && PITCH == WIDTH ? count : 1; /* lines, of a copy */
#pragma unroll 1
            for (int i = 0; i < count; i += each)
                copy_bytes(to + i * LINE, image + (size_t)(y0 + first + i) * WIDTH, each * bytes, come + slot * 8);
            asked += PERIOD;
        };
        if (threadIdx.x == 0) /* every place is free */
#pragma unroll 1
            for (unsigned a = 0, to = slot; a < RING && asked < lines; a++, to = to + 1 == RING ? 0 : to + 1)
                ask(to);
        if constexpr (WARP::ZEROS)
            fill_zeros<SIZE>(ring, (from_x - x0) * SIZE / 16, (to_x - from_x) * SIZE / 16);
        int own_q = q0 + (int)threadIdx.x / 32 * WARP::ACROSS;
        WARP own(filter, bias, way.k, K, own_q, x0);
        OUT *to = output + ((size_t)plane * P + way.p) * COLUMNS + own_q + own.first();
        __syncthreads(); /* zeros and barriers are there */
        for (int from = 0; from < lines; from += PERIOD) {
            if (threadIdx.x == 0 && from > 0 && asked < lines) { /* into the place of the period before, when all warps have read it */
                barrier_wait(gone + before * 8, before_parity);
                ask(before);
            }
            __syncwarp();
            barrier_wait(come + slot * 8, parity);
            add_period(own, ring + slot * SLOT, LINE, to, way.k, from, above, there, way.rows);
            __syncwarp(); /* all lanes have read it */
            if (threadIdx.x % 32 == 0)
                barrier_arrive(gone + slot * 8);
            before = slot, before_parity = parity;
            if (++slot == RING)
                slot = 0, parity ^= 1;
        }
        if (!EVEN) /* a part of a plane is all that a block has */
            return;
        if (!WHOLE)
            fence_async(); /* other columns may come to where zeros are */
        __syncthreads();   /* all periods are read */
    }
}
