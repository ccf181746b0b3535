/* report/view/metric: the metric names that the C code uses, in one table, and a fast look-up of a row's metrics. Names of counter values
 * are in the groups' files only. */
#pragma once

#include "store/family.h"

/* ONE(SM_BUSY, "hw.sm_busy") is METRIC_SM_BUSY. BOTH is one of loads and one of stores: METRIC_LOCAL, METRIC_LOCAL + SIDE_STORE. */
enum metric_side { SIDE_LOAD, SIDE_STORE, SIDES };
#define METRICS(ONE, BOTH) \
    ONE(ROOF_NS, METRIC_MODEL "roof_ns") \
    ONE(ROOF_COMPUTE_NS, METRIC_MODEL "roof_compute_ns") \
    ONE(ROOF_MEMORY_NS, METRIC_MODEL "roof_memory_ns") \
    ONE(ROOF_LAUNCH_NS, METRIC_MODEL "roof_launch_ns") \
    ONE(IDLE_PLACES, METRIC_MODEL "idle_places") \
    ONE(CLUSTERS_AT_MOST, METRIC_MODEL "clusters_at_most") \
    ONE(CLUSTERS_TOLD, "driver.clusters") \
    ONE(SASS_MMA, METRIC_SASS "mma") \
    ONE(SASS_GMMA, METRIC_SASS "gmma") \
    BOTH(SASS_LOCAL, METRIC_SASS "ldl", METRIC_SASS "stl") \
    ONE(SPILL_INSTRUCTIONS, METRIC_STATIC "spill_instructions") \
    BOTH(SPILLS, METRIC_STATIC "spill_loads", METRIC_STATIC "spill_stores") \
    ONE(EMU_INSTRUCTIONS, METRIC_EMU "warp_instructions") \
    ONE(EMU_THREAD_INSTRUCTIONS, METRIC_EMU "thread_instructions") \
    ONE(EMU_FMA, METRIC_EMU "warp_fma") \
    ONE(EMU_CONFLICTS, METRIC_EMU "shared_bank_conflicts") \
    ONE(EMU_ATOMIC, METRIC_EMU "global_sectors_atomic") \
    ONE(EMU_COPIED, METRIC_EMU "async_sectors") /* sectors of asynchronous copies: neither loads nor stores */ \
    BOTH(EMU_SECTORS, METRIC_EMU "global_sectors_ld", METRIC_EMU "global_sectors_st") \
    BOTH(EMU_SECTORS_IDEAL, METRIC_EMU "global_sectors_ideal_ld", METRIC_EMU "global_sectors_ideal_st") \
    BOTH(EMU_REQUESTS, METRIC_EMU "global_requests_ld", METRIC_EMU "global_requests_st") \
    BOTH(EMU_WAVEFRONTS, METRIC_EMU "shared_wavefronts_ld", METRIC_EMU "shared_wavefronts_st") \
    BOTH(EMU_WAVEFRONTS_IDEAL, METRIC_EMU "shared_wavefronts_ideal_ld", METRIC_EMU "shared_wavefronts_ideal_st") \
    ONE(SM_BUSY, METRIC_HARDWARE "sm_busy") \
    ONE(ISSUE_ACTIVE, METRIC_HARDWARE "issue_active") \
    ONE(OCCUPANCY_ACHIEVED, METRIC_HARDWARE "occupancy_achieved") \
    BOTH(LOCAL, METRIC_HARDWARE "local_loads", METRIC_HARDWARE "local_stores") \
    ONE(LOCAL_BYTES, METRIC_HARDWARE "local_bytes") \
    ONE(LOCAL_BYTES_MISSED, METRIC_HARDWARE "local_bytes_missed") \
    ONE(SHARED_WAVEFRONTS, METRIC_HARDWARE "shared_wavefronts") \
    ONE(SHARED_CONFLICTS, METRIC_HARDWARE "shared_conflicts") \
    BOTH(SHARED_WAYS, METRIC_HARDWARE "shared_ways_ld", METRIC_HARDWARE "shared_ways_st") \
    ONE(LINE_INSTRUCTIONS, METRIC_LINE "instructions") \
    ONE(LINE_LANES, METRIC_LINE "lanes") \
    ONE(LINE_SECTORS, METRIC_LINE "sectors") \
    ONE(LINE_SECTORS_IDEAL, METRIC_LINE "sectors_ideal") \
    ONE(LINE_WAVEFRONTS, METRIC_LINE "wavefronts") \
    ONE(LINE_WAVEFRONTS_IDEAL, METRIC_LINE "wavefronts_ideal") \
    ONE(LINE_LOCAL, METRIC_LINE "local_sectors") \
    ONE(SAMPLES_SELECTED, METRIC_SAMPLES "selected") \
    ONE(SAMPLES_DROPPED, METRIC_SAMPLES "dropped")
#define METRIC_ONE(id, name) METRIC_##id,
#define METRIC_BOTH(id, load, store) METRIC_##id, METRIC_##id##_STORE,
enum metric { METRICS(METRIC_ONE, METRIC_BOTH) METRIC_COUNT };
extern const char *const metric_names[METRIC_COUNT];
/* Is it a state in which a warp waits? Not issuing, and not being passed over. */
bool metric_is_wait(const struct row_metric *m);

/* Index of the metrics of a row and its steps (not of its source lines). */
struct metric_index {
    const struct row_metric **sorted;
    int count;
};
struct metric_index metric_index_of(const struct row *row);
void metric_index_free(struct metric_index *x);
/* NULL: the row has none. step -1: of the row. */
const struct row_metric *metric_find(const struct metric_index *x, int step, const char *name);
