/* report/view/view: see view.h. */
#include "report/view/view.h"
#include "report/view/stored.h"
#include "base/spec.h"
#include "report/view/kept.h"
#include "report/view/verdict.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int case_end(struct row *const *rows, int count, int from)
{
    int i = from;
    while (i < count && strcmp(rows[i]->case_id ? rows[i]->case_id : "", rows[from]->case_id ? rows[from]->case_id : "") == 0)
        i++;
    return i;
}

/* Does the parameter take more than one value among the case's rows of this variant? */
static bool varies(struct row *const *rows, int count, const struct row *row, const char *name, const char *value)
{
    for (int i = 0; i < count; i++) {
        const char *other = row_pair_value(rows[i]->param, rows[i]->param_count, name);
        if (rows[i]->variant && row->variant && strcmp(rows[i]->variant, row->variant) == 0 && other && strcmp(other, value) != 0)
            return true;
    }
    return false;
}

static void name_row(struct view *v, struct row *const *rows, int count)
{
    const struct row *row = v->row;
    SCOPED_TEXT more = {0};
    variant_print(row, v->name, sizeof v->name);
    if (row->engine_number >= 0 && !row_is_network(row)) /* of a network each layer has its own */
        text_addf(&more, " engine %d", row->engine_number);
    for (int i = 0; i < row->param_count; i++) {
        const char *name = row->param[i].name, *value = row->param[i].value;
        if (varies(rows, count, row, name, value))
            text_addf(&more, " %s%s%s", name, isalpha((unsigned char)value[0]) ? "=" : "", value);
    }
    if (row->side)
        text_addf(&more, " (%s)", row->side);
    size_t n = strlen(v->name);
    snprintf(v->name + n, sizeof v->name - n, "%s", text_get(&more));
}

/* The mode that is shown: isolated and cold where anything was timed so, else the first that was. */
static void pick_mode(struct case_view *c)
{
    const struct row_time *first = NULL;
    for (int i = 0; i < c->count; i++) {
        if (row_time(c->rows[i], MODE_COLD)) {
            c->mode = MODE_COLD;
            return;
        }
        for (int t = 0; !first && t < c->rows[i]->time_count; t++)
            first = c->rows[i]->times[t].step == -1 ? &c->rows[i]->times[t] : NULL;
    }
    c->mode = first ? row_time_mode(first) : MODE_NONE;
}

/* The step that represents the row: the longest by time, else by instructions, else the last kernel. */
static int longest_step(const struct case_view *c, const struct view *v)
{
    const struct row *row = v->row;
    int best = -1;
    double most = -1;
    for (int i = 0; i < row->step_count; i++) {
        const struct row_step *s = &row->steps[i];
        if (s->prepare || s->registers < 0)
            continue;
        const struct row_time *t = step_time(c, row, i);
        double weight = t ? t->median_ns : view_metric(v, i, METRIC_EMU_INSTRUCTIONS);
        weight = weight >= 0 ? weight : 0;
        if (weight >= most) {
            most = weight;
            best = i;
        }
    }
    return best;
}

static void add_counters(struct view *v)
{
    double sides[SIDES], requests[SIDES], ideal[SIDES];
    for (int k = 0; k < SIDES; k++) {
        sides[k] = view_part(v, -1, METRIC_EMU_SECTORS + k);
        requests[k] = view_part(v, -1, METRIC_EMU_REQUESTS + k);
        ideal[k] = view_part(v, -1, METRIC_EMU_SECTORS_IDEAL + k);
        v->sectors_request[k] = quotient(sides[k], requests[k]);
        v->sectors_ideal[k] = quotient(ideal[k], requests[k]);
    }
    v->moved_bytes = view_emu_bytes(v, -1);
    /* a crop's weights and its tiles' unused ends are a share of it that the layer's are not; `bytes` are the layer's where a part ran */
    v->moved_here = v->row->part_because[0] ? NAN : quotient(v->moved_bytes, v->row->bytes);
    v->moved_over_compulsory = row_counts_part(v->row) || row_is_network(v->row) ? NAN : v->moved_here;
}

static bool back_to_back(const struct case_view *c)
{
    return c->mode == MODE_SUSTAINED || c->mode == MODE_COLD_SUSTAINED;
}

