#include "report/view/predict.h"
#include "base/dtype.h"
#include "report/view/number.h"
#include "report/view/stored.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_MOST 0.25        /* of the compulsory bytes: a kernel that touches less of them did not do its work */
#define CODE_BYTES 20         /* of machine code, for each instruction of the PTX that was executed */
#define SAMPLE_ERROR_MOST 0.1 /* counts whose interval is wider predict nothing */
#define SCHEDULERS 4          /* of an SM */
#define ISSUE_FEW 25.0        /* % of the cycles: below, a warp of an H200 spends 44 to 74 % of its time in one state, in the median of */
#define WAIT_MOST 45.0        /* rows of two judgements, by kind. Beside global data emu does not know which (a barrier, another block) */
#define WAITS_AN_ISSUE 2.0    /* cycles in the state `wait` for each instruction: 1.9 in the median of 258 rows of an H200 (1.5 to 2.3) */

static double emu_of(const struct view *v, int step, const char *name)
{
    char metric[64];
    snprintf(metric, sizeof metric, METRIC_EMU "%s", name);
    double value = view_value(v, step, metric);
    value = isnan(value) ? v->steps <= 1 ? view_value(v, -1, metric) : NAN : value;
    return isnan(value) ? 0 : value;
}

/* Distinct bytes: as counted, else those of the work. */
static void put_bytes(const struct row *row, struct predict_counts *n)
{
    double all = row->bytes_useful >= 0 ? row->bytes_useful : row->bytes;
    if (n->read_bytes > 0 || n->written_bytes > 0)
        return;
    n->written_bytes = fmin(all, SECTOR_BYTES * n->sectors_st);
    n->read_bytes = n->sectors_ld + n->sectors_async > 0 ? fmax(0, all - n->written_bytes) : 0;
}

/* Blocks of a kernel with clusters that the GPU holds at once; 0: it has none. */
static double resident(const struct view *v, int step)
{
    double blocks = view_metric(v, step, METRIC_CLUSTERS_AT_MOST) * view_value(v, step, METRIC_MODEL "cluster_blocks");
    return blocks > 0 ? blocks : 0;
}

/* Machine code that a launch reads: of a kernel with many cases only what was executed. */
static double code_bytes(const struct view *v, int step)
{
    double all = fmax(0, (double)v->row->steps[step].code_bytes), run = view_value(v, step, METRIC_EMU "code_run");
    return run > 0 ? fmin(all, CODE_BYTES * run) : all;
}

static struct predict_counts counts_of(const struct view *v, int step)
{
#define KIND_COUNTER(name, counter) counter,
    static const char *const kinds[PREDICT_KIND_COUNT] = {PREDICT_KINDS(KIND_COUNTER)};
    const struct row_step *s = &v->row->steps[step];
    struct predict_counts n = {
        .blocks = (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2],
        .warps_per_block = ceil((double)(s->block[0] * s->block[1] * s->block[2]) / 32),
        .blocks_per_sm = s->blocks_per_sm,
        .registers = s->registers,
        .code_bytes = code_bytes(v, step),
        .instructions = emu_of(v, step, "warp_instructions"),
        .machine_more = emu_of(v, step, "machine_more"),
        .branches = emu_of(v, step, "warp_branch"),
        .requests_ld = emu_of(v, step, "global_requests_ld"),
        .first_sectors = emu_of(v, step, "first_sectors"),
        .path_l1 = emu_of(v, step, "path_l1_cycles"),
        .path_l2 = emu_of(v, step, "path_l2_cycles"),
        .path_dram = emu_of(v, step, "path_dram_cycles"),
        .path_fixed = emu_of(v, step, "path_fixed_cycles"),
        .waves = emu_of(v, step, "global_wavefronts"),
        .sectors_ld = emu_of(v, step, "global_sectors_ld"),
        .sectors_st = emu_of(v, step, "global_sectors_st") + emu_of(v, step, "global_sectors_atomic"),
        .sectors_st_part = fmax(0, emu_of(v, step, "global_sectors_st") - emu_of(v, step, "global_sectors_ideal_st")),
        .sectors_async = emu_of(v, step, "async_sectors"),
        .shared_wavefronts = emu_of(v, step, "shared_wavefronts_ld") + emu_of(v, step, "shared_wavefronts_st"),
        .shared_loads = emu_of(v, step, "warp_load_shared"),
        .barriers = emu_of(v, step, "warp_barrier"),
        .tensor_macs = emu_of(v, step, "tensor_macs"),
        .read_bytes = emu_of(v, step, "unique_bytes_read"),
        .written_bytes = emu_of(v, step, "unique_bytes_written"),
        .unequal_sm = emu_of(v, step, "unequal_sm"),
        .unequal_place = emu_of(v, step, "unequal_place"),
        .unequal_blocks = emu_of(v, step, "unequal_blocks"),
        .unequal_busy = emu_of(v, step, "unequal_busy") / 100,
        .resident = resident(v, step),
        .takes = emu_of(v, step, "atomic_results") > 0,
        .groups = view_metric(v, step, METRIC_SASS_GMMA) > 0,
        .math = v->row->math && *v->row->math ? math_parse(v->row->math) : MATH_NONE,
    };
    for (int i = 0; i < PREDICT_KIND_COUNT; i++)
        n.kind[i] = emu_of(v, step, kinds[i]);
    put_bytes(v->row, &n);
    return n;
}

