/* image_rows: which rows of which strip a block makes, which image rows that takes, and the ring of them in shared memory. For kernels in which a producer
 * loads every row of a strip once and consumers use each for R output rows. Needs R, RING and ROW_BYTES as constants. */
#pragma once
#include "wgmma.cuh"

/* A block's share of the output rows. They are counted by image, strip of it, and row p of the output: row = strip * P + p. */
struct share {
    int first, end, P;
    __device__ __forceinline__ int strip(int row) const { return row / P; }
    __device__ __forceinline__ int p(int row) const { return row % P; }
    /* Image rows that are loaded before the first one that this output row needs: a new strip starts with R - 1 rows more. */
    __device__ __forceinline__ int loaded(int row) const { return row - first + (strip(row) - strip(first)) * (R - 1); }
};

struct ring {
    unsigned rows, full, empty; /* addresses in shared memory */
    __device__ __forceinline__ unsigned row(int i) const { return rows + i % RING * ROW_BYTES; }
    __device__ __forceinline__ void wait_full(int i) const { barrier_wait(full + i % RING * 8, i / RING & 1); }
    __device__ __forceinline__ void wait_empty(int i) const { barrier_wait(empty + i % RING * 8, (i / RING & 1) ^ 1); }
};

/* Asks for image rows, one after another, strip by strip. */
struct loader {
    int row, strip, y, last; /* first output row of what is left in this strip; image rows y .. last - 1 belong to it */
    __device__ __forceinline__ void enter(const share &own, int pad)
    {
        strip = own.strip(row);
        y = own.p(row) - pad;
        last = y + min(own.P - own.p(row), own.end - row) + R - 1;
    }
    __device__ __forceinline__ void next(const share &own, int pad)
    {
        if (++y < last)
            return;
        row += last - (own.p(row) - pad) - (R - 1);
        if (row < own.end)
            enter(own, pad);
    }
};
