/* report/page/case_table: the table of one case, and the lines above it. */
#include "report/page/case_document.h"
#include "report/view/number.h"
#include "report/view/stored.h"
#include "report/view/resources.h"
#include "report/page/row_document.h"
#include "report/view/verdict.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Upper-case status with the reason and the dump. */
static void add_failure(const struct view *v, struct text *t)
{
    for (const char *s = row_status_name(v->row->status); *s; s++)
        text_addf(t, "%c", toupper((unsigned char)*s));
    text_addf(t, "  %s", v->row->reason && v->row->reason[0] ? v->row->reason : "no reason given: this is a bug in bench");
    if (v->row->dump && v->row->dump[0])
        text_addf(t, "; tensors, error map: %s", v->row->dump);
}

/* regs, spill, smemK, occ %: of one step. Absent is -1. */
static void facts_cells(struct table *t, const struct row_step *s, bool spills)
{
    char a[NUMBER_TEXT];
    bool known = s && s->registers >= 0, smem = known && s->static_smem >= 0 && s->dynamic_smem >= 0;
    double bytes = smem ? s->static_smem + s->dynamic_smem : NAN;
    table_number(t, PAINT_NONE, known ? s->registers : NAN, known ? number_count(s->registers, a) : "");
    table_number(t, spills ? PAINT_WARN : PAINT_NONE, known && s->spill_store_bytes >= 0 ? s->spill_store_bytes : NAN,
                 known ? number_count(s->spill_store_bytes, a) : "");
    table_number(t, PAINT_NONE, bytes, number_short(bytes / 1024, a));
    table_number(t, PAINT_NONE, known && s->occupancy >= 0 ? s->occupancy : NAN, known ? number_percent(s->occupancy, a) : "");
    table_note(t, "%s", known ? s->limit : "");
}

/* The kernel of a library, as CUPTI saw it: its spills are not known. */
static void step_facts(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    struct row_step s;
    bool known = resources_step(c, v, step, &s);
    facts_cells(t, known ? &s : NULL, verdict_reads(v, "spill_bytes"));
}

/* The row's own facts, or "3 steps" where each step has its line. */
static void row_facts(struct table *t, const struct case_view *c, const struct view *v)
{
    if (v->steps > 1) {
        table_cell(t, PAINT_DIM, "%d steps", v->steps);
        table_absent(t, 3);
    } else {
        step_facts(t, c, v, v->step >= 0 ? v->step : 0);
    }
}

/* The first bottleneck, with its sentence; absent when no rule holds. */
static void verdict_cell(struct table *t, const struct view *v)
{
    SCOPED_TEXT names = {0};
    verdict_words(v, &names);
    table_cell(t, PAINT_NONE, "%s", text_get(&names));
    if (v->verdicts.count) {
        const struct verdict *first = v->verdicts.items;
        SCOPED_TEXT about = {0};
        SCOPED_TEXT gain = {0};
        bool estimated = verdict_speedup(first, &gain);
        text_addf(&about, "%s - try: %s%s%s%s", first->says, first->remedy, estimated ? " (" : "", text_get(&gain), estimated ? ")" : "");
        table_about(t, text_get(&about));
    }
}

static void name_cells(struct table *t, const struct case_view *c, const struct view *v, enum paint paint)
{
    if (v->rank >= 0)
        table_cell(t, PAINT_NONE, "%d", v->rank);
    else
        table_cell(t, PAINT_BAD, "%s", v->failed ? "!" : "");
    SCOPED_TEXT names = {0};
    table_cell(t, paint, "%s", v->name);
    if (view_other_names(c, v, &names))
        table_note(t, "%s", text_get(&names));
    table_about(t, v->row->what);
    SCOPED char *anchor = row_anchor(v->row);
    table_target(t, anchor);
}

/* Rows with a sentence instead of numbers: failed and skipped. False: the row has numbers. */
static bool sentence_row(struct table *t, const struct case_view *c, const struct view *v)
{
    SCOPED_TEXT text = {0};
    if (v->failed)
        add_failure(v, &text);
    else if (v->row->status == ROW_SKIPPED)
        text_add(&text, v->row->reason && v->row->reason[0] ? v->row->reason : "skipped without a reason");
    else
        return false;
    table_row(t, v->failed ? LINE_FAILED : LINE_SKIPPED);
    name_cells(t, c, v, v->failed ? PAINT_BAD : PAINT_DIM);
    table_rest(t, v->failed ? PAINT_NONE : PAINT_DIM, text_get(&text));
    return true;
}

