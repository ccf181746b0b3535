#include "report/fusion.h"
#include "report/number.h"
#include "report/verdict.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LADDER_MOST 16
#define KNEE_POINTS 4   /* two for the flat part, two for the slope */
#define KNEE_GROWN 1.05 /* time over the least from which it counts as grown */

/* Less is better: time, or where there is none the bytes moved. */
static double fusion_cost(const struct view *v)
{
    return v->ranked && v->time ? v->time->median_ns : v->row->status == ROW_OK ? v->moved_bytes : NAN;
}

/* The best configuration of the variant that `from` means in a head of `of`'s folder. */
static const struct view *variant_named(const struct case_view *c, const struct row *of, const char *from)
{
    const struct view *best = NULL;
    size_t folder = of->variant ? strcspn(of->variant, "/") + 1 : 0;
    for (int i = 0; from && of->variant && i < c->count; i++) {
        const struct view *v = &c->views[i];
        const char *name = v->row->variant;
        if (!name || isnan(fusion_cost(v)) || (strcmp(name, from) && (strncmp(name, of->variant, folder) || strcmp(name + folder, from))))
            continue;
        best = !best || fusion_cost(v) < fusion_cost(best) ? v : best;
    }
    return best;
}

static double dram_bytes(const struct view *v)
{
    return view_hardware(v, -1, "dram_bytes_read") + view_hardware(v, -1, "dram_bytes_written");
}

/* "horizontal 19.4 us (-35.5), 6 launches, 1.2 MB of DRAM" */
static void add_rung(struct text *t, const struct view *v, const struct view *before)
{
    char n[NUMBER_TEXT];
    const char *short_name = strrchr(variant_short(v->row), '/');
    text_addf(t, "%s%s", t->len ? "; " : "", short_name ? short_name + 1 : variant_short(v->row));
    if (v->ranked && v->time) {
        text_addf(t, " %s us", number_3(v->time->median_ns / 1e3, n));
        if (before && before->time) {
            double more = (v->time->median_ns - before->time->median_ns) / 1e3;
            text_addf(t, " (%s%s)", more < 0 ? "-" : "+", number_3(fabs(more), n));
        }
    }
    if (!before || before->steps != v->steps)
        text_addf(t, ", %d launch%s", v->steps, v->steps == 1 ? "" : "es");
    double bytes = isnan(v->moved_bytes) ? dram_bytes(v) : v->moved_bytes;
    if (!isnan(bytes))
        text_addf(t, ", %s %s", number_si(bytes, "B", n), isnan(v->moved_bytes) ? "of DRAM" : "asked for");
}

/* From the fastest row (without a time: the one that moves least) to the one it grew out of; 0: those do not have more launches. */
static int ladder_of(const struct case_view *c, const struct view *ladder[LADDER_MOST])
{
    const struct view *top = NULL;
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status == ROW_OK && v->row->from && v->row->from[0] && !isnan(fusion_cost(v)))
            top = !top || fusion_cost(v) < fusion_cost(top) ? v : top;
    }
    for (const struct view *v = top; v && count < LADDER_MOST; v = variant_named(c, v->row, v->row->from))
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
        block_item(list, "fusing", ladder[0]->name, text_get(&t));
    text_free(&t);
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

/* Of the kernels of a row: the most registers, spilled and stack bytes of one, and the code of all, a kernel that is launched again once.
 * -1: not known. */
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
    table_column(t, "name", "", ALIGN_LEFT);
    table_column(t, "launches", "launches", ALIGN_RIGHT);
    table_column(
        t, "l2", "L2 over least", ALIGN_RIGHT,
        .about =
            "bytes of the sectors that went between L2 and the multiprocessors (emu: that the kernels ask for), over the compulsory bytes");
    table_column(t, "dram", "DRAM over least", ALIGN_RIGHT,
                 .about = "bytes that DRAM delivered and took, over the compulsory bytes; below 1 the rest stayed in L2");
    table_column(t, "registers", "regs", ALIGN_RIGHT, .about = "of the kernel that has the most");
    table_column(t, "spill", "spill B", ALIGN_RIGHT);
    table_column(t, "stack", "stack B", ALIGN_RIGHT);
    table_column(t, "code", "code B", ALIGN_RIGHT, .about = "machine code of all kernels");
    table_column(t, "build", "build s", ALIGN_RIGHT, .about = "compilers, for all kernels, when they were compiled");
    table_column(t, "first", "first call us", ALIGN_RIGHT, .about = "the first call, loading included");
    table_column(t, "host", "host us", ALIGN_RIGHT, .about = "host time of a call");
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        double kernels[4], l2 = (view_total(v, "hw.l2_to_l1_bytes") + view_total(v, "hw.l1_to_l2_bytes")) / v->row->bytes;
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
    document_heading(d, 3, "What fusing costs and saves", NULL)->detail = DETAIL_FULL;
    document_table(d, t, DETAIL_FULL);
}

