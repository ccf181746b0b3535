#include "report/source/fusion.h"
#include "base/order.h"
#include "report/view/number.h"
#include "report/view/verdict.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LADDER_MOST 16
#define KNEE_POINTS 4   /* two for the flat part, two for the slope */
#define CLOCK_FELL 1    /* percentage points by which time must grow more than cycles to be mentioned */
#define KNEE_GROWN 1.05 /* time over the minimum from which it counts as grown */

/* Less is better: time, or, without one, bytes moved. */
static double fusion_cost(const struct view *v)
{
    return v->ranked && v->time ? v->time->median_ns : v->row->status == ROW_OK ? v->moved_bytes : NAN;
}

/* The best configuration of a variant. */
static const struct view *variant_named(const struct case_view *c, const char *name)
{
    return CASE_LEAST(c, v, name && v->row->part_count == 1 && !strcmp(v->row->parts[0].variant, name), fusion_cost(v));
}

static double dram_bytes(const struct view *v)
{
    return view_hardware(v, -1, "dram_bytes_read") + view_hardware(v, -1, "dram_bytes_written");
}

/* Bytes between L2 and the multiprocessors over the compulsory ones; NAN: not counted. */
static double l2_over_least(const struct view *v)
{
    return (view_total(v, "hw.l2_to_l1_bytes") + view_total(v, "hw.l1_to_l2_bytes")) / v->row->bytes;
}

/* "horizontal 19.4 us (-35.5), 6 launches, 4.1x the compulsory bytes from and to L2, 1.2 MB of DRAM" */
static void add_rung(struct text *t, const struct view *v, const struct view *before)
{
    char n[NUMBER_TEXT];
    text_addf(t, "%s%s", t->len ? "; " : "", v->row->part_count ? v->row->parts[0].name : variant_short(v->row));
    if (v->ranked && v->time) {
        text_addf(t, " %s us", number_3(v->time->median_ns / 1e3, n));
        if (before && before->time) {
            double more = (v->time->median_ns - before->time->median_ns) / 1e3;
            text_addf(t, " (%s%s)", more < 0 ? "-" : "+", number_3(fabs(more), n));
        }
    }
    if (!before || before->steps != v->steps)
        text_addf(t, ", %d launch%s", v->steps, v->steps == 1 ? "" : "es");
    if (l2_over_least(v) > 0)
        text_addf(t, ", %sx the compulsory bytes from and to L2", number_3(l2_over_least(v), n));
    double bytes = isnan(v->moved_bytes) ? dram_bytes(v) : v->moved_bytes;
    if (!isnan(bytes))
        text_addf(t, ", %s %s", number_si(bytes, "B", n), isnan(v->moved_bytes) ? "of DRAM" : "asked for");
}

/* From the fastest row (without times: the one that moves the fewest bytes) to the row from which it was derived (`from:`); 0: that one has
 * no more launches. */
static int ladder_of(const struct case_view *c, const struct view *ladder[LADDER_MOST])
{
    const struct view *top = NULL;
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status == ROW_OK && v->row->from && v->row->from[0] && !isnan(fusion_cost(v)))
            top = !top || fusion_cost(v) < fusion_cost(top) ? v : top;
    }
    for (const struct view *v = top; v && count < LADDER_MOST; v = variant_named(c, v->row->from))
        ladder[count++] = v;
    return count < 2 || ladder[count - 1]->steps <= top->steps ? 0 : count;
}

void fusion_steps(const struct case_view *c, struct block *list)
{
    const struct view *ladder[LADDER_MOST];
    int count = ladder_of(c, ladder);
    struct text t = {0};
    for (int i = count - 1; i >= 0; i--)
        add_rung(&t, ladder[i], i < count - 1 ? ladder[i + 1] : NULL);
    if (count)
        block_text(list, "fusing", ladder[0]->name, &t);
}

/* ---- what each way to cut costs ---- */