/* Bold green only where the whole interval is above 1: a difference inside it is none. */
static void ratio_cell(struct table *t, const struct view *v)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    if (v->rank == 0) {
        table_number(t, PAINT_NONE, 1, "1");
    } else if (v->ranked && v->time->ratio > 0) {
        table_number(t, v->time->ratio_low > 1 ? PAINT_GOOD : PAINT_NONE, v->time->ratio, number_3(v->time->ratio, a));
        if (v->time->ratio_low > 0)
            table_note(t, "[%s %s]", number_3(v->time->ratio_low, b), number_3(v->time->ratio_high, c));
    } else {
        table_absent(t, 1);
    }
}

static void us_cell(struct table *t, double ns)
{
    char a[NUMBER_TEXT];
    table_number(t, PAINT_NONE, isfinite(ns) ? ns / 1e3 : NAN, number_3(ns / 1e3, a));
}

static void value_cell(struct table *t, enum paint paint, double value, const char *(*print)(double, char *))
{
    char a[NUMBER_TEXT];
    table_number(t, paint, value, print(value, a));
}

/* Values of counter groups that a table of a case has, where a row has them. */
static void counter_columns(struct table *t, const struct case_view *c)
{
    for (struct counter_place p = {0}; counter_next(case_groups(c), &p, COUNTER_HEAD);)
        if (p.group->values[p.value].brief)
            case_column(t, &p, DETAIL_BRIEF);
}

static void counter_cells(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    const struct counter_groups *groups = case_groups(c);
    for (struct counter_place p = {0}; counter_next(groups, &p, COUNTER_HEAD);) {
        const struct counter_value *k = &p.group->values[p.value];
        if (k->brief)
            value_cell(t, verdict_reads(v, k->name) ? PAINT_WARN : PAINT_NONE,
                       verdict_holds(c, v, k->shown_if) ? view_hardware(v, step, k->name) : NAN, number_short);
    }
}

static void fact_columns(struct table *t)
{
    table_column(t, "registers", "regs", ALIGN_RIGHT, .about = "registers per thread, of the longest step",
                 .ncu = "launch__registers_per_thread", .spare = 2);
    table_column(t, "spill", "spill", ALIGN_RIGHT, .about = "bytes per thread that spills store to local memory", .spare = 5);
    table_column(t, "smem", "smemK", ALIGN_RIGHT, .about = "KiB of shared memory per block",
                 .ncu = "launch__shared_mem_per_block_static, launch__shared_mem_per_block_dynamic", .spare = 6);
    table_column(t, "occupancy", "occ", ALIGN_RIGHT, .note = "%",
                 .about = "theoretical occupancy: resident warps over the chip's maximum, and the limiting resource",
                 .ncu = "sm__maximum_warps_per_active_cycle_pct", .spare = 3);
}

/* Where the memory of a call is asked about: with masks, and along the number of images. */
static bool shows_footprint(const struct case_view *c)
{
    return c->rows[0]->mask_pattern || row_axis(c->rows[0], "n");
}

static void timed_columns(struct table *t, const struct case_view *c)
{
    char heading[VARIANT_BASE + 2];
    snprintf(heading, sizeof heading, "x %s", c->zero_name);
    table_columns(t, {"mark", "#", ALIGN_LEFT}, {"name", "variant", ALIGN_LEFT});
    table_column(t, "time", "time us", ALIGN_POINT, .about = "median of the rounds, with half of its 95 % interval");
    table_column(t, "ratio", heading, ALIGN_POINT, .note = "[95 %]",
                 .about = "speed-up: the baseline's time over the variant's, paired by round; above 1 is faster");
    table_column(
        t, "limit", "SOL", ALIGN_RIGHT,
        .about =
            isnan(c->roof_ns)
                ? "share of the speed of light: the data sheet's lowest possible time over the variant's time"
                : "share of the speed of light: the lowest possible time at the measured ceilings of this machine over the variant's time",
        .spare = 1);
    fact_columns(t);
    table_column(t, "graph", "graph us", ALIGN_POINT, .about = "one launch in a CUDA graph of many, with warm caches", .spare = 4);
    table_column(t, "prepare", "prep us", ALIGN_POINT, .about = "time of the one-time preparation, which is not part of the timed launch",
                 .spare = 12);
    if (shows_footprint(c))
        table_column(t, "footprint", "footprint MB", ALIGN_POINT, .about = "tensors, masks, scratch memory and workspace of a call",
                     .spare = 8);
    table_column(t, "state", "state MB", ALIGN_POINT, .about = "memory that a sequence keeps from frame to frame", .spare = 7);
    table_column(t, "error", "error/bound", ALIGN_POINT,
                 .about = "error of the sequence's result relative to the dense one, over the allowed error", .spare = 3);
    counter_columns(t, c);
    table_column(t, "bottleneck", "bottleneck", ALIGN_LEFT);
}

