/* device/cupti/sass: how often each machine instruction ran, with how many lanes, and how many bytes it moved: CUPTI's SASS metrics. CUPTI
 * patches the code so that the kernel counts itself: the counts are exact, whatever else the hardware does, and nothing may be timed
 * meanwhile.
 *
 * Undocumented behaviour of CUPTI 13.0 on an H200: a process can set the metrics only once, even if it removes them. If PC sampling was
 * used before (pc.h, opened and closed), CUPTI patches every function; otherwise only the first one that is launched. So a process opens
 * one of these, after PC sampling, and keeps it. Between runs it is inactive, and PC sampling and the range profiler can work. If the
 * machine refuses, the error is an ERROR_ENVIRONMENT with the remedy as hint. One thread at a time. */
#pragma once

#include "base/kernel_name.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_SASS_METRICS_MAX 16

struct cupti_sass;
/* `context` is the CUcontext, current on this thread; `device` its CUDA ordinal. Metrics are named without a roll-up
 * ("smsp__sass_inst_executed"); one that the chip does not have is never counted. */
bool cupti_sass_open(void *context, int device, const char *const *metrics, int count, struct cupti_sass **sass, struct error *err);
void cupti_sass_close(struct cupti_sass *sass);

struct cupti_sass_count {       /* of one instruction and metric */
    char function[KERNEL_NAME]; /* as compiled */
    uint64_t offset;            /* into the function: cubin_lines_at has its line */
    int metric;                 /* index of those asked for */
    uint64_t value;
};
struct cupti_sass_counts {
    struct cupti_sass_count *items;
    int count; /* 0: CUPTI patched nothing of what ran */
};
/* Counts what `run` launches; `run` waits for it. Free with cupti_sass_counts_free. */
bool cupti_sass_run(struct cupti_sass *sass, bool (*run)(void *context, struct error *err), void *context, struct cupti_sass_counts *out,
                    struct error *err);
void cupti_sass_counts_free(struct cupti_sass_counts *counts);