static void add_count(struct table *t, double value)
{
    char n[NUMBER_TEXT];
    if (value >= 0)
        table_number(t, PAINT_NONE, value, number_count(value, n));
    else
        table_absent(t, 1);
}

static void add_real(struct table *t, double value)
{
    char n[NUMBER_TEXT];
    if (isnan(value))
        table_absent(t, 1);
    else
        table_number(t, PAINT_NONE, value, number_3(value, n));
}

/* Over a row's kernels: the maximum of registers, spilled and stack bytes, and the total code size, repeated kernels once. -1: not known.
 */
static void kernels_of(const struct row *r, double out[4])
{
    for (int k = 0; k < 4; k++)
        out[k] = -1;
    for (int i = 0; i < r->step_count; i++) {
        const struct row_step *s = &r->steps[i];
        bool again = s->prepare || s->registers < 0;
        for (int k = 0; k < i && !again; k++)
            again = !strcmp(r->steps[k].name, s->name);
        if (again)
            continue;
        out[0] = fmax(out[0], s->registers);
        out[1] = fmax(out[1], s->spill_store_bytes);
        out[2] = fmax(out[2], s->stack_bytes);
        out[3] = fmax(out[3], 0) + fmax(s->code_bytes, 0);
    }
}

void fusion_table(struct document *d, const struct case_view *c)
{
    const struct view *ladder[LADDER_MOST];
    if (!ladder_of(c, ladder))
        return;
    struct table *t = table_new();
    table_columns(t, {"name", "", ALIGN_LEFT}, {"launches", "launches", ALIGN_RIGHT});
    table_column(t, "l2", "L2 over least", ALIGN_RIGHT,
                 .about = "bytes of the sectors between L2 and the SMs (emu: bytes that the kernels request), over the compulsory bytes");
    table_column(t, "dram", "DRAM over least", ALIGN_RIGHT,
                 .about = "bytes read from and written to DRAM, over the compulsory bytes; below 1 the rest stayed in L2");
    table_column(t, "registers", "regs", ALIGN_RIGHT, .about = "of the kernel with the most");
    table_columns(t, {"spill", "spill B", ALIGN_RIGHT}, {"stack", "stack B", ALIGN_RIGHT});
    table_column(t, "code", "code B", ALIGN_RIGHT, .about = "machine code of all kernels");
    table_column(t, "build", "build s", ALIGN_RIGHT, .about = "compile time of all kernels");
    table_column(t, "first", "first call us", ALIGN_RIGHT, .about = "time of the first call, with loading");
    table_column(t, "host", "host us", ALIGN_RIGHT, .about = "host time of a call");
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        double kernels[4], l2 = l2_over_least(v);
        if (v->row->status != ROW_OK && v->row->status != ROW_FOIL)
            continue;
        kernels_of(v->row, kernels);
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", v->name);
        bool library = v->row->step_count > 0 && !strcmp(v->row->steps[0].kind, "call"); /* launches as it likes */
        add_count(t, v->row->launched > 0 ? v->row->launched : library ? -1 : v->steps);
        add_real(t, isnan(l2) ? v->moved_over_compulsory : l2);
        add_real(t, dram_bytes(v) / v->row->bytes);
        for (int k = 0; k < 4; k++)
            add_count(t, kernels[k]);
        add_real(t, v->row->build_s);
        add_real(t, v->row->first_call_ns / 1e3);
        add_real(t, v->row->host_call_ns / 1e3);
    }
    document_heading(d, 3, "Costs and savings of fusion", NULL)->detail = DETAIL_FULL;
    document_table(d, t, DETAIL_FULL);
}

/* ---- along an axis ---- */

struct knee_point {
    double x, ns, zero_ns, zero_half; /* of the fused row, and of the baseline with half of its interval */
    const char *bottleneck;
    char zero[VARIANT_BASE]; /* the name of the baseline */
};

