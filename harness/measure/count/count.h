/* measure/count/count: hardware counters of several rigs on one device, and the kernels they launch, through CUPTI
 * (device/cupti/range.h, device/cupti/trace.h).
 *
 * Every kernel is a range of its own, so its elapsed cycles are its own, as under ncu; counter/combine computes the values of a row or a
 * step from its kernels. Every pass counts everything again from the same state. Inputs are never written: a row that did is unsafe and
 * is not counted. bench poisons and prepares the row's buffers anew, then flushes the caches (cold) or runs the row once uncounted
 * (warm), as for the time that is shown beside the counts; a kernel that stores results or counts its runs therefore does all of its
 * work here too. After the warming run nothing is poisoned, because the kernels that do it would be counted. Nothing is timed here.
 *
 * A row that is timed as a graph is counted launch by launch: its kernels are the same, and CUPTI 13.0 ends a pass in which a graph was
 * launched with error 999 (seen on an H200). */
#pragma once

#include "device/cupti/range.h"
#include "device/cupti/trace.h"
#include "measure/rig/rig.h"

struct counted {
    struct rig *rig;          /* has run once: modules are loaded */
    const char *name;         /* of the row, for its range and messages */
    struct cupti_trace trace; /* one run: count_trace */
};
/* Traces one run of the row in the state it is counted in: fills item->trace. Free with cupti_trace_free. */
bool count_trace(struct device *dev, struct counted *item, bool warm, struct error *err);
/* Kernels that a program step launched in the trace; `first` (may be NULL) receives the index of the first of them. */
int count_launches(const struct counted *item, int step, int *first);
/* Ranges of one pass over the item. */
int count_ranges(const struct counted *item, bool warm);

struct count_job {
    struct device *dev;
    struct cupti_session *session;
    const struct counted *items; /* traced; each launches at least one kernel */
    int count;
    bool warm;
    const char *const *metrics; /* the weights of counter/combine are among them */
    size_t metric_count;
    /* Called before an item runs, in every pass: for the watchdog. */
    void (*announce)(void *context, int item);
    void *context;
};
struct count_result {
    int passes, count;
    size_t metric_count;
    double **rows;   /* by item: metric_count values; NaN = absent */
    double ***steps; /* by item, by program step; NULL where the step launches nothing; NULL for an item with one run step */
    char **why;      /* by item: why CUPTI could not count it, so that `rows` has no values of it; NULL: counted */
};
/* Counts all items at once; together they use at most CUPTI_RANGES_MAX ranges. If CUPTI refuses several at once, it counts them one by
 * one, so that one item does not cost the others their counters; fails if CUPTI can count none. Counts are used only if CUPTI returns as
 * many kernels as were traced. Free with count_free. */
bool count_run(const struct count_job *job, struct count_result *result, struct error *err);
void count_free(struct count_result *result, const struct counted *items);
