#include "report/fusion.h"
#include "report/number.h"
#include "report/verdict.h"
#include <math.h>
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

void fusion_steps(const struct case_view *c, struct block *list)
{
    const struct view *ladder[LADDER_MOST], *top = NULL;
    int count = 0;
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[i];
        if (v->row->status == ROW_OK && v->row->from && v->row->from[0] && !isnan(fusion_cost(v)))
            top = !top || fusion_cost(v) < fusion_cost(top) ? v : top;
    }
    for (const struct view *v = top; v && count < LADDER_MOST; v = variant_named(c, v->row, v->row->from))
        ladder[count++] = v;
    if (count < 2 || ladder[count - 1]->steps <= top->steps)
        return;
    struct text t = {0};
    for (int i = count - 1; i >= 0; i--)
        add_rung(&t, ladder[i], i < count - 1 ? ladder[i + 1] : NULL);
    block_item(list, "fusing", top->name, text_get(&t));
    text_free(&t);
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
    judge_close(&judge);
}