ORDER(by_x, struct knee_point, ORDER_UP(x))

/* The fastest row of one launch. */
static const struct view *one_launch(const struct case_view *c)
{
    return CASE_LEAST(c, v, v->ranked && v->time && v->row->status == ROW_OK && v->steps == 1, v->time->median_ns);
}

static void say_knee(const char *layer, const char *axis, struct knee_point *p, int count, struct block *list)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], x[NUMBER_TEXT], z[NUMBER_TEXT], half[NUMBER_TEXT];
    qsort(p, (size_t)count, sizeof *p, by_x);
    double least = p[0].ns, slope = (p[count - 1].ns - p[count - 2].ns) / (p[count - 1].x - p[count - 2].x);
    for (int i = 1; i < count; i++)
        least = fmin(least, p[i].ns);
    double far = p[count - 1].x - p[0].x, zero = (p[count - 1].zero_ns - p[0].zero_ns) / far;
    double knee = p[count - 1].x - (p[count - 1].ns - least) / slope;
    const char *last = p[count - 1].bottleneck; /* one more needs no launch more, and no other grid */
    bool limit = *last && strcmp(last, "launch") && strcmp(last, "small_grid");
    struct text t = {0};
    if (p[count - 1].ns < KNEE_GROWN * least || !(slope > 0))
        text_addf(&t, "one launch takes %s us from %s %s to %s: one more is free in this range", number_3(least / 1e3, a), axis,
                  number_short(p[0].x, x), number_short(p[count - 1].x, b));
    else
        text_addf(&t, "one launch takes %s us up to %s %s, then %s us for each further one%s%s", number_3(least / 1e3, a), axis,
                  number_short(fmax(knee, p[0].x), x), number_3(slope / 1e3, b), limit ? ": its limit there is " : "",
                  limit ? p[count - 1].bottleneck : "");
    number_pair(zero / 1e3, sqrt(p[0].zero_half * p[0].zero_half + p[count - 1].zero_half * p[count - 1].zero_half) / far / 1e3, z, half);
    if (zero > 0)
        text_addf(&t, "; %s pays %s%s%s us for each", strcmp(p[0].zero, p[count - 1].zero) ? "the baseline" : p[0].zero, z,
                  half[0] ? " ±" : "", half);
    block_text(list, "fusing", layer, &t);
}

/* The points along one axis of a layer whose other axes are fixed. The axis is about fusing if the rows that do not fuse launch more along
 * it. */
static void knee_of(const struct run *run, struct row *const *rows, int count, const char *layer, const char *axis,
                    const struct judge *judge, struct block *list)
{
    SCOPED struct knee_point *points = NULL;
    int n = 0, fewest = INT_MAX, most = 0;
    bool alone = true;
    for (int i = 0, end; i < count; i = end) {
        const struct row *r = rows[i];
        const struct row_pair *at = r->layer && !strcmp(r->layer, layer) ? row_pair(r->axis, r->axis_count, axis) : NULL;
        struct case_walk w = {.run = run, .rows = rows + i, .count = (end = case_end(rows, count, i)) - i, .judge = judge};
        if (!at || isnan(at->number))
            continue;
        while (case_next(&w)) {
            const struct view *fused = one_launch(&w.view), *zero = w.view.zero;
            if (!fused || !zero || !zero->time)
                continue;
            alone &= r->axis_count == 1;
            int launches = 0;
            for (int k = 0; k < w.view.count; k++)
                launches = w.view.views[k].steps > launches ? w.view.views[k].steps : launches;
            fewest = launches < fewest ? launches : fewest;
            most = launches > most ? launches : most;
            struct knee_point *p = APPEND(points, n);
            *p = (struct knee_point){at->number, fused->time->median_ns, zero->time->median_ns, zero->half_ns, verdict_word(fused), ""};
            memcpy(p->zero, w.view.zero_name, sizeof p->zero);
        }
    }
    if (n >= KNEE_POINTS && alone && most > fewest)
        say_knee(layer, axis, points, n, list);
}

