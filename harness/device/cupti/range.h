/* device/cupti/range: hardware counters of what runs in this process, through CUPTI's range profiler with replay by the user.
 *
 * Every kernel is a range of its own, from its first cycle to its last, as under ncu. (A range around several calls would also contain the
 * host's time to start and to wait, some 10 us on an H200, in which the GPU is idle: shares of the elapsed cycles would be too low.)
 *
 * A session is opened once on a CUDA context and kept: the first counted range costs some 0.2 s, each later pass a few milliseconds. Open
 * it after all timing of the process, because a session changes clocks and launch costs. Every kernel must have run once before (loading a
 * module lazily inside a range can take seconds). One thread uses a session.
 *
 * If the machine refuses, the error is an ERROR_ENVIRONMENT with the remedy as hint; the run can continue without counters. */
#pragma once

#include "base/error.h"
#include "device/cupti/cupti.h"
#include <stdbool.h>
#include <stddef.h>

#define CUPTI_RANGES_MAX 1024 /* of one count; CUPTI refuses some thousands */

struct cupti_session;
/* `context` is the CUcontext (device/cuda/cuda.h: cuda_native), current on this thread; `device` its CUDA ordinal. */
bool cupti_session_open(void *context, int device, struct cupti_session **session_out, struct error *err);
void cupti_session_close(struct cupti_session *session);
/* Disables the profiler until the next count, which then again costs the first range's 0.2 s. Call it before you unload modules that were
 * counted, and before tracing (trace.h): CUPTI 13.0 keeps using its data about them, and crashes at a later launch (seen on an H200, about
 * once in eight such counts). */
void cupti_session_rest(struct cupti_session *session);
/* The session's chip, for cupti_has and cupti_describe; closed with the session. */
struct cupti_chip *cupti_session_chip(struct cupti_session *session);

struct cupti_job {
    const char *const *metrics; /* full names */
    size_t metric_count;
    int range_max; /* kernels of a pass at most, up to CUPTI_RANGES_MAX */
    /* Launches everything that is to be counted once, from the same inputs and in the same cache state each time, and waits for it. Each
     * launch in the session's context is a range, in the order of launches. `pass` counts from 0. */
    bool (*pass)(void *context, int pass, struct error *err);
    /* Runs before each pass and is not counted; may be NULL. */
    bool (*before)(void *context, int pass, struct error *err);
    void *context;
};
struct cupti_counts {
    int range_count;
    size_t metric_count;
    double *values; /* [range * metric_count + metric]; NaN = CUPTI has no value */
    int passes;     /* that were run */
};
/* Runs the passes and reads the values. Fails if CUPTI dropped a kernel or returned one twice, because a partial result is useless. After a
 * failure the session can be used again unless CUPTI itself is broken. Free with cupti_counts_free. */
bool cupti_count(struct cupti_session *session, const struct cupti_job *job, struct cupti_counts *counts, struct error *err);
void cupti_counts_free(struct cupti_counts *counts);
