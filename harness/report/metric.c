/* report/metric: see metric.h. */
#include "report/metric.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOTH(metric, name) [metric + SIDE_LOAD] = name "_ld", [metric + SIDE_STORE] = name "_st"
const char *const metric_names[METRIC_COUNT] = {
    [METRIC_ROOF_NS] = "model.roof_ns",
    [METRIC_ROOF_COMPUTE_NS] = "model.roof_compute_ns",
    [METRIC_ROOF_MEMORY_NS] = "model.roof_memory_ns",
    [METRIC_IDLE_PLACES] = "model.idle_places",
    [METRIC_CLUSTERS_AT_MOST] = "model.clusters_at_most",
    [METRIC_CLUSTERS_TOLD] = "driver.clusters",
    [METRIC_SASS_MMA] = "static.sass_mma",
    [METRIC_SASS_GMMA] = "static.sass_gmma",
    [METRIC_SASS_LOCAL + SIDE_LOAD] = "static.sass_ldl",
    [METRIC_SASS_LOCAL + SIDE_STORE] = "static.sass_stl",
    [METRIC_SPILL_INSTRUCTIONS] = "static.spill_instructions",
    [METRIC_SPILLS + SIDE_LOAD] = "static.spill_loads",
    [METRIC_SPILLS + SIDE_STORE] = "static.spill_stores",
    [METRIC_EMU_INSTRUCTIONS] = "emu.warp_instructions",
    [METRIC_EMU_THREAD_INSTRUCTIONS] = "emu.thread_instructions",
    [METRIC_EMU_FMA] = "emu.warp_fma",
    [METRIC_EMU_BRANCHES] = "emu.branches",
    [METRIC_EMU_DIVERGENT] = "emu.divergent_branches",
    [METRIC_EMU_CONFLICTS] = "emu.shared_bank_conflicts",
    [METRIC_EMU_COPIED] = "emu.async_sectors",
    BOTH(METRIC_EMU_SECTORS, "emu.global_sectors"),
    BOTH(METRIC_EMU_SECTORS_IDEAL, "emu.global_sectors_ideal"),
    BOTH(METRIC_EMU_REQUESTS, "emu.global_requests"),
    BOTH(METRIC_EMU_WAVEFRONTS, "emu.shared_wavefronts"),
    BOTH(METRIC_EMU_WAVEFRONTS_IDEAL, "emu.shared_wavefronts_ideal"),
    [METRIC_SM_BUSY] = "hw.sm_busy",
    [METRIC_ISSUE_ACTIVE] = "hw.issue_active",
    [METRIC_OCCUPANCY_ACHIEVED] = "hw.occupancy_achieved",
    [METRIC_LOCAL + SIDE_LOAD] = "hw.local_loads",
    [METRIC_LOCAL + SIDE_STORE] = "hw.local_stores",
    [METRIC_LOCAL_BYTES] = "hw.local_bytes",
    [METRIC_LOCAL_BYTES_MISSED] = "hw.local_bytes_missed",
    [METRIC_SHARED_WAVEFRONTS] = "hw.shared_wavefronts",
    [METRIC_SHARED_CONFLICTS] = "hw.shared_conflicts",
    BOTH(METRIC_SHARED_WAYS, "hw.shared_ways"),
    [METRIC_LINE_INSTRUCTIONS] = METRIC_LINE "instructions",
    [METRIC_LINE_LANES] = METRIC_LINE "lanes",
    [METRIC_LINE_SECTORS] = METRIC_LINE "sectors",
    [METRIC_LINE_SECTORS_IDEAL] = METRIC_LINE "sectors_ideal",
    [METRIC_LINE_WAVEFRONTS] = METRIC_LINE "wavefronts",
    [METRIC_LINE_WAVEFRONTS_IDEAL] = METRIC_LINE "wavefronts_ideal",
    [METRIC_LINE_LOCAL] = METRIC_LINE "local_sectors",
    [METRIC_SAMPLES_SELECTED] = METRIC_SAMPLES "selected",
    [METRIC_SAMPLES_DROPPED] = METRIC_SAMPLES "dropped",
};

bool metric_begins(const struct row_metric *m, const char *prefix)
{
    return strncmp(m->name, prefix, strlen(prefix)) == 0;
}

bool metric_is_wait(const struct row_metric *m)
{
    const char *state = m->name + strlen(METRIC_STALL);
    return m->line == 0 && metric_begins(m, METRIC_STALL) && strcmp(state, "selected") != 0 && strcmp(state, "not_selected") != 0;
}

static unsigned hash_of(int step, const char *name)
{
    unsigned hash = 2166136261u ^ (unsigned)step;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash ^ hash >> 15;
}

/* The slot of the metric, else the empty one where it would stand. Of two with one name the first stays. */
static unsigned slot_of(const struct metric_index *x, int step, const char *name)
{
    unsigned at = hash_of(step, name) & x->mask;
    while (x->slots[at]) {
        const struct row_metric *m = &x->row->metrics[x->slots[at] - 1];
        if (m->step == step && strcmp(m->name, name) == 0)
            break;
        at = (at + 1) & x->mask;
    }
    return at;
}

struct metric_index metric_index_of(const struct row *row)
{
    struct metric_index x = {.row = row, .mask = 7};
    int count = 0;
    for (int i = 0; i < row->metric_count; i++)
        count += row->metrics[i].line == 0;
    while (x.mask < 2u * (unsigned)count)
        x.mask = 2 * x.mask + 1;
    x.slots = xcalloc((size_t)x.mask + 1, sizeof *x.slots);
    for (int i = 0; i < row->metric_count; i++) {
        const struct row_metric *m = &row->metrics[i];
        unsigned at = m->line ? 0 : slot_of(&x, m->step, m->name);
        if (!m->line && !x.slots[at])
            x.slots[at] = i + 1;
    }
    return x;
}

void metric_index_free(struct metric_index *x)
{
    free(x->slots);
    *x = (struct metric_index){0};
}

double metric_find(const struct metric_index *x, int step, const char *name)
{
    int found = x->slots ? x->slots[slot_of(x, step, name)] : 0;
    return found ? x->row->metrics[found - 1].value : NAN;
}