/* ---- what stands behind an op: an epilogue ---- */

static bool made_from(const struct row *r, const struct row_part *of)
{
    return r->from && !strcmp(r->from, of->variant);
}

/* Two rows of one family: a head that is made from the other's. */
static bool kin(const struct row *a, const struct row *b)
{
    const struct row_part *x = a->parts, *y = b->parts;
    return a->part_count && b->part_count && (!strcmp(x->variant, y->variant) || made_from(a, y) || made_from(b, x));
}

/* The best row of a case that takes one launch, or several; of `like`'s family, where that is given. */
static const struct view *best_row(const struct case_view *c, bool one, const struct view *like)
{
    return CASE_LEAST(c, v, !v->row->library && v->row->status == ROW_OK && (v->steps == 1) == one && (!like || kin(v->row, like->row)),
                      fusion_cost(v));
}

/* A case with an epilogue and the same work without: the op alone, with the epilogue in one launch, and with it in launches of its own. */
struct behind {
    char *layer, *epilogue;    /* its own */
    const struct row *row;     /* of the bare case, which names the group */
    char *fused_name;          /* its own */
    double bare, fused, apart; /* ns, or bytes asked for */
    double cycles;             /* % that the fused one counts more than the bare one; NAN */
    double fused_bytes, apart_bytes;
    int launches;
    bool timed;
};

static double bytes_of(const struct view *v)
{
    return isnan(v->moved_bytes) ? dram_bytes(v) : v->moved_bytes;
}

static bool look_behind(const struct case_view *c, const struct case_view *bare, const char *epilogue, struct behind *out)
{
    const struct view *plain = NULL, *fused = NULL, *apart = NULL;
    for (int i = 0; i < c->count;
         i++) { /* the fastest fused row to which there is a bare op of its family, and a row with separate passes */
        const struct view *v = &c->views[i], *b = best_row(bare, true, v), *a = best_row(c, false, v);
        if (v->row->library || v->row->status != ROW_OK || v->steps != 1 || isnan(fusion_cost(v)) || !a || !b ||
            (fused && fusion_cost(v) >= fusion_cost(fused)))
            continue;
        fused = v;
        plain = b;
        apart = a;
    }
    if (!fused || !!fused->time != !!plain->time || !!apart->time != !!plain->time)
        return false;
    *out = (struct behind){.layer = xstrdup(c->rows[0]->layer ? c->rows[0]->layer : ""),
                           .epilogue = text_format("+%s", epilogue),
                           .row = bare->rows[0],
                           .fused_name = xstrdup(variant_short(fused->row)),
                           .bare = fusion_cost(plain),
                           .fused = fusion_cost(fused),
                           .apart = fusion_cost(apart),
                           .cycles = 100 * (view_total(fused, "hw.cycles") / view_total(plain, "hw.cycles") - 1),
                           .fused_bytes = bytes_of(fused),
                           .apart_bytes = bytes_of(apart),
                           .launches = apart->steps,
                           .timed = plain->time != NULL};
    return true;
}

static const char *cost_text(const struct behind *b, double cost, char out[NUMBER_TEXT])
{
    if (!b->timed)
        return number_si(cost, "B", out);
    number_3(cost / 1e3, out);
    return strcat(out, " us");
}

/* "95.3 us (+2.3 %)", "118 MB (+0.4 %)"; cycles NAN: not counted or not notable. */
static void add_over(struct text *t, const struct behind *b, double cost, double cycles)
{
    char n[NUMBER_TEXT];
    double more = 100 * (cost / b->bare - 1);
    text_addf(t, "%s (%s%.3g %%", cost_text(b, cost, n), more < 0 ? "-" : "+", fabs(more));
    if (more - cycles > CLOCK_FELL)
        text_addf(t, "; %+.2g %% of it in counted cycles, the rest is a lower clock", cycles);
    text_add(t, ")");
}

