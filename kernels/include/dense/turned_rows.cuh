/* dense/turned_rows: the producer of dense/wgmma_rows.cuh for NCHW. TMA copies a row unchanged, [64 channels][pixels], to one of STAGES buffers, and the four warps of
 * the producer, idle in NHWC, transpose it on its way into the ring: ldmatrix loads 8x8 blocks transposed, stmatrix stores them where the taps read them.
 *
 * In a box, x must start at a multiple of 16 bytes, 8 pixels, or TMA stops with an illegal instruction; with padding it would start one pixel earlier. So a stage starts
 * up to 7 pixels before the strip, and the transposition corrects that: a lane's row of a block may go to any pixel. Rows of the ring are as long as stages; what lies
 * before the strip goes behind it, where no thread reads it. */
#pragma once
#include "dense/image_rows.cuh"

#ifndef PAD_MORE
#define PAD_MORE 0 /* of columns, beside that of rows */
#endif

constexpr int STAGES = 3, STAGE_PIXELS = STRIP_WIDTH + 16, STAGE_BYTES = STAGE_PIXELS * 128;
static_assert(ROW_BYTES == STAGE_BYTES && S <= 9, "up to 7 pixels before the strip, S - 1 more than it has");

/* `before`: pixels of the stage before the strip's first. */
static __device__ __forceinline__ void turn_row(unsigned from, unsigned to, int before)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1 /* the producer has 24 registers */
    for (int i = warp; i < STAGE_PIXELS / 8 * 2; i += 4) { /* 4 blocks: 8 pixels of 32 channels; matrix lane / 8, row lane % 8 */
        int group = i % 2 * 4 + lane / 8, pixel = i / 2 * 8 + lane % 8 - before;
        if (pixel < 0)
            pixel += STAGE_PIXELS;
        unsigned m[4];
        load_matrix_4_transposed(m, from + (group * 8 + lane % 8) * (STAGE_PIXELS * 2) + i / 2 * 16);
        store_matrix_4(to + pixel * 128 + (group ^ pixel % 8) * 16, m);
    }
}

/* The whole warpgroup: thread 0 keeps STAGES - 1 rows on their way, all turn the one that has come. `come`: a barrier for each stage. */
template <typename WAIT>
static __device__ __forceinline__ void produce_turned(const ring &ring, const share &own, unsigned stages, unsigned come, const tensor_map *map, int pad, WAIT wait_weights)
{
    int asked = 0, before = -(pad + PAD_MORE) & 7;
    loader load(own, pad);
    auto ask = [&]() {
        if (!load.more(own))
            return;
        if (threadIdx.x == 0) {
            barrier_arrive_expect(come + asked % STAGES * 8, STAGE_BYTES);
            copy_box_4d(stages + asked % STAGES * STAGE_BYTES, map, come + asked % STAGES * 8, load.at.strip * STRIP_WIDTH - pad - PAD_MORE - before, load.y, 0, load.at.image);
        }
        load.next(own, pad);
        asked++;
    };
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++)
        ask();
#pragma unroll 1
    for (int i = 0; i < asked; i++) {
        barrier_wait(come + i % STAGES * 8, i / STAGES & 1);
        ring.wait_empty(i);
        if (i == EARLY)
            wait_weights();
        turn_row(stages + i % STAGES * STAGE_BYTES, ring.row(i), before);
        fence_async();
        warpgroup_sync(0); /* all have read the stage and written the row */
        if (threadIdx.x == 0)
            barrier_arrive(ring.full + i % RING * 8);
        ask(); /* into the stage of row i - 1, which all have left */
    }
}
