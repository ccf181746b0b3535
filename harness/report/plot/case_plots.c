/* report/plot/case_plots: of one case how the rounds of each row are distributed, and maps of two parameters of a variant. */
#include "base/order.h"
#include "report/view/number.h"
#include "report/plot/plot.h"
#include "report/limits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_LEAST 12
#define BINS 24
#define VALUES_MAX 24 /* of a parameter, on a map */
#define CELLS_LEAST 6

/* ---- distributions ---- */

/* One block of data: the outline of the distribution of a row's rounds, from the 1st to the 99th percentile, in per cent of the median, so
 * that rows with very different times share a scale. */
static bool add_shape(struct text *data, const struct view *v, int row, double *low, double *high)
{
    const struct row_time *t = v->time;
    SCOPED double *s = xcalloc((size_t)t->rounds + 1, sizeof *s);
    double bins[BINS] = {0}, most = 0;
    int n = 0;
    for (int i = 0; i < t->rounds; i++)
        if (isfinite(t->samples_ns[i]) && t->samples_ns[i] > 0)
            s[n++] = 100 * (t->samples_ns[i] / t->median_ns - 1);
    qsort(s, (size_t)n, sizeof *s, order_doubles);
    bool enough = n >= ROUNDS_LEAST && s[n - 1] > s[0];
    double from = enough ? s[n / 100] : 0, to = enough ? s[n - 1 - n / 100] : 0, step = (to - from) / BINS;
    enough = enough && step > 0;
    for (int i = 0; i < n && enough; i++)
        if (s[i] >= from && s[i] <= to)
            bins[(int)fmin(BINS - 1, (s[i] - from) / step)]++;
    for (int i = 0; i < BINS; i++)
        most = fmax(most, bins[i]);
    if (enough) {
        text_addf(data, "%.6g\t%d\t%d\n", from, row, row);
        for (int i = 0; i < BINS; i++)
            text_addf(data, "%.6g\t%.4g\t%.4g\n", from + (i + 0.5) * step, row - 0.4 * bins[i] / most, row + 0.4 * bins[i] / most);
        text_addf(data, "%.6g\t%d\t%d\n", to, row, row);
        *low = fmin(*low, from);
        *high = fmax(*high, to);
    }
    return enough;
}

static void distributions(struct plots *p, const struct case_view *c)
{
    struct plot_draft d = {.base = "samples.gp", .case_index = c->rows[0]->case_index, .width = PLOT_WIDTH, .aside = true};
    SCOPED_TEXT names = {0};
    int rows = 0, longest = 0;
    double low = INFINITY, high = -INFINITY;
    char n[NUMBER_TEXT];
    for (int i = 0; i < c->count && rows < SHOWN_SHAPES; i++) {
        const struct view *v = &c->views[c->order[i]];
        if (!v->ranked || !v->time->samples_ns || !add_shape(&d.data, v, rows, &low, &high))
            continue;
        text_add(&d.data, "\n\n");
        int wide = plot_add_name(&names, v->name);
        plot_add_number(&names, 0);
        plot_add_number(&names, 100 * (v->time->low_ns / v->time->median_ns - 1));
        plot_add_number(&names, 100 * (v->time->high_ns / v->time->median_ns - 1));
        text_addf(&names, "\t\"%s us\"\n", number_3(v->time->median_ns / 1e3, n));
        longest = wide > longest ? wide : longest;
        rows++;
    }
    text_add(&d.data, text_get(&names));
    if (rows < 2) {
        text_free(&d.data);
        return;
    }
    text_addf(&d.script, "rows = %d\nmargin = %d\nleast = %.9g\nmost = %.9g\n", rows, longest, low, high);
    d.height = 60 + 26 * rows;
    plot_write(p, &d,
               "Distribution of the rounds of %s relative to its median, from the 1st to the 99th percentile; the mark is the median with "
               "its 95 %% interval. Two peaks mean two states of the machine or two buffer placements.",
               rows == SHOWN_SHAPES ? "the sixteen fastest rows" : "each row");
}

/* ---- maps of parameters ---- */

struct axis {
    const char *name;
    const struct row_pair *values[VALUES_MAX];
    int count;
};

static int value_at(struct axis *a, const struct row_pair *value, bool add)
{
    for (int i = 0; i < a->count; i++)
        if (!strcmp(a->values[i]->value, value->value))
            return i;
    if (!add || a->count == VALUES_MAX)
        return -1;
    a->values[a->count] = value;
    return a->count++;
}

static int by_number(const void *a, const void *b)
{
    const struct row_pair *x = *(const struct row_pair *const *)a, *y = *(const struct row_pair *const *)b;
    bool both = !isnan(x->number) && !isnan(y->number);
    return both ? (x->number > y->number) - (x->number < y->number) : strcmp(x->value, y->value);
}

static bool same_variant(const struct row *a, const struct row *b)
{
    return a->variant && b->variant && !strcmp(a->variant, b->variant);
}

