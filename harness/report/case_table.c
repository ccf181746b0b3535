/* report/case_table: see case_table.h. */
#include "report/case_table.h"
#include "report/number.h"
#include "report/resources.h"
#include "report/verdict.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void failure_text(const struct view *v, struct text *t)
{
    for (const char *s = row_status_name(v->row->status); *s; s++) {
        text_addf(t, "%c", toupper((unsigned char)*s));
    }
    text_addf(t, "  %s", v->row->reason && v->row->reason[0] ? v->row->reason : "without a reason: a fault of bench");
    if (v->row->dump && v->row->dump[0]) {
        text_addf(t, "; tensors, error map: %s", v->row->dump);
    }
}

static void blanks(struct table *t, int n)
{
    while (n-- > 0) {
        table_cell(t, PAINT_NONE, "%s", "");
    }
}

/* regs, spill, smemK, occ %: of one step. -1 is left blank. */
static void facts_cells(struct table *t, const struct row_step *s)
{
    char a[NUMBER_TEXT];
    if (s->registers < 0) {
        blanks(t, 5);
        return;
    }
    table_cell(t, PAINT_NONE, "%d", s->registers);
    table_cell(t, s->spill_store_bytes > 0 ? PAINT_WARN : PAINT_NONE, s->spill_store_bytes >= 0 ? "%d" : "", s->spill_store_bytes);
    if (s->static_smem >= 0 && s->dynamic_smem >= 0) {
        table_cell(t, PAINT_NONE, "%s", number_short((s->static_smem + s->dynamic_smem) / 1024.0, a));
    } else {
        table_cell(t, PAINT_NONE, "%s", "");
    }
    table_cell(t, PAINT_NONE, "%s", s->occupancy >= 0 ? number_percent(s->occupancy, a) : "");
    table_cell(t, PAINT_DIM, "%s", s->occupancy >= 0 ? s->limit : "");
}

/* A library's kernel is as CUPTI saw it: nobody knows what its compiler spilled. */
static void step_facts(struct table *t, const struct case_view *c, const struct view *v, int step)
{
    struct row_step s;
    if (resources_step(c, v, step, &s)) {
        facts_cells(t, &s);
    } else {
        blanks(t, 5);
    }
}

/* The row's own facts, or "3 steps" where each step has its line. */
static void row_facts(struct table *t, const struct case_view *c, const struct view *v)
{
    if (v->steps > 1) {
        table_cell(t, PAINT_DIM, "%d steps", v->steps);
        blanks(t, 4);
    } else {
        step_facts(t, c, v, v->step >= 0 ? v->step : 0);
    }
}

/* The first rule that holds; blank when none does. */
static void verdict_cell(struct table *t, const struct case_view *c, const struct view *v)
{
    struct verdicts all;
    verdicts_of(c, v, &all);
    table_cell(t, PAINT_NONE, "%s", all.count ? counter_bind_names[all.items[0].binds] : "");
}

static const char *status_mark(const struct view *v, char mark[16])
{
    snprintf(mark, 16, "%s", v->failed ? "!" : "");
    if (v->rank >= 0) {
        snprintf(mark, 16, "%d", v->rank);
    }
    return mark;
}

/* Rows that say a sentence instead of numbers. False: the row is an ordinary one. */
static bool sentence_row(struct table *t, const struct view *v)
{
    struct text text = {0};
    char mark[16];
    if (v->failed) {
        failure_text(v, &text);
    } else if (v->row->status == ROW_SKIPPED) {
        text_add(&text, v->row->reason && v->row->reason[0] ? v->row->reason : "skipped without a reason");
    } else {
        return false;
    }
    table_row(t);
    table_cell(t, PAINT_BAD, "%s", status_mark(v, mark));
    table_cell(t, v->failed ? PAINT_BAD : PAINT_DIM, "%s", v->name);
    table_rest(t, v->failed ? PAINT_NONE : PAINT_DIM, text_get(&text));
    text_free(&text);
    return true;
}

static void ratio_cells(struct table *t, const struct view *v)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
    if (v->rank == 0) {
        table_cell(t, PAINT_NONE, "1");
        table_cell(t, PAINT_NONE, "%s", "");
    } else if (v->ranked && v->time->ratio > 0) {
        /* bold green only where the whole interval is above 1: a difference inside it is none */
        table_cell(t, v->time->ratio_low > 1 ? PAINT_GOOD : PAINT_NONE, "%s", number_3(v->time->ratio, a));
        if (v->time->ratio_low > 0) {
            table_cell(t, PAINT_DIM, "[%s %s]", number_3(v->time->ratio_low, b), number_3(v->time->ratio_high, c));
        } else {
            table_cell(t, PAINT_NONE, "%s", "");
        }
    } else {
        blanks(t, 2);
    }
}

