/* report/metric: the names of metrics that C needs, in one table, and a row's metrics found without comparing all of them. What a counter
 * group names itself stands in the group's file only. */
#ifndef BENCH_REPORT_METRIC_H
#define BENCH_REPORT_METRIC_H

#include "row/row.h"

/* Loads, then stores: METRIC_EMU_SECTORS + SIDE_STORE. */
enum metric_side { SIDE_LOAD, SIDE_STORE, SIDES };
enum metric {
    METRIC_ROOF_NS,
    METRIC_ROOF_COMPUTE_NS,
    METRIC_ROOF_MEMORY_NS,
    METRIC_IDLE_PLACES,
    METRIC_CLUSTERS_AT_MOST,
    METRIC_CLUSTERS_TOLD,
    METRIC_SASS_MMA,
    METRIC_SASS_GMMA,
    METRIC_SASS_LOCAL,
    METRIC_SPILL_INSTRUCTIONS = METRIC_SASS_LOCAL + SIDES,
    METRIC_SPILLS,
    METRIC_EMU_INSTRUCTIONS = METRIC_SPILLS + SIDES,
    METRIC_EMU_THREAD_INSTRUCTIONS,
    METRIC_EMU_FMA,
    METRIC_EMU_BRANCHES,
    METRIC_EMU_DIVERGENT,
    METRIC_EMU_CONFLICTS,
    METRIC_EMU_COPIED, /* sectors of asynchronous copies: neither loads nor stores */
    METRIC_EMU_SECTORS,
    METRIC_EMU_SECTORS_IDEAL = METRIC_EMU_SECTORS + SIDES,
    METRIC_EMU_REQUESTS = METRIC_EMU_SECTORS_IDEAL + SIDES,
    METRIC_EMU_WAVEFRONTS = METRIC_EMU_REQUESTS + SIDES,
    METRIC_EMU_WAVEFRONTS_IDEAL = METRIC_EMU_WAVEFRONTS + SIDES,
    METRIC_SM_BUSY = METRIC_EMU_WAVEFRONTS_IDEAL + SIDES,
    METRIC_ISSUE_ACTIVE,
    METRIC_OCCUPANCY_ACHIEVED,
    METRIC_LOCAL,
    METRIC_LOCAL_BYTES = METRIC_LOCAL + SIDES,
    METRIC_LOCAL_BYTES_MISSED,
    METRIC_SHARED_WAVEFRONTS,
    METRIC_SHARED_CONFLICTS,
    METRIC_SHARED_WAYS,
    METRIC_LINE_INSTRUCTIONS = METRIC_SHARED_WAYS + SIDES, /* of a source line, by CUPTI's patching of the machine code */
    METRIC_LINE_LANES,
    METRIC_LINE_SECTORS,
    METRIC_LINE_SECTORS_IDEAL,
    METRIC_LINE_WAVEFRONTS,
    METRIC_LINE_WAVEFRONTS_IDEAL,
    METRIC_LINE_LOCAL,
    METRIC_SAMPLES_SELECTED,
    METRIC_SAMPLES_DROPPED,
    METRIC_COUNT
};
extern const char *const metric_names[METRIC_COUNT];
/* The words that names begin with: of counter groups, of a warp's states and their samples, of emu, of the machine code. */
#define METRIC_HARDWARE "hw."
#define METRIC_STALL "hw.stall_"
#define METRIC_SAMPLES "hw.samples_"
#define METRIC_LINE "hw.executed_"
#define METRIC_EMU "emu."
#define METRIC_STATIC "static."
#define METRIC_SASS "static.sass_"
#define METRIC_MODEL "model."
bool metric_begins(const struct row_metric *m, const char *prefix);
/* Is it a state in which a warp waits? Not issuing, and not being passed over. */
bool metric_is_wait(const struct row_metric *m);

/* Where the metrics of whole rows and steps (not of source lines) stand in a row. */
struct metric_index {
    const struct row *row;
    int *slots;
    unsigned mask;
};
struct metric_index metric_index_of(const struct row *row);
void metric_index_free(struct metric_index *x);
/* NaN: the row has none. step -1: of the row. */
double metric_find(const struct metric_index *x, int step, const char *name);

#endif
