/* counter/pairs: which hardware metrics measure the same as a counter of emu, and whether the two agree well enough for a gate.
 *
 * Evidence: the microbenchmarks and shipped kernels, run on both (docs/EMU.md, reports/emu-calibration.md). `gated`: the ratio was
 * constant over all of them, so a change of emu's count is the same change on hardware. `bench counters --pairs` prints the table of
 * docs/reference/columns.md. */
#pragma once

#include <stdbool.h>

#define COUNTER_PAIR_TERMS 4

struct counter_pair {
    const char *emu; /* "emu.global_sectors_ld" */
    struct {
        double factor;
        const char *metric;
    } terms[COUNTER_PAIR_TERMS]; /* their weighted sum is the counterpart; unused ones have no metric */
    bool gated;
    const char *why; /* why the ratio is not constant; "" if gated */
};
extern const struct counter_pair counter_pairs[]; /* ends with emu NULL */
