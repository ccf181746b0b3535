/* dense/image_rows: which rows of which strip a block computes, which image rows these read, and the ring of them in shared memory. For kernels in which a
 * producer loads every row of a strip once and each consumer uses it for R output rows. Needs R, RING and ROW_BYTES as constants. */
#pragma once
#include "tensor_core/wgmma.cuh"

/* A block's share of the output rows. They are counted by image, strip of it, and row p of the output: row = (image * strips + strip) * P + p. */
struct share {
    int first, end, P, strips;
};

/* A place in the share. Moving on costs additions only: a division in the loop over rows is a chain of a hundred cycles in which nothing else is done. */
struct place {
    int row, image, strip, p;
    int loaded; /* image rows that are loaded before the first one that this output row needs: a new strip starts with R - 1 rows more */
    __device__ __forceinline__ explicit place(const share &own)
        : row(own.first), image(own.first / own.P / own.strips), strip(own.first / own.P % own.strips), p(own.first % own.P), loaded(0)
    {
    }
    __device__ __forceinline__ void advance(const share &own, int rows)
    {
        row += rows;
        p += rows;
        loaded += rows;
        while (p >= own.P) {
            p -= own.P;
            loaded += R - 1;
            if (++strip == own.strips) {
                strip = 0;
                image++;
            }
        }
    }
};

struct ring {
    unsigned rows, full, empty; /* addresses in shared memory */
    __device__ __forceinline__ unsigned row(unsigned i) const { return rows + i % RING * ROW_BYTES; }
    __device__ __forceinline__ void wait_full(unsigned i) const { barrier_wait(full + i % RING * 8, i / RING & 1); }
    __device__ __forceinline__ void wait_empty(unsigned i) const { barrier_wait(empty + i % RING * 8, (i / RING & 1) ^ 1); }
};

/* Asks for image rows, one after another, strip by strip: row y of the image and strip of `at`. */
struct loader {
    place at;    /* of the first output row of what is left in this strip */
    int y, last; /* image rows y .. last - 1 belong to it */
    __device__ __forceinline__ loader(const share &own, int pad) : at(own) { enter(own, pad); }
    __device__ __forceinline__ void enter(const share &own, int pad)
    {
        y = at.p - pad;
        last = y + min(own.P - at.p, own.end - at.row) + R - 1;
    }
    __device__ __forceinline__ bool more(const share &own) const { return at.row < own.end; }
    __device__ __forceinline__ void next(const share &own, int pad)
    {
        if (++y < last)
            return;
        at.advance(own, min(own.P - at.p, own.end - at.row));
        if (more(own))
            enter(own, pad);
    }
};