static void say_one(const struct behind *b, struct block *list)
{
    char n[NUMBER_TEXT];
    struct text t = {0};
    text_addf(&t, "%s: bare %s; fused into %s ", b->epilogue, cost_text(b, b->bare, n), b->fused_name);
    add_over(&t, b, b->fused, b->cycles);
    text_addf(&t, "; in %d launches ", b->launches);
    add_over(&t, b, b->apart, NAN);
    if (b->apart_bytes > b->fused_bytes)
        text_addf(&t, "; fusing saves %s%s", number_si(b->apart_bytes - b->fused_bytes, "B", n), b->timed ? " of DRAM" : "");
    block_text(list, "fusing", b->layer, &t);
}

/* What several of them have in common: "4 epilogues: fused +0.5 to +3 % over the bare op's 91.1 us, apart ...". */
static void say_several(const struct behind *all, int count, struct block *list)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, least = INFINITY, most = -INFINITY;
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    struct text t = {0};
    for (int i = 0; i < count; i++) {
        const double over[2] = {100 * (all[i].fused / all[i].bare - 1), 100 * (all[i].apart / all[i].bare - 1)};
        for (int k = 0; k < 2; k++) {
            low[k] = fmin(low[k], over[k]);
            high[k] = fmax(high[k], over[k]);
        }
        least = fmin(least, all[i].apart_bytes - all[i].fused_bytes);
        most = fmax(most, all[i].apart_bytes - all[i].fused_bytes);
    }
    text_addf(&t, "%d epilogues: fused %+.3g to %+.3g %% more time than the bare op, as separate passes %+.3g to %+.3g %%", count, low[0],
              high[0], low[1], high[1]);
    if (least > 0)
        text_addf(&t, "; fusing saves %s to %s%s", number_si(least, "B", a), number_si(most, "B", b), all[0].timed ? " of DRAM" : "");
    block_text(list, "fusing", all[0].layer, &t);
}

static void add_over_cell(struct table *t, double more)
{
    char n[NUMBER_TEXT];
    if (isnan(more)) {
        table_absent(t, 1);
        return;
    }
    snprintf(n, sizeof n, "%+.3g", more);
    table_number(t, PAINT_NONE, more, n);
}

static void behind_table(struct document *d, const struct behind *all, int count)
{
    char n[NUMBER_TEXT];
    struct table *t = table_new();
    table_columns(t, {"layer", "layer", ALIGN_LEFT}, {"epilogue", "epilogue", ALIGN_LEFT});
    table_column(t, "fused", "fused", ALIGN_RIGHT, .about = "the best kernel with one launch; without a GPU the bytes that it requests");
    table_column(t, "fused_over", "over bare %", ALIGN_RIGHT, .about = "relative to the same kernel family for the op without an epilogue");
    table_column(t, "cycles_over", "cycles %", ALIGN_RIGHT,
                 .about = "counted SM cycles relative to the bare op; where the time grew more than the cycles, the clock was lower");
    table_column(t, "apart", "apart", ALIGN_RIGHT, .about = "the same kernel family followed by separate passes");
    table_columns(t, {"apart_over", "over bare %", ALIGN_RIGHT}, {"launches", "launches", ALIGN_RIGHT});
    table_column(t, "saved", "saved", ALIGN_RIGHT, .about = "DRAM bytes (without a GPU: requested bytes) that fusion saves");
    for (int i = 0; i < count; i++) {
        const struct behind *b = &all[i];
        double saved = b->apart_bytes - b->fused_bytes;
        table_row(t, LINE_PLAIN);
        table_cell(t, PAINT_NONE, "%s", b->layer);
        table_cell(t, PAINT_NONE, "%s", b->epilogue);
        table_number(t, PAINT_NONE, b->fused, cost_text(b, b->fused, n));
        table_about(t, b->fused_name);
        add_over_cell(t, 100 * (b->fused / b->bare - 1));
        add_over_cell(t, b->cycles);
        table_number(t, PAINT_NONE, b->apart, cost_text(b, b->apart, n));
        add_over_cell(t, 100 * (b->apart / b->bare - 1));
        table_number(t, PAINT_NONE, b->launches, number_count(b->launches, n));
        table_number(t, PAINT_NONE, saved, isnan(saved) ? "" : number_si(saved, "B", n));
    }
    document_heading(d, 2, "Epilogues, fused and separate", NULL);
    document_table(d, t, DETAIL_ALWAYS);
}