static double footprint_mb(const struct row *row)
{
    bool known = row->footprint_bytes >= 0 && (row->workspace_bytes >= 0 || !row->library);
    return known ? (double)(row->footprint_bytes + (row->workspace_bytes > 0 ? row->workspace_bytes : 0)) / 1e6 : NAN;
}

/* Time in a graph, preparation time; for sequences the kept state and the distance from the dense result. */
static void extra_cells(struct table *t, const struct case_view *c, const struct view *v)
{
    const struct row *row = v->row;
    const struct row_time *graph = v->ranked && !mode_is_sustained(c->mode) ? row_time(row, MODE_SUSTAINED) : NULL;
    bool sequence = row->op && strcmp(row->op, ROW_SEQUENCE) == 0;
    us_cell(t, graph ? graph->median_ns : NAN);
    us_cell(t, v->ranked ? row->prepare_ns : NAN);
    if (shows_footprint(c))
        value_cell(t, PAINT_NONE, footprint_mb(row), number_3);
    value_cell(t, PAINT_NONE, sequence && row->state_bytes >= 0 ? (double)row->state_bytes / 1e6 : NAN, number_3);
    value_cell(t, PAINT_NONE, sequence && row->error_over_bound >= 0 ? row->error_over_bound : NAN, number_3);
}

static void timed_row(struct table *t, const struct case_view *c, const struct view *v)
{
    char value[NUMBER_TEXT], half[NUMBER_TEXT];
    double share = isnan(c->roof_ns) ? v->floor_share : v->roof_share;
    table_row(t, v->rank == 0 ? LINE_BASELINE : LINE_PLAIN);
    name_cells(t, c, v, PAINT_BOLD);
    if (v->ranked) {
        number_pair(v->time->median_ns / 1e3, v->half_ns / 1e3, value, half);
        table_number(t, PAINT_NONE, v->time->median_ns / 1e3, value);
        table_note(t, half[0] ? "±%s" : "%s", half);
    } else {
        table_cell(t, PAINT_DIM, "not timed");
    }
    ratio_cell(t, v);
    table_cell(t, PAINT_NONE, isnan(share) ? "" : "%s %%", number_percent(share, value));
    row_facts(t, c, v);
    extra_cells(t, c, v);
    counter_cells(t, c, v, -1);
    verdict_cell(t, v);
}

static void timed_step(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    const struct row_time *time = step_time(c, v->row, step);
    us_cell(t, time ? time->median_ns : NAN);
    table_absent(t, 2);
    step_facts(t, c, v, step);
    table_absent(t, 4 + shows_footprint(c));
    counter_cells(t, c, v, step);
}