/* The measured limit of the row's time. A launch behind others begins while they run: back to back it is no limit. */
static double measured_limit(const struct case_view *c, const struct view *v, bool moves)
{
    double memory = view_metric(v, -1, METRIC_ROOF_MEMORY_NS);
    if (back_to_back(c))
        return moves ? memory : fmax(view_metric(v, -1, METRIC_ROOF_COMPUTE_NS), memory);
    return moves ? fmax(memory, view_metric(v, -1, METRIC_ROOF_LAUNCH_NS)) : view_metric(v, -1, METRIC_ROOF_NS);
}

static void view_make(struct view *v, const struct case_view *c, const struct row *row)
{
    *v = (struct view){.row = row, .rank = -1, .spill_bytes = -1, .smem_bytes = -1, .metrics = metric_index_of(row)};
    name_row(v, c->rows, c->count);
    enum row_status s = row->status;
    bool usable = s == ROW_OK || s == ROW_FOIL;
    v->failed = row_status_failed(s);
    /* Whatever was measured of a row that failed is not shown as a time. */
    v->time = usable && !c->counts && c->mode != MODE_NONE ? row_time(row, c->mode) : NULL;
    v->ranked = v->time && v->time->median_ns > 0;
    double ns = v->ranked ? v->time->median_ns : NAN;
    v->half_ns = v->ranked ? (v->time->high_ns - v->time->low_ns) / 2 : NAN;
    bool moves = row_only_moves(row), computed = row->floor_by[0] && strcmp(row->floor_by, "memory") && strcmp(row->floor_by, "launch");
    bool launch = back_to_back(c) && !strcmp(row->floor_by, "launch");
    v->floor_share = row->floor_ns > 0 && !(moves && computed) && !launch ? row->floor_ns / ns : NAN;
    v->roof_share = measured_limit(c, v, moves) / ns;
    v->step = longest_step(c, v);
    for (int i = 0; i < row->step_count; i++)
        v->steps += !row->steps[i].prepare;
    if (v->step >= 0) {
        const struct row_step *step = &row->steps[v->step];
        v->spill_bytes = step->spill_store_bytes;
        v->smem_bytes = step->static_smem >= 0 && step->dynamic_smem >= 0 ? step->static_smem + step->dynamic_smem : -1;
    }
    add_counters(v);
}

/* As logarithms and their exponentials leave it: 0.9999999999999997. */
bool time_is_to_itself(const struct row_time *t)
{
    return fabs(t->ratio - 1) < 1e-9 && fabs(t->ratio_low - 1) < 1e-9 && fabs(t->ratio_high - 1) < 1e-9;
}

/* The row that ratios refer to: its own ratio is 1 without an interval. It is the fastest of the library's rows, not necessarily the
 * first. NULL: none. */
static const struct view *denominator(const struct case_view *c)
{
    return CASE_LEAST(c, v, v->ranked && v->time && time_is_to_itself(v->time), v->time->median_ns);
}

static void find_zero(struct case_view *c)
{
    c->zero = denominator(c);
    for (int i = 0; i < c->count && !c->zero; i++)
        c->zero = c->rows[i]->row_index == 0 ? &c->views[i] : NULL;
    if (c->zero) {
        const struct row *row = c->zero->row;
        snprintf(c->zero_name, sizeof c->zero_name, "%s", row->part_count ? row->parts[0].name : variant_short(row));
    }
}

static bool same_code(const struct row *a, const struct row *b)
{
    return a->status == ROW_OK && b->status == ROW_OK && a->launch_hash[0] && !strcmp(a->launch_hash, b->launch_hash) &&
           text_same(a->side, b->side);
}

/* Of rows with equal machine code and launches: the baseline, else the first that no rule chose. */
static void find_same(struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct view *stands = NULL, *first = NULL;
        for (int k = 0; k < c->count; k++) {
            const struct view *v = &c->views[k];
            if (k != i && !same_code(v->row, c->views[i].row))
                continue;
            first = first ? first : v;
            stands = v == c->zero || (!stands && !row_pair(v->row->param, v->row->param_count, "is")) ? v : stands;
        }
        stands = stands ? stands : first;
        c->views[i].same_as = stands == &c->views[i] ? NULL : stands;
    }
}

bool view_other_names(const struct case_view *c, const struct view *v, struct text *t)
{
    bool any = false;
    for (int i = 0; i < c->count; i++)
        if (c->views[i].same_as == v) {
            text_addf(t, any ? ", %s" : "= %s", c->views[i].name);
            any = true;
        }
    return any;
}

