/* measure/source: where the warps of a rig's steps stand, and why, by source line, through CUPTI's PC sampling (device/cupti_pc.h).
 *
 * Every step is sampled by itself, so that two steps with one kernel are told apart, from the state that the steps before it leave, the first from the state
 * of the time beside it (cold or warm). Code that was inlined from a header counts at the line that calls it. Nothing is timed here. */
#ifndef BENCH_MEASURE_SOURCE_H
#define BENCH_MEASURE_SOURCE_H

#include "device/cupti_pc.h"
#include "measure/rig.h"

struct source_value {
    int step, line; /* line 0: a library's code, or code without a line */
    char name[64];  /* "samples_long_scoreboard" */
    double value;
};
struct source_values {
    struct source_value *items;
    int count;
    double samples, dropped; /* of all steps and repeats that were kept */
};
struct source_job {
    struct device *dev;
    struct rig *rig;                   /* has run once */
    const struct device_image *images; /* the rig's */
    bool warm;
    double time_ns; /* of a run, for the first guess of the period; NaN: unknown */
};
/* Samples the row until there are enough for percentages of a line, or for two seconds; with a longer period when the hardware loses some. Free with
 * source_values_free. */
bool source_sample(const struct source_job *job, struct cupti_pc *pc, struct source_values *out, struct error *err);
void source_values_free(struct source_values *values);

#endif
