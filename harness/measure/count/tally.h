/* measure/count/tally: counts verified rows of some cases in a process that times nothing. It opens a CUPTI session once and keeps it
 * for all later cases, idle in between. */
#pragma once

#include "counter/set.h"
#include "device/cupti/range.h"
#include "device/cupti/sass.h"
#include "measure/rig/build.h"
#include "measure/verify/data.h"
#include "measure/rig/vendor.h"

struct counters {
    struct job *job;
    struct data_store *data;
    const struct vendor_library *library;
    struct cupti_session *cupti; /* opened by the first count */
    struct cupti_sass *sass;     /* opened by the first row that was sampled */
    struct counter_set set;
};
struct count_facts { /* values that the formulas of a counter group read besides counters */
    struct count_fact {
        const char *name;
        double value;
    } * items;
    int count;
};
struct count_request { /* one row */
    int row;
    bool slow;     /* also count metrics that take many passes */
    bool has_plan; /* the library's plan that the row was timed with: */
    struct library_plan plan;
    double time_ns; /* NaN: unknown */
    struct count_facts facts, *steps;
    int step_count;
};
/* Checks that counters are available and that the requested metrics exist. Leaves nothing open that would disturb a time. Without
 * `opens` it only loads the library, which asks the driver nothing. */
bool counters_check(struct counters *c, bool opens, struct error *err);
/* Counts and reports rows. *blame: the plan row that was running at a failure, -1: none. */
bool counters_run(struct counters *c, const struct count_request *asked, int count, bool warm, int *blame, struct error *err);
void counters_close(struct counters *c);
