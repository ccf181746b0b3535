/* counter/pairs: which hardware metrics say the same as a counter of emu, and whether the two agree well enough for a gate.
 *
 * The microbenchmarks and the shipped kernels ran on both (docs/EMU.md, reports/emu-calibration.md). `gated`: the ratio was one constant
 * over all of them, so a change of the count is the same change on the hardware. `bench counters --pairs` prints the table of
 * docs/reference/columns.md. */
#ifndef BENCH_COUNTER_PAIRS_H
#define BENCH_COUNTER_PAIRS_H

#include <stdbool.h>

#define COUNTER_PAIR_TERMS 4

struct counter_pair {
    const char *emu; /* "emu.global_sectors_ld" */
    struct {
        double factor;
        const char *metric;
    } terms[COUNTER_PAIR_TERMS]; /* their weighted sum is the counterpart; unused ones have no metric */
    bool gated;
    const char *why; /* what keeps the ratio from being constant; "" when gated */
};
extern const struct counter_pair counter_pairs[]; /* ends with emu NULL */

#endif