/* The description of a work does not include its mask. */
static bool same_mask(const struct row *a, const struct row *b)
{
    const char *p = a->mask_pattern ? a->mask_pattern : "", *q = b->mask_pattern ? b->mask_pattern : "";
    return !strcmp(p, q) && a->mask_radius == b->mask_radius && a->mask_seed == b->mask_seed && a->mask_density == b->mask_density;
}

/* Pairs each case with an epilogue with the case of the same work without one. */
static int find_behind(const struct run *run, struct row *const *rows, int count, const struct judge *judge, struct behind **out)
{
    int found = 0;
    for (int i = 0, end; i < count; i = end) {
        const char *work = rows[i]->bare_work;
        end = case_end(rows, count, i);
        for (int k = 0, stop; work && k < count; k = stop) {
            stop = case_end(rows, count, k);
            if (!rows[k]->work || strcmp(rows[k]->work, work) || !rows[k]->op || !rows[i]->op || strcmp(rows[k]->op, rows[i]->op) ||
                !same_mask(rows[k], rows[i]))
                continue;
            struct case_walk w = {.run = run, .rows = rows + i, .count = end - i, .judge = judge};
            struct behind one;
            while (case_next(&w))
                for (struct case_walk b = {.run = run, .rows = rows + k, .count = stop - k, .judge = judge}; case_next(&b);)
                    if (look_behind(&w.view, &b.view, rows[i]->epilogue ? rows[i]->epilogue : "", &one))
                        *APPEND(*out, found) = one;
        }
    }
    return found;
}

/* One is a sentence; several of one op are a table with a sentence. True: there is a table. */
static bool say_epilogues(const struct behind *all, int count, struct block *list)
{
    bool table = false;
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && all[end].row == all[i].row;)
            end++;
        if (end - i == 1)
            say_one(&all[i], list);
        else
            say_several(&all[i], end - i, list);
        table |= end - i > 1;
    }
    return table;
}

void fusion_knees(struct block *list, const struct run *run, struct row *const *rows, int count, const struct judge *judge,
                  const char *axis)
{
    for (int i = 0; i < count; i = case_end(rows, count, i)) {
        const struct row *r = rows[i];
        bool said = !r->layer || r->axis_count != 1 || (axis && strcmp(axis, r->axis[0].name) != 0);
        for (int k = 0; k < i && !said; k = case_end(rows, count, k))
            said = rows[k]->layer && !strcmp(rows[k]->layer, r->layer) && rows[k]->axis_count == 1 &&
                   !strcmp(rows[k]->axis[0].name, r->axis[0].name);
        if (!said)
            knee_of(run, rows, count, r->layer, r->axis[0].name, judge, list);
    }
}

void fusion_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    struct block *list = document_list(d, DETAIL_ALWAYS);
    struct judge judge;
    judge_open(&judge);
    fusion_knees(list, run, rows, count, &judge, NULL);
    SCOPED struct behind *all = NULL;
    int found = find_behind(run, rows, count, &judge, &all);
    if (say_epilogues(all, found, list))
        behind_table(d, all, found);
    for (int i = 0; i < found; i++)
        FREE_ALL(all[i].layer, all[i].epilogue, all[i].fused_name);
    judge_close(&judge);
}
