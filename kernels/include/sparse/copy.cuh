/* sparse/copy: a tile of an NHWC image with its halo, copied to shared memory by one warp: planes of 8 channels, [channel / 8][row][column][16 bytes].
 *
 * Only marked pixels are read; the others are zeros (nothing changed there, or the image ends). Eight adjacent pixels are a core matrix of wgmma, and each
 * tap is the same operand at another address; it is as fast as a swizzled operand (measured on an H200: 34 cycles for 64 columns). A plane is an odd number
 * of 16 bytes modulo 128, so the pieces of a pixel go to different banks.
 *
 * Needs C, the number of channels, and SLICE, how many of them are copied. */
#pragma once
#include "sparse/schedule.cuh"

constexpr int PIECES = SLICE / 8, STEPS = TAPS * SLICE / 16; /* pieces of 16 bytes in a pixel; products of 16 channels */
constexpr int PLANE = (HALO_H * HALO_W * 16 - 16 + 127) / 128 * 128 + 16;
constexpr int STAGE_BYTES = PIECES * PLANE;
constexpr int WEIGHTS_PITCH = TAPS * SLICE * 2 + 16;      /* of an output channel's weights in shared memory: eight rows start in eight groups of banks */
constexpr int CHUNKS = (HALO_W * PIECES + 31) / 32;       /* of 32 pieces in a row of the halo */

/* Channels c0 .. c0 + SLICE - 1; input: the whole batch. The caller commits. */
static __device__ __forceinline__ void copy_tile(unsigned to, const TYPE *input, const work &tile, const row_marks &marks, const image &im, int c0)
{
    int lane = threadIdx.x % 32, pixel0 = lane / PIECES, piece0 = lane % PIECES;
    unsigned own = marks.bits(tile, im.left());
    const TYPE *from = input + (((long long)tile.at.n * im.H + tile.at.y - im.pad) * im.W + tile.at.x - im.left() + pixel0) * C + c0 + piece0 * 8;
    to += piece0 * PLANE + pixel0 * 16;
#pragma unroll
    for (int i = 0; i < HALO_H; i++, from += im.W * C, to += HALO_W * 16) {
        unsigned bits = __shfl_sync(~0u, own, i);
#pragma unroll
        for (int j = 0; j < CHUNKS; j++) {
            int pixel = (j * 32 + lane) / PIECES, piece = (j * 32 + lane) % PIECES; /* when PIECES divides 32: as many pixels further on for all lanes */
            unsigned further = 32 % PIECES == 0 ? j * (32 / PIECES) * 16 : (piece - piece0) * PLANE + (pixel - pixel0) * 16;
            int along = 32 % PIECES == 0 ? j * (32 / PIECES) * C : (pixel - pixel0) * C + (piece - piece0) * 8;
            if (pixel < HALO_W) /* of 0 bytes nothing is read, wherever that would be */
                copy_async_16_of(to + further, from + along, bits >> pixel << 4 & 16);
        }
    }
}
