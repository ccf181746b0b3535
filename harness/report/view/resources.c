#include "report/view/resources.h"
#include "base/file.h"
#include "device/chip/occupancy.h"
#include "report/view/source_lines.h"
#include "report/view/number.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>

#define REGISTERS_MOST 255 /* that a thread can have: more is a damaged number */
#define WAYS_MOST 32       /* beyond it, wavefronts are of instructions that the counter omits (wgmma, bulk copies) */

static double counted(const struct view *v, int step, enum metric metric)
{
    return view_counted(v, step, metric_names[metric]);
}

/* A library's kernel: the launch that CUPTI recorded, and the limits computed from it. */
static bool library_step(const struct case_view *c, const struct row *row, int step, struct row_step *out)
{
    const struct row_launch *longest = NULL;
    for (int i = 0; i < row->launch_count; i++) {
        const struct row_launch *l = &row->launches[i];
        longest = l->step == step && (!longest || l->ns > longest->ns) ? l : longest;
    }
    if (!longest || longest->registers < 1 || longest->registers > REGISTERS_MOST || !c->machine.chip)
        return false;
    out->name = longest->name;
    for (size_t k = 0; k < 3; k++) {
        out->grid[k] = longest->grid[k] < 0 ? 1 : longest->grid[k];
        out->block[k] = longest->block[k] < 0 ? 1 : longest->block[k];
    }
    out->registers = longest->registers;
    out->static_smem = longest->static_smem;
    out->dynamic_smem = longest->dynamic_smem;
    struct occupancy_query q = {.block_threads = (int)(out->block[0] * out->block[1] * out->block[2]),
                                .registers = out->registers,
                                .static_smem = out->static_smem > 0 ? (size_t)out->static_smem : 0,
                                .dynamic_smem = out->dynamic_smem > 0 ? (size_t)out->dynamic_smem : 0,
                                .carveout = -1};
    struct occupancy o = occupancy_of(c->machine.chip, &q);
    out->blocks_per_sm = o.blocks_per_sm;
    out->warps_per_sm = o.warps_per_sm;
    out->occupancy = o.share;
    snprintf(out->limit, sizeof out->limit, "%s", occupancy_limit_name(o.limit));
    out->waves = occupancy_waves(c->machine.chip, &o, (double)(out->grid[0] * out->grid[1] * out->grid[2]));
    return o.possible;
}

bool resources_step(const struct case_view *c, const struct view *v, int step, struct row_step *out)
{
    if (step < 0 || step >= v->row->step_count)
        return false;
    *out = v->row->steps[step];
    return (out->registers >= 0 && out->block[0] > 0) || (out->registers < 0 && library_step(c, v->row, step, out));
}

/* Recomputes the occupancy; false if the chip is not in the table or the result differs from the row's (a carve-out, another board). */
static bool ask(const struct case_view *c, const struct row_step *s, struct occupancy_query *q, struct occupancy *o)
{
    *q = (struct occupancy_query){.block_threads = (int)(s->block[0] * s->block[1] * s->block[2]),
                                  .registers = s->registers,
                                  .static_smem = s->static_smem > 0 ? (size_t)s->static_smem : 0,
                                  .dynamic_smem = s->dynamic_smem > 0 ? (size_t)s->dynamic_smem : 0,
                                  .carveout = -1};
    if (!c->machine.chip)
        return false;
    *o = occupancy_of(c->machine.chip, q);
    return o->possible && (s->blocks_per_sm < 0 || o->blocks_per_sm == s->blocks_per_sm);
}

static void add_limits(const struct case_view *c, const struct occupancy_query *q, const struct occupancy *o, struct text *t)
{
    static const struct {
        enum occupancy_limit limit;
        const char *name;
    } limits[] = {{LIMIT_REGISTERS, "registers"}, {LIMIT_SMEM, "shared memory"}, {LIMIT_WARPS, "warps"}, {LIMIT_BLOCKS, "block slots"}};
    text_add(t, "; allowed by");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char need[120];
        int own = o->blocks_by[limits[i].limit];
        occupancy_need(c->machine.chip, q, limits[i].limit, o->blocks_per_sm + 1, need, sizeof need);
        text_addf(t, "%s %s %d", i ? "," : "", limits[i].name, own);
        if (need[0] && o->warps_per_sm < c->machine.chip->warps_per_sm)
            text_addf(t, " [%d with %s]", o->blocks_per_sm + 1, need);
    }
}