static const struct chip_model *model_of(const struct case_view *c, const struct judge *j)
{
    for (int i = 0; c->machine.chip && i < j->model_count; i++)
        if (!strcmp(j->models[i]->chip, c->machine.chip->name))
            return j->models[i];
    return NULL;
}

/* Did a part of the layer run? Its distinct bytes are then far fewer than those of the work. */
static bool is_part(const struct view *v)
{
    double once = known_sum(view_total(v, METRIC_EMU "unique_bytes_read"), view_total(v, METRIC_EMU "unique_bytes_written")),
           all = v->row->bytes_useful >= 0 ? v->row->bytes_useful : v->row->bytes;
    return row_counts_part(v->row) || once < PART_MOST * all;
}

/* Why the row can have no prediction; NULL: it can. */
bool predict_blocks_differ(const struct view *v)
{
    return view_value(v, -1, METRIC_EMU "sample_error") > SAMPLE_ERROR_MOST;
}

static const char *refusal(const struct case_view *c, const struct view *v)
{
    const struct row *row = v->row;
    if (!c->model)
        return "bench has no model of this chip";
    if (row->library)
        return "the library's kernels run on a GPU only";
    if (row->op && !strcmp(row->op, ROW_SEQUENCE))
        return "the launches of its frames are not counted";
    if (is_part(v))
        return "only a part of the layer was counted";
    return predict_blocks_differ(v) ? "its blocks differ too much to count a sample of them" : NULL;
}

/* What a launch finds in L2: machine code that an earlier launch read, and the last bytes that the launch before wrote. */
static void put_warm(const struct case_view *c, const struct row *row, int step, double written, struct predict_counts *n)
{
    n->kept_bytes = fmin(n->read_bytes, fmin(written, c->model->constant[PREDICT_l2_keeps_bytes]));
    for (int i = 0; i < step; i++)
        if (row->steps[step].sass_hash[0] && !row->steps[i].prepare && !strcmp(row->steps[i].sass_hash, row->steps[step].sass_hash))
            n->code_bytes = 0;
}

static void predict_row(const struct case_view *c, struct view *v)
{
    struct prediction *p = &v->predicted;
    const char *why = refusal(c, v);
    bool first = true;
    double written = 0; /* by the launch before */
    int others = 0;     /* fills and copies: each takes as long as a further launch */
    *p = (struct prediction){.ns = NAN, .low_ns = NAN, .high_ns = NAN};
    for (int i = 0; i < v->row->step_count && !why; i++) {
        struct prediction one;
        if (v->row->steps[i].prepare)
            continue;
        if (v->row->steps[i].registers < 0 && strcmp(v->row->steps[i].kind, "kernel")) {
            others++;
            continue;
        }
        struct predict_counts n = counts_of(v, i);
        put_warm(c, v->row, i, written, &n);
        written = n.written_bytes;
        predict_launch(c->model, c->machine.chip, &n, &one);
        one.step = i;
        if (first)
            *p = one;
        else if (isnan(one.ns))
            *p = one;
        else
            predict_add(c->model, p, &one);
        first = false;
        if (isnan(one.ns))
            return;
    }
    if (p->ns > 0) {
        double more = others * c->model->constant[PREDICT_next_launch_ns];
        p->ns += more;
        p->low_ns += more;
        p->high_ns += more;
    }
    if (why || first)
        snprintf(p->why, sizeof p->why, "%s", why ? why : "it launches no kernel");
}