/* ---- along an axis ---- */

struct knee_point {
    double x, ns, zero_ns; /* of the fused row, and of the baseline */
    const char *bottleneck;
};

static int by_x(const void *a, const void *b)
{
    const struct knee_point *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* The fastest row of one launch. */
static const struct view *one_launch(const struct case_view *c)
{
    const struct view *best = NULL;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->ranked && v->time && v->row->status == ROW_OK && v->steps == 1)
            best = !best || v->time->median_ns < best->time->median_ns ? v : best;
    }
    return best;
}

static void say_knee(const char *layer, const char *axis, struct knee_point *p, int count, struct block *list)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT], x[NUMBER_TEXT], z[NUMBER_TEXT];
    qsort(p, (size_t)count, sizeof *p, by_x);
    double least = p[0].ns, slope = (p[count - 1].ns - p[count - 2].ns) / (p[count - 1].x - p[count - 2].x);
    for (int i = 1; i < count; i++)
        least = fmin(least, p[i].ns);
    double zero = (p[count - 1].zero_ns - p[0].zero_ns) / (p[count - 1].x - p[0].x);
    double knee = p[count - 1].x - (p[count - 1].ns - least) / slope;
    struct text t = {0};
    if (p[count - 1].ns < KNEE_GROWN * least || !(slope > 0))
        text_addf(&t, "one launch takes %s us from %s %s to %s: one more costs nothing yet", number_3(least / 1e3, a), axis,
                  number_short(p[0].x, x), number_short(p[count - 1].x, b));
    else
        text_addf(&t, "one launch takes %s us up to %s %s, then %s us for each more%s%s", number_3(least / 1e3, a), axis,
                  number_short(fmax(knee, p[0].x), x), number_3(slope / 1e3, b), p[count - 1].bottleneck[0] ? ": its limit there is " : "",
                  p[count - 1].bottleneck);
    if (zero > 0)
        text_addf(&t, "; the baseline pays %s us for each", number_3(zero / 1e3, z));
    block_item(list, "fusing", layer, text_get(&t));
    text_free(&t);
}

/* The points of one axis of one layer, whose other axes have no part in it. */
static void knee_of(const struct run *run, struct row *const *rows, int count, const char *layer, const char *axis,
                    const struct judge *judge, struct block *list)
{
    struct knee_point *points = NULL;
    int n = 0;
    bool alone = true, several = false;
    for (int i = 0, end; i < count; i = end) {
        const struct row *r = rows[i];
        const char *value = r->layer && !strcmp(r->layer, layer) ? row_pair_value(r->axis, r->axis_count, axis) : NULL;
        struct case_walk w = {.run = run, .rows = rows + i, .count = (end = case_end(rows, count, i)) - i, .judge = judge};
        double x;
        if (!value || !text_to_real(value, &x))
            continue;
        while (case_next(&w)) {
            const struct view *fused = one_launch(&w.view), *zero = w.view.zero;
            if (!fused || !zero || !zero->time)
                continue;
            alone &= r->axis_count == 1;
            several |= zero->steps > 1;
            *APPEND(points, n) = (struct knee_point){x, fused->time->median_ns, zero->time->median_ns, verdict_word(fused)};
        }
    }
    if (n >= KNEE_POINTS && alone && several)
        say_knee(layer, axis, points, n, list);
    free(points);
}

/* ---- what stands behind an op: an epilogue ---- */

/* "conv2d 64->64 3x3 +bias+relu  1x8x16 f16" without and with its word of pluses; NULL: it has none. Caller frees. */
static char *work_without_epilogue(const char *work, char *epilogue, size_t bytes)
{
    const char *at = work ? strstr(work, " +") : NULL;
    if (!at)
        return NULL;
    size_t length = strcspn(at + 1, " ");
    snprintf(epilogue, bytes, "%.*s", (int)length, at + 1);
    return text_format("%.*s%s", (int)(at - work), work, at + 1 + length);
}

static bool made_from(const struct row *r, const char *base)
{
    const char *name = r->from ? strrchr(r->from, '/') : NULL;
    return r->from && !strcmp(name ? name + 1 : r->from, base);
}

/* Two rows of one family: a head that is made from the other's. */
static bool kin(const struct row *a, const struct row *b)
{
    char x[VARIANT_BASE], y[VARIANT_BASE];
    variant_base(a, x);
    variant_base(b, y);
    return !strcmp(x, y) || made_from(a, y) || made_from(b, x);
}