/* Hardware counters worth a column: what is busy, and what is wasted. Shown where a row of the case has them. */
static const struct {
    const char *heading, *metric;
    double warn; /* from here on, marked */
} hardware[] = {
    {"dram %", "hw.dram_throughput", INFINITY},  {"issue %", "hw.issue_active", INFINITY},
    {"tensor %", "hw.tensor_active", INFINITY},  {"ld sect/req", "hw.sectors_per_request_ld", 16},
    {"confl %", "hw.shared_conflict_share", 10},
};
#define HARDWARE ((int)(sizeof hardware / sizeof *hardware))

static void hardware_columns(struct table *t, const struct case_view *c, bool shown[HARDWARE])
{
    for (int k = 0; k < HARDWARE; k++) {
        shown[k] = false;
        for (int i = 0; i < c->count; i++) {
            shown[k] = shown[k] || !isnan(counter_step(c->rows[i], -1, hardware[k].metric));
        }
        if (shown[k]) {
            table_column(t, hardware[k].heading, ALIGN_RIGHT, false);
        }
    }
}

static void hardware_cells(struct table *t, const struct row *row, int step, const bool shown[HARDWARE])
{
    char a[NUMBER_TEXT];
    for (int k = 0; k < HARDWARE; k++) {
        double v = counter_step(row, step, hardware[k].metric);
        if (shown[k]) {
            table_cell(t, v >= hardware[k].warn ? PAINT_WARN : PAINT_NONE, "%s", isnan(v) ? "" : number_short(v, a));
        }
    }
}

/* What a launch in a graph takes, what is prepared once, and of sequences what is kept from frame to frame and how far the result has gone
 * from the dense one: columns where a row of the case has them. */
struct extra_columns {
    bool graph, prepare, sequence;
    int count;
};

static struct extra_columns extra_columns(struct table *t, const struct case_view *c)
{
    struct extra_columns e = {0};
    for (int i = 0; i < c->count; i++) {
        e.graph |= c->views[i].ranked && !strcmp(c->load, "isolated") && row_time(c->rows[i], "warm", "sustained");
        e.prepare |= c->views[i].ranked && isfinite(c->rows[i]->prepare_ns);
        e.sequence |= c->rows[i]->op && !strcmp(c->rows[i]->op, "sequence");
    }
    if (e.graph) {
        table_column(t, "graph us", ALIGN_POINT, false);
    }
    if (e.prepare) {
        table_column(t, "prep us", ALIGN_POINT, false);
    }
    if (e.sequence) {
        table_column(t, "state MB", ALIGN_POINT, false);
        table_column(t, "error/bound", ALIGN_POINT, false);
    }
    e.count = e.graph + e.prepare + 2 * e.sequence;
    return e;
}

static void extra_cells(struct table *t, const struct view *v, const struct extra_columns *e)
{
    char a[NUMBER_TEXT];
    const struct row_time *graph = row_time(v->row, "warm", "sustained");
    if (e->graph) {
        table_cell(t, PAINT_NONE, "%s", graph ? number_3(graph->median_ns / 1e3, a) : "");
    }
    if (e->prepare) {
        table_cell(t, PAINT_NONE, "%s", isfinite(v->row->prepare_ns) ? number_3(v->row->prepare_ns / 1e3, a) : "");
    }
    if (e->sequence) {
        table_cell(t, PAINT_NONE, "%s", v->row->state_bytes >= 0 ? number_3((double)v->row->state_bytes / 1e6, a) : "");
        table_cell(t, PAINT_NONE, "%s", v->row->error_over_bound >= 0 ? number_3(v->row->error_over_bound, a) : "");
    }
}
/* What row_facts fills. */
static void fact_columns(struct table *t)
{
    table_column(t, "regs", ALIGN_RIGHT, false);
    table_column(t, "spill", ALIGN_RIGHT, false);
    table_column(t, "smemK", ALIGN_RIGHT, false);
    table_column(t, "occ", ALIGN_RIGHT, false);
    table_column(t, "%", ALIGN_LEFT, true);
}