void case_predict(struct case_view *c, const struct judge *j)
{
    c->model = model_of(c, j);
    c->stored_library = c->counts && c->count ? stored_library(j->stored, c->rows[0]) : NULL;
    for (int i = 0; i < c->count; i++) {
        c->views[i].predicted = (struct prediction){.ns = NAN};
        if (c->counts && c->views[i].row->status == ROW_OK)
            predict_row(c, &c->views[i]);
        c->views[i].stored = c->counts && c->views[i].row->status == ROW_OK ? stored_find(j->stored, c->views[i].row) : NULL;
    }
    if (c->counts)
        case_sort(c);
}

double predicted_value(const struct case_view *c, const struct view *v, const char *name)
{
    const struct prediction *p = &v->predicted;
    if (!(p->ns > 0) || !c->model)
        return NAN;
    double ns = (v->stored ? 1e3 * v->stored->us : p->ns) * (p->longer > 0 ? p->longer : 1), /* a stored time is better */
        occupancy = 100 * fmax(0, v->row->steps[p->step].occupancy), share = 100 * p->ns / ns,
           issue = fmin(100, share * p->busy[UNIT_ISSUE] / p->sm_busy),
           selected = SCHEDULERS * issue / (c->machine.chip->warps_per_sm * occupancy * p->resident / 100);
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"dram_throughput", fmin(100, share * p->busy[UNIT_DRAM])},
        {"l2_busy", fmin(100, share * p->busy[UNIT_L2])},
        {"l1_busy", fmin(100, share * p->busy[UNIT_L1])},
        {"shared_pipe", fmin(100, share * p->shared_busy)},
        {"issue_active", issue},
        {"tensor_active", fmin(100, share * p->busy[UNIT_TENSOR] / p->sm_busy)},
        {"sm_busy", 100 * p->sm_busy},
        {"occupancy_achieved", occupancy * p->resident},
        {"occupancy_gap", occupancy * (1 - p->resident)},
        {"stall_long_scoreboard", 100 * p->waits},
        {"stall_unknown", issue < ISSUE_FEW && !(100 * p->waits > WAIT_MOST) ? WAIT_MOST : NAN},
        {"stall_wait", fmin(100 - 100 * p->waits, WAITS_AN_ISSUE * selected)},
        {"time_ns", ns * p->step_ns / p->ns},
        {"launch_ns", c->model->constant[PREDICT_empty_launch_ns]},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name))
            return values[i].value;
    return NAN;
}

bool predicted_text(const struct view *v, struct text *t)
{
    const struct prediction *p = &v->predicted;
    char n[NUMBER_TEXT], low[NUMBER_TEXT], high[NUMBER_TEXT];
    if (!(p->ns > 0))
        return false;
    text_addf(t, "%s us (%s to %s), %s", number_3(p->ns / 1e3, n), number_3(p->low_ns / 1e3, low), number_3(p->high_ns / 1e3, high),
              predict_unit_names[p->limit]);
    return true;
}

/* The least by stored or by predicted time; NULL: no row has one. */
static const struct view *least(const struct case_view *c, bool stored)
{
    return CASE_LEAST(c, v, stored ? v->stored != NULL : v->predicted.ns > 0, stored ? v->stored->us : v->predicted.ns);
}

bool predicted_not(const struct view *v)
{
    return v->row->status == ROW_OK && !v->row->library && !v->stored && !(v->predicted.ns > 0);
}