/* The best row of a case that takes one launch, or several; of `like`'s family, where that is given. */
static const struct view *best_row(const struct case_view *c, bool one, const struct view *like)
{
    const struct view *best = NULL;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (!v->row->library && v->row->status == ROW_OK && !isnan(fusion_cost(v)) && (v->steps == 1) == one &&
            (!like || kin(v->row, like->row)))
            best = !best || fusion_cost(v) < fusion_cost(best) ? v : best;
    }
    return best;
}

/* "95.3 us (+2.3 %)", "118 MB (+0.4 %)" */
static void add_over(struct text *t, const struct view *v, const struct view *bare)
{
    char n[NUMBER_TEXT];
    double more = 100 * (fusion_cost(v) / fusion_cost(bare) - 1);
    if (v->time)
        text_addf(t, "%s us", number_3(v->time->median_ns / 1e3, n));
    else
        text_addf(t, "%s", number_si(v->moved_bytes, "B", n));
    text_addf(t, " (%s%.3g %%)", more < 0 ? "-" : "+", fabs(more));
}

static void say_epilogue(const struct case_view *c, const struct case_view *bare, const char *epilogue, struct block *list)
{
    const struct view *plain = NULL, *fused = NULL, *apart = NULL;
    for (int i = 0; i < c->count; i++) { /* the best fused row that has both: a bare op of its family, and passes of their own */
        const struct view *v = &c->views[i], *b = best_row(bare, true, v), *a = best_row(c, false, v);
        if (v->row->library || v->row->status != ROW_OK || v->steps != 1 || isnan(fusion_cost(v)) || !a || !b ||
            (fused && fusion_cost(v) >= fusion_cost(fused)))
            continue;
        fused = v;
        plain = b;
        apart = a;
    }
    if (!fused || !!fused->time != !!plain->time || !!apart->time != !!plain->time)
        return;
    char n[NUMBER_TEXT];
    struct text t = {0};
    text_addf(&t, "%s: bare ", epilogue);
    add_over(&t, plain, plain);
    t.data[t.len = (size_t)(strrchr(t.data, '(') - t.data) - 1] = 0;
    text_addf(&t, "; fused into %s ", variant_short(fused->row));
    add_over(&t, fused, plain);
    text_addf(&t, "; in %d launches ", apart->steps);
    add_over(&t, apart, plain);
    double f = isnan(fused->moved_bytes) ? dram_bytes(fused) : fused->moved_bytes,
           a = isnan(apart->moved_bytes) ? dram_bytes(apart) : apart->moved_bytes;
    if (a > f)
        text_addf(&t, "; fusing saves %s%s", number_si(a - f, "B", n), isnan(fused->moved_bytes) ? " of DRAM" : "");
    block_item(list, "fusing", c->rows[0]->layer ? c->rows[0]->layer : "", text_get(&t));
    text_free(&t);
}

/* Each case with an epilogue beside the case that is the same work without one. */
static void epilogues(const struct run *run, struct row *const *rows, int count, const struct judge *judge, struct block *list)
{
    for (int i = 0, end; i < count; i = end) {
        char epilogue[120];
        char *work = work_without_epilogue(rows[i]->work, epilogue, sizeof epilogue);
        end = case_end(rows, count, i);
        for (int k = 0, stop; work && k < count; k = stop) {
            stop = case_end(rows, count, k);
            if (!rows[k]->work || strcmp(rows[k]->work, work) || !rows[k]->op || !rows[i]->op || strcmp(rows[k]->op, rows[i]->op))
                continue;
            struct case_walk w = {.run = run, .rows = rows + i, .count = end - i, .judge = judge};
            while (case_next(&w))
                for (struct case_walk b = {.run = run, .rows = rows + k, .count = stop - k, .judge = judge}; case_next(&b);)
                    say_epilogue(&w.view, &b.view, epilogue, list);
        }
        free(work);
    }
}

void fusion_document(struct document *d, const struct run *run, struct row *const *rows, int count)
{
    struct block *list = document_list(d, DETAIL_ALWAYS);
    struct judge judge;
    judge_open(&judge);
    for (int i = 0; i < count; i = case_end(rows, count, i)) {
        const struct row *r = rows[i];
        bool said = !r->layer || r->axis_count != 1;
        for (int k = 0; k < i && !said; k = case_end(rows, count, k))
            said = rows[k]->layer && !strcmp(rows[k]->layer, r->layer) && rows[k]->axis_count == 1 &&
                   !strcmp(rows[k]->axis[0].name, r->axis[0].name);
        if (!said)
            knee_of(run, rows, count, r->layer, r->axis[0].name, &judge, list);
    }
    epilogues(run, rows, count, &judge, list);
    judge_close(&judge);
}