struct timed_columns {
    bool roof; /* the share is of the measured roof, else of the floor */
    bool hardware[HARDWARE];
    struct extra_columns extra;
};

static void timed_row(struct table *t, const struct case_view *c, const struct view *v, const struct timed_columns *has)
{
    char mark[16], value[NUMBER_TEXT], half[NUMBER_TEXT];
    double share = has->roof ? v->roof_share : v->floor_share;
    table_row(t);
    table_cell(t, PAINT_NONE, "%s", status_mark(v, mark));
    table_cell(t, PAINT_BOLD, "%s", v->name);
    if (v->ranked) {
        number_pair(v->time->median_ns / 1e3, v->half_ns / 1e3, value, half);
        table_cell(t, PAINT_NONE, "%s", value);
        table_cell(t, PAINT_DIM, half[0] ? "±%s" : "%s", half);
    } else {
        table_cell(t, PAINT_DIM, "not timed");
        blanks(t, 1);
    }
    ratio_cells(t, v);
    table_cell(t, PAINT_NONE, isnan(share) ? "" : "%s %%", number_percent(share, value));
    row_facts(t, c, v);
    extra_cells(t, v, &has->extra);
    hardware_cells(t, v->row, -1, has->hardware);
    verdict_cell(t, c, v);
}

static void timed_step(struct table *t, const struct case_view *c, const struct view *v, int step, const struct timed_columns *has)
{
    char value[NUMBER_TEXT];
    const struct row_time *time = step_time(c, v->row, step);
    table_row(t);
    blanks(t, 1);
    table_cell(t, PAINT_DIM, "  %s", v->row->steps[step].name);
    table_cell(t, PAINT_NONE, "%s", time ? number_3(time->median_ns / 1e3, value) : "");
    blanks(t, 4);
    step_facts(t, c, v, step);
    blanks(t, has->extra.count);
    hardware_cells(t, v->row, step, has->hardware);
}

/* D: a device that keeps time. */
static struct table *timed_table(const struct case_view *c)
{
    struct table *t = table_new();
    char heading[VARIANT_BASE + 2];
    struct timed_columns has = {.roof = !isnan(c->roof_ns)};
    snprintf(heading, sizeof heading, "x %s", c->zero_name);
    table_column(t, "#", ALIGN_LEFT, false);
    table_column(t, "variant", ALIGN_LEFT, false);
    table_column(t, "time us", ALIGN_POINT, false);
    table_column(t, "", ALIGN_LEFT, true);
    table_column(t, heading, ALIGN_POINT, false);
    table_column(t, "[95 %]", ALIGN_LEFT, true);
    table_column(t, has.roof ? "roof" : "floor", ALIGN_RIGHT, false);
    fact_columns(t);
    has.extra = extra_columns(t, c);
    hardware_columns(t, c, has.hardware);
    table_column(t, "binds", ALIGN_LEFT, false);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        bool usable = v->row->status == ROW_OK || v->row->status == ROW_FOIL;
        if (sentence_row(t, v) || !usable) {
            continue;
        }
        timed_row(t, c, v, &has);
        for (int s = 0; view_itemises(v) && s < v->row->step_count; s++) {
            if (!v->row->steps[s].prepare) {
                timed_step(t, c, v, s, &has);
            }
        }
    }
    return t;
}

static void counter_cells(struct table *t, double fma, double st, double ideal, double moved)
{
    char a[NUMBER_TEXT];
    table_cell(t, PAINT_NONE, "%s", isnan(fma) ? "" : number_count(fma, a));
    table_cell(t, st >= ideal * 2 ? PAINT_WARN : PAINT_NONE, "%s", isnan(st) ? "" : number_3(st, a));
    table_cell(t, PAINT_DIM, isnan(ideal) ? "" : "(%s)", number_short(ideal, a));
    table_cell(t, PAINT_NONE, "%s", isnan(moved) ? "" : number_3(moved, a));
}

