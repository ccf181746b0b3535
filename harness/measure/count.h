/* measure/count: hardware counters of several rigs on one device, through ranges of CUPTI (device/cupti_range.h).
 *
 * Each rig has a range of its own around all its run steps, named as NVTX names it, and one around each step when there are several. All ranges are
 * counted again in every pass, from the same state: inputs are never written (a row that did is unsafe and does not come here), the output is
 * poisoned anew, then the caches are flushed (cold) or the row runs once (warm), as before the time that stands beside the counts. Scratch
 * is what the run before left, as in the timed loop. Nothing is timed here. */
#ifndef BENCH_MEASURE_COUNT_H
#define BENCH_MEASURE_COUNT_H

#include "device/cupti_range.h"
#include "measure/rig.h"

struct counted {
    struct rig *rig;  /* has run once: modules are loaded */
    const char *name; /* of the row: its ranges are NAME and NAME#STEP */
};
struct count_job {
    struct device *dev;
    struct cupti_session *session;
    const struct counted *items;
    int count;
    bool warm;
    const char *const *metrics;
    size_t metric_count;
    /* Told before an item runs, in every pass: for the watchdog. */
    void (*announce)(void *context, int item);
    void *context;
};
/* Ranges that an item takes. */
int count_ranges(const struct counted *item);
/* Counts all items at once; together they take CUPTI_RANGES_MAX ranges at most. Free with cupti_counts_free. */
bool count_run(const struct count_job *job, struct cupti_counts *counts, struct error *err);
/* The metrics of an item (step -1) or of one of its steps; NULL when it has no range of its own. */
const double *count_of(const struct cupti_counts *counts, const struct counted *item, int step);

#endif