/* A device that counts: no ranking. */
static void counted_columns(struct table *t)
{
    table_columns(t, {"mark", "", ALIGN_LEFT}, {"name", "variant", ALIGN_LEFT});
    table_column(t, "check", "check", ALIGN_LEFT,
                 .about = "exact: bit for bit on small integers; tol: the largest error on full data over the tolerance");
    table_column(t, "ran", "ran", ALIGN_LEFT,
                 .about =
                     "how many blocks of the layer's launches ran for the counts (all: every block), and how many results of the whole "
                     "layer were compared beside those of the verified part",
                 .spare = 10);
    table_column(t, "stored", "stored us", ALIGN_POINT, .about = "time of the same machine code and launches in a stored run on a GPU");
    table_column(t, "predicted", "predicted us", ALIGN_POINT, .note = "[80 %]",
                 .about = "predicted time, which is not measured, with the interval in which 80 % of the rows that were held out lie",
                 .spare = -1);
    fact_columns(t);
    table_column(t, "fma", "warp FMA", ALIGN_RIGHT, .about = "warp instructions that are multiply-adds", .spare = 8);
    table_column(t, "load", "ld sect/req", ALIGN_POINT,
                 .about = "32-byte sectors per load request; in parentheses the fewest that its bytes need", .detail = DETAIL_FULL,
                 .ncu = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", .spare = 9);
    table_column(t, "store", "st sect/req", ALIGN_POINT,
                 .about = "32-byte sectors per store request; in parentheses the fewest that its bytes need",
                 .ncu = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", .spare = 4);
    table_column(t, "conflicts", "bank conflicts", ALIGN_RIGHT, .about = "shared memory wavefronts beyond the fewest possible",
                 .detail = DETAIL_FULL, .ncu = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", .spare = 9);
    table_column(t, "moved", "moved/compulsory", ALIGN_POINT, .about = "bytes of all moved sectors over the compulsory bytes", .spare = 2);
    table_column(t, "bottleneck", "bottleneck", ALIGN_LEFT);
}

/* Sectors of an average request, and the minimum. */
static void request_cell(struct table *t, const struct view *v, int step, enum metric_side side, bool waste)
{
    char a[NUMBER_TEXT];
    double requests = view_part(v, step, METRIC_EMU_REQUESTS + side);
    double ideal = quotient(view_part(v, step, METRIC_EMU_SECTORS_IDEAL + side), requests);
    value_cell(t, waste ? PAINT_WARN : PAINT_NONE, quotient(view_part(v, step, METRIC_EMU_SECTORS + side), requests), number_3);
    table_note(t, isnan(ideal) ? "" : "(%s)", number_short(ideal, a));
}

static void time_cells(struct table *t, const struct view *v)
{
    const struct prediction *p = &v->predicted;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    us_cell(t, v->stored ? 1e3 * v->stored->us : NAN);
    us_cell(t, p->ns > 0 ? p->ns : NAN);
    if (p->ns > 0) {
        table_note(t, "[%s %s]", number_3(p->low_ns / 1e3, a), number_3(p->high_ns / 1e3, b));
        table_about(t, predict_unit_names[p->limit]);
    }
}

/* For the whole row (step -1) or one of its steps. */
static void counted_cells(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    value_cell(t, PAINT_NONE, view_part(v, step, METRIC_EMU_FMA), number_count);
    request_cell(t, v, step, SIDE_LOAD, verdict_reads(v, "emu_ld_waste"));
    request_cell(t, v, step, SIDE_STORE, verdict_reads(v, "emu_st_waste"));
    value_cell(t, PAINT_NONE, view_part(v, step, METRIC_EMU_CONFLICTS), number_count);
    double bytes = row_counts_part(v->row) ? NAN : v->row->bytes;
    value_cell(t, PAINT_NONE, step < 0 ? v->moved_over_compulsory : quotient(view_emu_bytes(v, step), bytes), number_3);
}

static void counted_row(struct table *t, const struct case_view *c, const struct view *v)
{
    table_row(t, LINE_PLAIN);
    name_cells(t, c, v, PAINT_BOLD);
    const char *check = v->row->check ? v->row->check : "";
    int before = (int)strcspn(check, "("); /* the reason of a tolerance is left out of a narrow table before a time is */
    if (v->row->status == ROW_FOIL)
        table_cell(t, PAINT_DIM, "not verified");
    else
        table_cell(t, PAINT_GOOD, "ok %.*s", before - (check[before] && before > 0), check);
    if (v->row->status != ROW_FOIL && check[before])
        table_note(t, "%s", check + before);
    char compared[NUMBER_TEXT];
    if (v->row->compared < 0)
        table_cell(t, PAINT_DIM, "%s", v->row->ran ? v->row->ran : "");
    else
        table_cell(t, PAINT_DIM, "%s; %s values", v->row->ran, number_count(v->row->compared, compared));
    if (v->row->uncompared)
        table_note(t, "compared on the part alone: %s", v->row->uncompared);
    time_cells(t, v);
    row_facts(t, c, v);
    counted_cells(t, c, v, -1);
    verdict_cell(t, v);
}

static void counted_step(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    table_absent(t, 4);
    facts_cells(t, &v->row->steps[step], false);
    counted_cells(t, c, v, step);
}

struct table *case_table(const struct case_view *c)
{
    static void (*const rows[])(struct table *, const struct case_view *, const struct view *) = {timed_row, counted_row};
    static void (*const steps[])(struct table *, const struct case_view *, const struct view *, int) = {timed_step, counted_step};
    struct table *t = table_new();
    if (c->counts)
        counted_columns(t);
    else
        timed_columns(t, c);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (v->same_as || sentence_row(t, c, v) || (v->row->status != ROW_OK && v->row->status != ROW_FOIL))
            continue;
        rows[c->counts](t, c, v);
        for (int s = 0; view_itemises(v) && s < v->row->step_count; s++) {
            if (!v->row->steps[s].prepare) {
                table_row(t, LINE_STEP);
                table_absent(t, 1);
                table_cell(t, PAINT_DIM, "%s", v->row->steps[s].name);
                steps[c->counts](t, c, v, s);
            }
        }
    }
    return t;
}