static double over(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* E: a device that counts. The scenario's order, no ranking. */
static struct table *counted_table(const struct case_view *c)
{
    struct table *t = table_new();
    char mark[16];
    table_column(t, "", ALIGN_LEFT, false);
    table_column(t, "variant", ALIGN_LEFT, false);
    table_column(t, "check", ALIGN_LEFT, false);
    fact_columns(t);
    table_column(t, "warp FMA", ALIGN_RIGHT, false);
    table_column(t, "st sect/req", ALIGN_POINT, false);
    table_column(t, "", ALIGN_LEFT, true);
    table_column(t, "moved/compulsory", ALIGN_POINT, false);
    table_column(t, "binds", ALIGN_LEFT, false);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        bool usable = v->row->status == ROW_OK || v->row->status == ROW_FOIL;
        if (sentence_row(t, v) || !usable) {
            continue;
        }
        table_row(t);
        table_cell(t, PAINT_NONE, "%s", status_mark(v, mark));
        table_cell(t, PAINT_BOLD, "%s", v->name);
        table_cell(t, PAINT_GOOD, "ok %s", v->row->check ? v->row->check : "");
        row_facts(t, c, v);
        counter_cells(t, v->warp_fma, v->st_sect_req, v->st_ideal, v->moved_over_compulsory);
        verdict_cell(t, c, v);
        for (int s = 0; view_itemises(v) && s < v->row->step_count; s++) {
            const struct row_step *step = &v->row->steps[s];
            if (step->prepare) {
                continue;
            }
            table_row(t);
            blanks(t, 1);
            table_cell(t, PAINT_DIM, "  %s", step->name);
            blanks(t, 1);
            facts_cells(t, step);
            double st = counter_step(v->row, s, "emu.global_sectors_st"), ld = counter_step(v->row, s, "emu.global_sectors_ld");
            double requests = counter_step(v->row, s, "emu.global_requests_st"), copied = counter_step(v->row, s, "emu.async_sectors");
            counter_cells(t, counter_step(v->row, s, "emu.warp_fma"), over(st, requests),
                          over(counter_step(v->row, s, "emu.global_sectors_ideal_st"), requests),
                          over(32 * (st + ld + (isnan(copied) ? 0 : copied)), v->row->bytes));
        }
    }
    return t;
}

struct table *case_table(const struct case_view *c)
{
    return c->counts ? counted_table(c) : timed_table(c);
}

/* ---- the lines around it ---- */

void case_conditions(const struct case_view *c, struct text *t)
{
    const struct row *row = c->count ? c->rows[0] : NULL;
    const char *compiler = c->run && c->run->compiler ? c->run->compiler : "", *arch = "";
    int rounds = 0, least = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->compiler && v->row->compiler[0] && !compiler[0]) {
            compiler = v->row->compiler;
        }
        if (v->row->arch && !arch[0]) {
            arch = v->row->arch;
        }
        if (v->ranked) {
            rounds = v->time->rounds > rounds ? v->time->rounds : rounds;
            least = !least || v->time->rounds < least ? v->time->rounds : least;
        }
    }
    if (c->counts) {
        text_addf(t, "%s · %s · %s · counts are exact; there is no time and no ranking (order: the scenario's)",
                  row && row->device ? row->device : "emu", arch, compiler);
        return;
    }
    const char *about = c->run && c->run->device_about ? c->run->device_about : row && row->device ? row->device : "";
    text_addf(t, "%s · %s %s", about, compiler, arch);
    if (!c->cache[0]) {
        text_add(t, " · not timed");
        return;
    }
    text_addf(t, " · %s, %s", c->load, c->cache);
    if (rounds) {
        text_addf(t, least < rounds ? " · %d to %d rounds" : " · %d rounds", least, rounds);
    }
    if (!isnan(c->noise)) {
        double p = c->noise * 100;
        text_addf(t, " · A/A ±%.*f %%", p < 10 ? 2 : 0, p);
    }
}

void case_work(const struct case_view *c, struct text *t)
{
    const struct row *row = c->count ? c->rows[0] : NULL;
    char a[NUMBER_TEXT], b[NUMBER_TEXT], p[NUMBER_TEXT];
    const char *dot = "";
    if (!row) {
        return;
    }
    if (row->flop > 0 && row->density_out >= 0) {
        text_addf(t, "dense D %s, useful E %s (%s %% of outputs)", number_si(row->flop, "FLOP", a),
                  number_si(row->flop * row->density_out, "FLOP", b), number_short(row->density_out * 100, p));
        dot = " · ";
    } else if (row->flop > 0) {
        text_addf(t, "%s", number_si(row->flop, "FLOP", a));
        dot = " · ";
    }
    if (row->bytes > 0) {
        text_addf(t, "%scompulsory %s", dot, number_si(row->bytes, "B", a));
        dot = " · ";
    }
    if (row->floor_ns > 0 && !c->counts) {
        text_addf(t, "%sfloor %s (%s)", dot, number_time(row->floor_ns, a), row->floor_by[0] ? row->floor_by : "?");
        dot = " · ";
    }
    if (!isnan(c->roof_ns)) {
        double compute = counter_step(row, -1, "model.roof_compute_ns"), memory = counter_step(row, -1, "model.roof_memory_ns");
        const char *by = compute >= c->roof_ns ? "compute" : memory >= c->roof_ns ? "memory" : isnan(memory) ? "" : "launch";
        text_addf(t, "%sroof %s", dot, number_time(c->roof_ns, a));
        if (by[0] && c->machine.measured)
            text_addf(t, " (%s, measured %.10s)", by, c->machine.ceilings.date);
    }
}