/* Is `v` the only row with a predicted time, beside verified rows without one? Then it is the fastest of none. */
static bool predicted_alone(const struct case_view *c, const struct view *v)
{
    int with = 0, without = 0;
    for (int i = 0; i < c->count; i++) {
        with += c->views[i].predicted.ns > 0 && !c->views[i].same_as;
        without += predicted_not(&c->views[i]);
    }
    return v && !row_is_network(v->row) && with == 1 && without;
}

const struct view *predicted_winner(const struct case_view *c)
{
    const struct view *best = least(c, true), *predicted = least(c, false);
    return best ? best : predicted_alone(c, predicted) ? NULL : predicted;
}

#define NAMES_MOST 3

void predicted_add(struct predicted_sum *s, const struct case_view *c)
{
    const struct stored_time *library = c->stored_library;
    if (!s->runs && c->judge && c->judge->stored) {
        s->stored = c->judge->stored;
        s->runs = xcalloc((size_t)s->stored->run_count + 1, sizeof *s->runs);
    }
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        const struct prediction *p = &v->predicted;
        if (v->stored)
            s->runs[v->stored->run] = s->any = true;
        s->model = p->ns > 0 ? c->model : s->model;
        s->board = p->ns > 0 ? c->machine.chip->board : s->board;
        if (!v->stored || !(p->ns > 0) || v->same_as)
            continue;
        s->both++;
        if (1e3 * v->stored->us >= p->low_ns && 1e3 * v->stored->us <= p->high_ns)
            continue;
        if (s->outside++ < NAMES_MOST)
            text_addf(&s->names, "%s%s", s->names.len ? ", " : "", v->name);
    }
    if (library)
        s->runs[library->run] = true;
    s->library = library ? library : s->library;
    s->cases++;
}

/* "NVIDIA H200, stored, 2026-11-28 (edsr, movement)"; one text for each GPU and date. */
static void add_origins(const struct predicted_sum *s, struct text *t)
{
    const struct stored_origin *last = NULL;
    for (int i = 0; s->runs && i < s->stored->run_count; i++) {
        const struct stored_origin *o = &s->stored->runs[i];
        if (!s->runs[i])
            continue;
        if (last && !strcmp(last->gpu, o->gpu) && !strcmp(last->date, o->date))
            text_addf(t, ", %s", o->of);
        else
            text_addf(t, "%s%s, stored, %s (%s", last ? "), " : "", o->gpu, o->date, o->of);
        last = o;
    }
    text_add(t, last ? ")" : "");
}

/* The error of the model on the rows shown: how many stored times lie outside of what it predicts. */
static void add_outside(const struct predicted_sum *s, struct text *t)
{
    if (!s->both)
        return;
    text_addf(t, " %d of %d stored time%s outside %s predicted interval", s->outside, s->both,
              s->both == 1      ? " lies"
              : s->outside == 1 ? "s lies"
                                : "s lie",
              s->both == 1 || s->outside == 1 ? "its" : "their");
    if (s->outside && s->cases == 1)
        text_addf(t, ": %s", text_get(&s->names));
    if (s->outside > NAMES_MOST && s->cases == 1)
        text_addf(t, " and %d more", s->outside - NAMES_MOST);
    text_add(t, ".");
}

bool predicted_sum_text(struct predicted_sum *s, struct text *t)
{
    char n[NUMBER_TEXT];
    size_t before = t->len;
    const struct stored_origin *of = s->library ? &s->stored->runs[s->library->run] : NULL;
    add_origins(s, t);
    if (s->any)
        text_add(t, ": the rows with a time have the machine code and the launches that were measured there");
    if (of && s->cases == 1)
        text_addf(t, "; %s took %s us there%s%s%s", s->library->name, number_3(s->library->us, n), of->library[0] ? " (" : "", of->library,
                  of->library[0] ? ")" : "");
    else if (of && of->library[0])
        text_addf(t, "; the library is %s", of->library);
    text_add(t, t->len > before ? ". " : "");
    if (s->model) {
        text_addf(t, "Predicted for %s, not measured: on %s the error is %.0f %% in the median, %.0f %% at the 90th percentile.", s->board,
                  s->model->held_out, 100 * s->model->median, 100 * s->model->p90);
        add_outside(s, t);
    }
    free(s->runs);
    text_free(&s->names);
    *s = (struct predicted_sum){0};
    return t->len > before;
}