void resources_occupancy(const struct case_view *c, const struct view *v, int step, struct text *t)
{
    struct row_step known, *s = &known;
    struct occupancy_query q;
    struct occupancy o;
    struct occupancy_tail tail;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!resources_step(c, v, step, s) || s->occupancy < 0)
        return;
    text_addf(t, "%d block%s of %lld threads per SM, %d warps, %s %% occupancy", s->blocks_per_sm, text_s(s->blocks_per_sm),
              (long long)(s->block[0] * s->block[1] * s->block[2]), s->warps_per_sm, number_percent(s->occupancy, a));
    if (ask(c, s, &q, &o))
        add_limits(c, &q, &o, t);
    else
        text_addf(t, "; limited by %s", s->limit);
    double achieved = counted(v, step, METRIC_OCCUPANCY_ACHIEVED);
    if (!isnan(achieved))
        text_addf(t, "; achieved occupancy %s %%", number_short(achieved, a));
    if (occupancy_tail(s->waves, &tail)) {
        text_addf(t, "; %s wave%s", number_short(tail.waves, a), tail.waves == 1 ? "" : "s");
        if (tail.waves < 1)
            text_addf(t, ": %s %% of the block slots stay empty", number_percent(tail.idle, b));
        else if (tail.idle > 0)
            text_addf(t, ": the last is %s %% full, %s %% of all block slots stay empty", number_percent(tail.last, a),
                      number_percent(tail.idle, b));
    }
    double clusters = view_metric(v, step, METRIC_CLUSTERS_AT_MOST), driver = view_metric(v, step, METRIC_CLUSTERS_TOLD);
    if (!isnan(driver))
        text_addf(t, "; %s resident clusters, by the driver", number_count(driver, a));
    else if (!isnan(clusters))
        text_addf(t, "; at most %s resident clusters", number_count(clusters, a));
    if (!isnan(driver) && driver < clusters)
        text_addf(t, ", %s %% of the number without GPC limits", number_percent(driver / clusters, a));
}

static double spilled(const struct source_line *l)
{
    return line_value(l, METRIC_SPILLS + SIDE_LOAD) + line_value(l, METRIC_SPILLS + SIDE_STORE);
}

/* The lines that spill most, according to the machine code. */
static void add_spill_lines(const struct view *v, int step, struct text *t)
{
    SCOPED struct source_line *lines = NULL;
    int count = source_lines_by(v->row, step, spilled, &lines);
    for (int i = 0; i < count && i < SHOWN_SPILL_LINES; i++)
        text_addf(t, "%s%s:%d %.0f loads, %.0f stores", i ? "; " : "; in the code at ", file_base(v->row->steps[step].file), lines[i].line,
                  line_value(&lines[i], METRIC_SPILLS + SIDE_LOAD), line_value(&lines[i], METRIC_SPILLS + SIDE_STORE));
}

void resources_spills(const struct case_view *c, const struct view *v, int step, struct text *t)
{
    struct row_step known, *s = &known;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    if (!resources_step(c, v, step, s) || s->spill_store_bytes < 0)
        return;
    double instructions = view_metric(v, step, METRIC_SPILL_INSTRUCTIONS);
    double ld = view_metric(v, step, METRIC_SASS_LOCAL + SIDE_LOAD), st = view_metric(v, step, METRIC_SASS_LOCAL + SIDE_STORE);
    if (s->spill_store_bytes || s->spill_load_bytes) {
        text_addf(t, "%d B stored and %d B loaded per thread at %d registers, by the compiler", s->spill_store_bytes, s->spill_load_bytes,
                  s->registers);
        if (!isnan(instructions))
            text_addf(t, " (%s spill instructions)", number_count(instructions, a));
    } else {
        text_addf(t, "none at %d registers", s->registers);
    }
    if (s->stack_bytes > 0 && (ld > 0 || st > 0))
        text_addf(t, "; the code has %s loads from and %s stores to local memory, stack %d B", number_count(ld, a), number_count(st, b),
                  s->stack_bytes);
    double loads = counted(v, step, METRIC_LOCAL + SIDE_LOAD), stores = counted(v, step, METRIC_LOCAL + SIDE_STORE);
    if (loads == 0 && stores == 0)
        text_add(t, "; no local load or store was executed");
    else if (!isnan(loads) && !isnan(stores))
        text_addf(t, "; executed %s local loads and %s stores (warp instructions)", number_count(loads, a), number_count(stores, b));
    double bytes = counted(v, step, METRIC_LOCAL_BYTES), missed = counted(v, step, METRIC_LOCAL_BYTES_MISSED);
    if (!isnan(bytes) && bytes > 0)
        text_addf(t, ", %s through the L1", number_si(bytes, "B", a));
    if (!isnan(missed) && missed > 0)
        text_addf(t, ", %s of the loads missed in L1", number_si(missed, "B", a));
    add_spill_lines(v, step, t);
}

