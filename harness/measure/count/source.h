/* measure/count/source: where and why the warps of a rig's steps stall, by source line, through CUPTI's PC sampling (device/cupti/pc.h);
 * and how often each line ran, with how many lanes, and how many bytes it moved, through SASS metrics (device/cupti/sass.h).
 *
 * Each step is sampled by itself, so that two steps with one kernel remain separate. It starts from the state that the steps before it
 * leave, the first step from the same state as when it is timed (cold or warm). Code that was inlined from a header counts at the line that
 * calls it. Nothing is timed here. */
#pragma once

#include "device/cupti/pc.h"
#include "device/cupti/sass.h"
#include "measure/rig/rig.h"

struct source_value {
    int step, line; /* line 0: a library's code, or code without a line */
    char name[64];  /* source_sample: the stall reason, "long_scoreboard"; source_count: the counter, "instructions" */
    const char *unit;
    double value;
};
#define SOURCE_WAITS 24 /* reasons of one instruction */
struct source_code {    /* one machine instruction of a step's kernel */
    int step, line;
    uint64_t offset, words[2];
    char inlined[64];        /* as cubin_lines_instruction */
    double samples, *counts; /* NULL: not counted; else in the order of source_metrics */
    struct source_wait {
        char reason[32];
        double samples;
    } waits[SOURCE_WAITS];
    int wait_count;
};
struct source_values {
    struct source_value *items;
    int count;
    struct source_code *code; /* by step and offset; without code of a library */
    int code_count, code_room;
    double samples, dropped; /* of all steps and repeats that were kept */
};
struct source_job {
    struct device *dev;
    struct rig *rig;                   /* has run once */
    const struct device_image *images; /* the rig's */
    bool warm;
    double time_ns; /* of a run, for the first guess of the period; NaN: unknown */
};
/* Samples the row until there are enough samples for percentages of a line, or for two seconds; uses a longer period if the hardware
 * loses samples. Free with source_values_free. */
bool source_sample(const struct source_job *job, struct cupti_pc *pc, struct source_values *out, struct error *err);
/* The metrics of source_count, for cupti_sass_open. */
extern const char *const source_metrics[];
extern const int source_metric_count;
/* Runs each step once more and counts its instructions. A step in which CUPTI patched nothing has no values. */
bool source_count(const struct source_job *job, struct cupti_sass *sass, struct source_values *out, struct error *err);
void source_values_free(struct source_values *values);