/* The two parameters of a variant with the most values; false: there are not two. */
static bool two_axes(const struct case_view *c, const struct row *like, struct axis two[2])
{
    two[0] = two[1] = (struct axis){0};
    for (int k = 0; k < like->param_count; k++) {
        struct axis a = {.name = like->param[k].name};
        for (int i = 0; i < c->count; i++) {
            const struct row_pair *value =
                same_variant(c->rows[i], like) ? row_pair(c->rows[i]->param, c->rows[i]->param_count, a.name) : NULL;
            if (value)
                value_at(&a, value, true);
        }
        if (a.count > two[0].count) {
            two[1] = two[0];
            two[0] = a;
        } else if (a.count > two[1].count) {
            two[1] = a;
        }
    }
    for (int k = 0; k < 2; k++)
        qsort(two[k].values, (size_t)two[k].count, sizeof *two[k].values, by_number);
    return two[1].count > 1 && two[0].count * two[1].count >= CELLS_LEAST;
}

/* Into a script: no more than a word. */
static void add_word(struct text *words, const char *word)
{
    text_add(words, words->len ? " " : "");
    for (const char *p = word; *p; p++)
        text_addf(words, "%c", strchr("\"'`\\%{}@^ \t\n", *p) || (unsigned char)*p < 33 || (unsigned char)*p > 126 ? '.' : *p);
}

static void add_values(struct text *script, const char *name, const struct axis *a)
{
    SCOPED_TEXT values = {0};
    for (int i = 0; i < a->count; i++)
        add_word(&values, a->values[i]->value);
    text_addf(script, "%s = \"%s\"\n%s_count = %d\n", name, text_get(&values), name, a->count);
}

static void map(struct plots *p, const struct case_view *c, const struct row *like)
{
    struct plot_draft d = {.base = "map.gp", .case_index = c->rows[0]->case_index, .width = PLOT_WIDTH, .aside = true};
    struct axis two[2];
    double best[VALUES_MAX][VALUES_MAX], least = INFINITY, most = 0;
    int cells = 0, at[2] = {0, 0};
    char base[VARIANT_BASE];
    if (!two_axes(c, like, two))
        return;
    for (int x = 0; x < VALUES_MAX; x++)
        for (int y = 0; y < VALUES_MAX; y++)
            best[x][y] = NAN;
    for (int i = 0; i < c->count; i++) {
        const struct row *row = c->rows[i];
        const struct view *v = &c->views[i];
        double value = c->counts ? v->moved_over_compulsory : v->ranked ? v->time->median_ns / 1e3 : NAN;
        int place[2];
        for (int k = 0; k < 2; k++) {
            const struct row_pair *pair = same_variant(row, like) ? row_pair(row->param, row->param_count, two[k].name) : NULL;
            place[k] = pair ? value_at(&two[k], pair, false) : -1;
        }
        if (row->status != ROW_OK || isnan(value) || place[0] < 0 || place[1] < 0)
            continue;
        double *cell = &best[place[0]][place[1]];
        cells += isnan(*cell);
        *cell = isnan(*cell) ? value : fmin(*cell, value);
        most = fmax(most, value);
        if (value < least) {
            least = value;
            memcpy(at, place, sizeof at);
        }
    }
    for (int y = 0; y < two[1].count; y++)
        for (int x = 0; x < two[0].count; x++)
            text_addf(&d.data, isnan(best[x][y]) ? "%d\t%d\tNaN\t\"-\"\n" : "%d\t%d\t%.6g\t\"%.3g\"\n", x, y, best[x][y], best[x][y]);
    if (cells < CELLS_LEAST || !(most > least)) {
        text_free(&d.data);
        return;
    }
    add_values(&d.script, "across", &two[0]);
    add_values(&d.script, "up", &two[1]);
    SCOPED_TEXT names = {0};
    for (int k = 0; k < 2; k++)
        add_word(&names, two[k].name);
    text_addf(&d.script, "axes = \"%s\"\n", text_get(&names));
    text_addf(&d.script, "best_x = %d\nbest_y = %d\nleast = %.9g\nmost = %.9g\n", at[0], at[1], least, most);
    d.height = 90 + 30 * two[1].count;
    plot_write(p, &d,
               "%s over %s and %s: %s, darker is less, each cell at its best other parameters; the frame marks the smallest value, - marks "
               "cells without a right result.",
               c->counts ? "Bytes moved over compulsory bytes" : "Time in us", two[0].name, two[1].name, variant_base(like, base));
}

static void maps(struct plots *p, const struct case_view *c)
{
    int before = p->count;
    for (int i = 0; i < c->count && p->count < before + SHOWN_MAPS; i++) {
        bool known = c->rows[i]->param_count < 2;
        for (int k = 0; k < i && !known; k++)
            known = same_variant(c->rows[k], c->rows[i]);
        if (!known)
            map(p, c, c->rows[i]);
    }
}

void case_plots(struct plots *p, const struct case_view *c)
{
    if (!c->counts)
        distributions(p, c);
    maps(p, c);
}
