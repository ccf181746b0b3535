/* device/cupti/range: hardware counters of what runs in this process, through CUPTI's range profiler with replay by the user.
 *
 * Two kinds of range. A range that is pushed and popped holds whatever ran between, and with it the time the host took to start and to
 * wait: some 10 us on an H200, in which nothing moves, so that shares of the elapsed cycles read too low. With `each_kernel` every kernel
 * is a range of its own, from its first cycle to its last, as under ncu.
 *
 * A session is opened once on a CUDA context and kept: the first counted range costs some 0.2 s, each later pass a few milliseconds. Open
 * it after all timing of the process is done - a session changes clocks and launch costs. Every kernel must have run once before (lazy
 * loading of modules inside of a range can stall for seconds). One thread uses a session.
 *
 * What a machine refuses is an ERROR_ENVIRONMENT with the cure as hint; the run can go on without counters. */
#ifndef BENCH_DEVICE_CUPTI_RANGE_H
#define BENCH_DEVICE_CUPTI_RANGE_H

#include "base/error.h"
#include "device/cupti/cupti.h"
#include <stdbool.h>
#include <stddef.h>

#define CUPTI_RANGES_MAX 1024 /* of one count; CUPTI refuses some thousands */
#define CUPTI_RANGE_NAME_MAX 255

struct cupti_session;
/* `context` is the CUcontext (device/cuda.h: cuda_native), current on this thread; `device` its CUDA ordinal. */
bool cupti_session_open(void *context, int device, struct cupti_session **session_out, struct error *err);
void cupti_session_close(struct cupti_session *session);
/* Disables the profiler until the next count, which then costs the first range's 0.2 s again. Call it before modules are unloaded that were
 * counted, and before something is traced (device/cupti_trace.h): CUPTI 13.0 goes on using what it learned of them, and dies of it at a
 * later launch (seen on an H200, about once in eight such counts). */
void cupti_session_rest(struct cupti_session *session);
/* The session's chip, for cupti_has and cupti_describe; closed with the session. */
struct cupti_chip *cupti_session_chip(struct cupti_session *session);

/* Pushed and popped by a job's pass, around what is to be counted, never nested. The caller waits for its kernels (sync) before it pops,
 * and before it pushes, so that a range holds its own kernels and nothing else. Names differ within a pass. */
bool cupti_range_push(struct cupti_session *session, const char *name, struct error *err);
bool cupti_range_pop(struct cupti_session *session, struct error *err);

struct cupti_job {
    const char *const *metrics; /* full names */
    size_t metric_count;
    int range_max;    /* ranges of a pass at most, up to CUPTI_RANGES_MAX */
    bool each_kernel; /* nothing is pushed: each launch in the session's context is a range, in the order of launching */
    /* Runs everything that is to be counted once, from the same inputs and in the same cache state each time. Every pass pushes the same
     * ranges in the same order. `pass` counts from 0. */
    bool (*pass)(void *context, struct cupti_session *session, int pass, struct error *err);
    /* Runs before each pass and is not counted; may be NULL. */
    bool (*before)(void *context, int pass, struct error *err);
    void *context;
};
struct cupti_counts {
    int range_count;
    char **names; /* in the order in which they were pushed; NULL with each_kernel */
    size_t metric_count;
    double *values; /* [range * metric_count + metric]; NaN = CUPTI has no value */
    int passes;     /* that were run */
};
/* Runs the passes and reads the values. Fails when CUPTI dropped a range, lost one, or invented one: half a result is none. After a failure
 * the session can be used again unless CUPTI itself is broken. Free with cupti_counts_free. */
bool cupti_count(struct cupti_session *session, const struct cupti_job *job, struct cupti_counts *counts, struct error *err);
void cupti_counts_free(struct cupti_counts *counts);
/* The values of a range by name; NULL when there is none. */
const double *cupti_counts_of(const struct cupti_counts *counts, const char *name);

#endif
