/* Kernels of tests/emu/coverage/ with the results they must have, computed here from the same inputs. */
#ifndef BENCH_TESTS_EMU_COVERAGE_H
#define BENCH_TESTS_EMU_COVERAGE_H

#include "base/dtype.h"
#include "emu/device/emu.h"
#include <stdbool.h>
#include <stdint.h>

#define COVERAGE_BUFFERS 8
/* `args` of a kernel, in the signature's order: `f1024` floats in [-1, 1); `z` zeros, `i` ints 0 to 99, `u` bytes, `h` halves, `b`
 * bfloat16, `d` doubles, `n` never written (4-byte elements), `q` 8-byte integers, `s` 16-bit integers; `#12` an int, `%0.5` a float;
 * `m32x16` a tensor map of the first buffer (2-D floats, boxes of 32 x 8). */
struct coverage_run {
    void *before[COVERAGE_BUFFERS], *after[COVERAGE_BUFFERS]; /* host copies of the buffers, in order */
    int64_t count[COVERAGE_BUFFERS];
    int buffers;
};
struct coverage_test {
    const char *file, *kernel; /* "plain", "saxpy" */
    int cc;                    /* needs at least this; 0: any */
    uint32_t grid[3], block[3], smem;
    bool cooperative;
    const char *args;
    bool (*prepare)(struct coverage_run *r); /* changes `before`; may be NULL */
    bool (*check)(const struct coverage_run *r);
};
extern const struct coverage_test coverage_plain[], coverage_warps[], coverage_tensors[], coverage_real[]; /* ended by a NULL file */
bool coverage_near(double got, double want, double relative);

#endif