/* Wavefronts beyond the ideal, of loads or of stores. */
static double excess_of(const struct source_line *l, int side)
{
    return line_value(l, METRIC_EMU_WAVEFRONTS + side) - line_value(l, METRIC_EMU_WAVEFRONTS_IDEAL + side);
}

static double excess(const struct source_line *l)
{
    return fmax(excess_of(l, SIDE_LOAD), excess_of(l, SIDE_STORE));
}

static void add_lines(const struct view *v, int step, struct text *t)
{
    SCOPED struct source_line *lines = NULL;
    int count = source_lines_by(v->row, step, excess, &lines);
    for (int i = 0; i < count && i < SHOWN_SPILL_LINES; i++) {
        char a[NUMBER_TEXT], b[NUMBER_TEXT];
        int side = excess_of(&lines[i], SIDE_STORE) > excess_of(&lines[i], SIDE_LOAD) ? SIDE_STORE : SIDE_LOAD;
        text_addf(t, "%s%s:%d %s-way (%s extra wavefronts)", i ? ", " : "; ", file_base(v->row->steps[step].file), lines[i].line,
                  number_short(lines[i].values[METRIC_EMU_WAVEFRONTS + side] / lines[i].values[METRIC_EMU_WAVEFRONTS_IDEAL + side], a),
                  number_count(excess(&lines[i]), b));
    }
}

void resources_shared(const struct case_view *c, const struct view *v, int step, struct text *t)
{
    struct row_step known, *s = &known;
    struct occupancy_query q;
    struct occupancy o;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], d[NUMBER_TEXT];
    if (!resources_step(c, v, step, s) || s->static_smem < 0 || s->dynamic_smem < 0)
        return;
    if (!s->static_smem && !s->dynamic_smem) {
        text_add(t, "none");
    } else if (ask(c, s, &q, &o)) {
        long other = (long)o.smem_per_block - s->static_smem - s->dynamic_smem;
        text_addf(t, "%s KiB per block: %d B static, %d B dynamic, %ld B for the system and rounding; %s of the SM's %s KiB",
                  number_short((double)o.smem_per_block / 1024, a), s->static_smem, s->dynamic_smem, other,
                  number_short((double)o.smem_per_block * o.blocks_per_sm / 1024, b),
                  number_short((double)c->machine.chip->smem_per_sm / 1024, d));
    } else {
        text_addf(t, "%d B static, %d B dynamic per block", s->static_smem, s->dynamic_smem);
    }
    double ld = counted(v, step, METRIC_EMU_WAVEFRONTS + SIDE_LOAD), st = counted(v, step, METRIC_EMU_WAVEFRONTS + SIDE_STORE);
    double ideal_ld = counted(v, step, METRIC_EMU_WAVEFRONTS_IDEAL + SIDE_LOAD),
           ideal_st = counted(v, step, METRIC_EMU_WAVEFRONTS_IDEAL + SIDE_STORE);
    if (ideal_ld > 0)
        text_addf(t, "; loads take %s wavefronts (ideal %s: %s-way)", number_count(ld, a), number_count(ideal_ld, b),
                  number_short(ld / ideal_ld, d));
    if (ideal_st > 0)
        text_addf(t, "; stores take %s wavefronts (ideal %s: %s-way)", number_count(st, a), number_count(ideal_st, b),
                  number_short(st / ideal_st, d));
    double waves = counted(v, step, METRIC_SHARED_WAVEFRONTS), conflicts = counted(v, step, METRIC_SHARED_CONFLICTS);
    if (waves > 0 && !isnan(conflicts))
        text_addf(t, "; %s wavefronts counted, %s of them conflicts (%s %%)", number_count(waves, a), number_count(conflicts, b),
                  number_percent(conflicts / waves, d));
    double ways_ld = counted(v, step, METRIC_SHARED_WAYS + SIDE_LOAD), ways_st = counted(v, step, METRIC_SHARED_WAYS + SIDE_STORE);
    if (ways_ld <= WAYS_MOST)
        text_addf(t, ", %s per load", number_short(ways_ld, a));
    if (ways_st <= WAYS_MOST)
        text_addf(t, ", %s per store", number_short(ways_st, a));
    add_lines(v, step, t);
}