/* On a device that keeps no time: stored times, then predicted ones, which are never between them; then rows without either. */
static int counted_class(const struct view *v)
{
    return v->failed ? 3 : v->stored ? 0 : v->predicted.ns > 0 ? 1 : 2;
}

/* Order: the baseline, rows ranked by time, verified rows without a time, the rest; each in scenario order. */
static int before(const struct case_view *c, const struct view *a, const struct view *b)
{
    const struct view *const both[] = {a, b};
    int class[2];
    for (int i = 0; i < 2; i++) {
        const struct view *v = both[i];
        bool usable = v->row->status == ROW_OK || v->row->status == ROW_FOIL;
        class[i] = c->counts ? counted_class(v) : v->ranked ? (v == c->zero ? 0 : 1) : usable ? 2 : v->failed ? 4 : 3;
    }
    if (class[0] != class[1])
        return class[0] < class[1];
    if (c->counts && class[0] == 0 && a->stored->us != b->stored->us)
        return a->stored->us < b->stored->us;
    if (c->counts && class[0] == 1 && a->predicted.ns != b->predicted.ns)
        return a->predicted.ns < b->predicted.ns;
    if (class[0] == 1 && a->ranked && a->time->median_ns != b->time->median_ns)
        return a->time->median_ns < b->time->median_ns;
    return a < b;
}

void case_sort(struct case_view *c)
{
    for (int i = 0; i < c->count; i++) { /* a case has tens of rows: insertion */
        int at = i;
        while (at > 0 && before(c, &c->views[i], &c->views[c->order[at - 1]])) {
            c->order[at] = c->order[at - 1];
            at--;
        }
        c->order[at] = i;
    }
    int rank = 1;
    for (int i = 0; i < c->count; i++) {
        struct view *v = &c->views[c->order[i]];
        if (v->ranked && !v->same_as && (v == c->zero || v->row->status == ROW_OK)) /* a row that was not verified is not compared */
            v->rank = v == c->zero ? 0 : rank++;
    }
    for (int i = 0; i < c->count; i++)
        if (c->views[i].same_as && c->views[i].ranked)
            c->views[i].rank = c->views[i].same_as->rank;
}

void case_view_new(struct case_view *c, const struct run *run, struct row *const *rows, int count)
{
    *c = (struct case_view){.run = run, .rows = rows, .count = count, .noise = NAN, .roof_ns = NAN, .zero_name = "baseline"};
    c->counts = count > 0 && spec_is(rows[0]->device, SPEC_COUNTS);
    c->machine = machine_of(run, count > 0 ? rows[0] : NULL);
    c->views = xcalloc((size_t)count + 1, sizeof *c->views);
    c->order = xcalloc((size_t)count + 1, sizeof *c->order);
    pick_mode(c);
    for (int i = 0; i < count; i++) {
        view_make(&c->views[i], c, rows[i]);
        if (isnan(c->noise))
            c->noise = rows[i]->noise;
        if (isnan(c->roof_ns))
            c->roof_ns = measured_limit(c, &c->views[i], false);
    }
    find_zero(c);
    find_same(c);
    case_sort(c);
}

void case_view_make(struct case_view *c, const struct run *run, struct row *const *rows, int count)
{
    if (!case_view_lend(c, run, rows, count))
        case_view_new(c, run, rows, count);
}

bool case_next(struct case_walk *w)
{
    int from = w->at;
    if (from > 0)
        case_view_free(&w->view);
    if (from >= w->count)
        return false;
    w->at = case_end(w->rows, w->count, from);
    case_view_make(&w->view, w->run, w->rows + from, w->at - from);
    if (w->judge)
        case_judge(&w->view, w->judge);
    w->view.by_stored = w->by_stored;
    return true;
}

void case_view_free(struct case_view *c)
{
    if (c->lent)
        return;
    for (int i = 0; i < c->count; i++) {
        metric_index_free(&c->views[i].metrics);
        verdicts_free(&c->views[i].verdicts);
    }
    free(c->views);
    free(c->order);
}

const struct view *case_baseline(const struct case_view *c)
{
    return c->zero && c->zero->ranked && !row_only_moves(c->zero->row) ? c->zero : NULL;
}