static bool same_tiles(const struct row *a, const struct row *b)
{
    return a->tile && b->tile && strcmp(a->tile, b->tile) == 0 && a->tile_weight_bytes == b->tile_weight_bytes;
}

static void tiles_line(const struct case_view *c, int first, struct text *t)
{
    const struct row *row = c->rows[first];
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    text_addf(t, "%s", row->tile);
    const char *gap = " (", *last = "";
    for (int i = first; i < c->count; i++) {
        const char *name = variant_short(c->rows[i]); /* points of one variant stand together */
        if (same_tiles(row, c->rows[i]) && strcmp(name, last) != 0) {
            text_addf(t, "%s%s", gap, name);
            gap = ", ";
            last = name;
        }
    }
    text_addf(t, "): %s of %s active", number_count((double)row->tiles_active, a), number_count((double)row->tiles, b));
    if (row->flop_scheduled > 0) {
        text_addf(t, ", scheduled A %s", number_si(row->flop_scheduled, "FLOP", a));
    }
    if (row->flop_scheduled > 0 && row->flop_useful > 0) {
        text_addf(t, ", %s E", number_3(row->flop_scheduled / row->flop_useful, a));
    }
    text_addf(t, " · by marked inputs %s", row->tile_fill ? row->tile_fill : "?");
    if (row->tile_weight_bytes >= 0) {
        text_addf(t, " · filter %s a tile", number_si((double)row->tile_weight_bytes, "B", a));
    }
    text_add(t, "\n");
}

void case_tiles(const struct case_view *c, struct text *t)
{
    for (int i = 0; i < c->count; i++) {
        bool said = !c->rows[i]->tile || c->rows[i]->tiles < 0;
        for (int k = 0; k < i; k++) {
            said |= same_tiles(c->rows[i], c->rows[k]);
        }
        if (!said) {
            tiles_line(c, i, t);
        }
    }
}

/* Every mode but the headline, in the order in which the rows met them. */
void case_modes(const struct case_view *c, struct text *t)
{
    char modes[8][24], a[NUMBER_TEXT], r[NUMBER_TEXT];
    int count = 0;
    for (int i = 0; i < c->count && !c->counts; i++) {
        for (int k = 0; k < c->rows[i]->time_count; k++) {
            const struct row_time *time = &c->rows[i]->times[k];
            char mode[24];
            snprintf(mode, sizeof mode, "%s, %s", time->load, time->cache);
            bool known = time->step != -1 || (strcmp(time->cache, c->cache) == 0 && strcmp(time->load, c->load) == 0) || count == 8 ||
                         (strcmp(time->load, "sustained") == 0 && strcmp(c->load, "isolated") == 0); /* a column of the table */
            for (int m = 0; m < count; m++) {
                known |= strcmp(modes[m], mode) == 0;
            }
            if (known) {
                continue;
            }
            snprintf(modes[count++], sizeof modes[0], "%s", mode);
            text_addf(t, "%s", mode);
            const char *dot = "  ";
            for (int j = 0; j < c->count; j++) {
                const struct view *v = &c->views[c->order[j]];
                const struct row_time *other = v->ranked ? row_time(v->row, time->cache, time->load) : NULL;
                if (other) {
                    text_addf(t, "%s%s %s us", dot, v->name, number_3(other->median_ns / 1e3, a));
                    if (other->ratio > 0 && v->rank != 0) {
                        text_addf(t, " (x %s)", number_3(other->ratio, r));
                    }
                    dot = " · ";
                }
            }
            text_add(t, "\n");
        }
    }
}