const struct view *case_best(const struct case_view *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (v->rank == 1 && !v->same_as)
            return v;
    }
    return NULL;
}

double view_derived(const struct view *v, const char *name)
{
    const struct row_time *graph = v->ranked ? row_time(v->row, MODE_SUSTAINED) : NULL;
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"rank", v->rank >= 0 ? v->rank : NAN},
        {"time_us", v->ranked ? v->time->median_ns / 1e3 : NAN},
        {"stored_us", v->stored ? v->stored->us : NAN},
        {"predicted_us", v->predicted.ns > 0 ? v->predicted.ns / 1e3 : NAN},
        {"predicted_low_us", v->predicted.ns > 0 ? v->predicted.low_ns / 1e3 : NAN},
        {"predicted_high_us", v->predicted.ns > 0 ? v->predicted.high_ns / 1e3 : NAN},
        {"graph_us", graph ? graph->median_ns / 1e3 : NAN},
        {"x_cudnn", v->ranked ? v->time->ratio : NAN},
        {"floor_share", v->floor_share},
        {"roof_share", v->roof_share},
        {"spill_bytes", v->spill_bytes >= 0 ? v->spill_bytes : NAN},
        {"smem_bytes", v->smem_bytes >= 0 ? v->smem_bytes : NAN},
        {"st_sect_req", v->sectors_request[SIDE_STORE]},
        {"ld_sect_req", v->sectors_request[SIDE_LOAD]},
        {"moved_over_compulsory", v->moved_over_compulsory},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strcmp(values[i].name, name) == 0)
            return values[i].value;
    return NAN;
}

const enum column_group view_groups[VIEW_GROUPS] = {COLUMN_CASE, COLUMN_RESULT, COLUMN_STEP, COLUMN_TIME, COLUMN_DERIVED};

double view_number(const struct view *v, const char *name)
{
    for (int g = 0; g < VIEW_GROUPS; g++) {
        const struct column *c = column_find(view_groups[g], name);
        bool step = view_groups[g] == COLUMN_STEP, own = v->step >= 0 && !v->row->library;
        const void *of = step ? own ? &v->row->steps[v->step] : NULL : view_groups[g] == COLUMN_TIME ? (const void *)v->time : v->row;
        if (!c)
            continue;
        if (c->group == COLUMN_DERIVED)
            return view_derived(v, name);
        struct column_value value = of ? column_get(c, of) : (struct column_value){.absent = true};
        return value.absent || value.text || value.reals ? NAN : value.is_real ? value.real : (double)value.integer;
    }
    return view_total(v, name);
}

bool view_has_number(const char *name, const char **near)
{
    const char *names[256];
    size_t count = 0;
    bool found = false;
    for (int g = 0; g < VIEW_GROUPS; g++)
        for (const struct column *c = column_first(view_groups[g]); c; c = column_next(c))
            if (c->type >= COLUMN_INT ? c->type <= COLUMN_REAL_ZERO : c->type == COLUMN_NONE) {
                found = found || !strcmp(c->name, name);
                if (count < sizeof names / sizeof *names)
                    names[count++] = c->name;
            }
    *near = text_nearest(name, names, count);
    return found;
}

/* ---- reasons ---- */

int reason_groups(const struct case_view *c, enum row_status status, struct reason_group **groups)
{
    int count = 0;
    *groups = NULL;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status != status)
            continue;
        const char *reason = v->row->reason && v->row->reason[0] ? v->row->reason : "without a reason";
        const char *clause = v->row->clause ? v->row->clause : reason;
        int at = 0;
        while (at < count && strcmp((*groups)[at].clause, clause) != 0)
            at++;
        if (at == count)
            *APPEND(*groups, count) = (struct reason_group){.reason = reason, .clause = clause};
        struct reason_group *g = &(*groups)[at];
        text_addf(&g->names, "%s%s", g->count++ ? ", " : "", v->name);
    }
    return count;
}

void reason_groups_free(struct reason_group *groups, int count)
{
    for (int i = 0; i < count; i++)
        text_free(&groups[i].names);
    free(groups);
}

void winner_name(const struct view *v, struct text *t)
{
    const char *is = row_pair_value(v->row->param, v->row->param_count, "is");
    char base[VARIANT_BASE];
    if (is)
        text_addf(t, "%s (%s)", is, variant_base(v->row, base));
    else
        text_add(t, v->name);
}
