/* Roofline of one case: each verified row's rate over its intensity, under the ceilings of the machine. */
#include "report/view/breakdown.h"
#include "report/plot/plot.h"
#include "base/dtype.h"
#include "base/order.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEIGHT 380

/* A point of the plot; overlapping points share a label. */
struct point {
    const struct view *v;
    double x[4], rate;
    char label[64];
};
#define LABEL_CHARS 14
#define LABEL 0.055  /* height of a label, of the plot's */
#define L1_FAR 100.0 /* a bypassed L1 (TMA) has its point this far beyond the ridge; it is left out */

ORDER(by_rate, struct point, ORDER_DOWN(rate))

ORDER(by_number, int, *x - *y)

/* "1-5 7 9": in order, neighbours as a range; if there are too many, their number. */
static void label_write(char *label, size_t bytes, int *ranks, int count)
{
    SCOPED_TEXT t = {0};
    qsort(ranks, (size_t)count, sizeof *ranks, by_number);
    for (int i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1;)
            last++;
        text_addf(&t, last > i + 1 ? "%s%d-%d" : last > i ? "%s%d %d" : "%s%d", i ? " " : "", ranks[i], ranks[last]);
    }
    if (t.len < bytes && t.len <= LABEL_CHARS)
        snprintf(label, bytes, "%s", text_get(&t));
    else
        snprintf(label, bytes, "%d, %d more", ranks[0], count - 1);
}

/* A point's label has the numbers of all points close below it: "1-3". `decades`: the range of the rates. */
static void label_points(struct point *points, int count, double decades)
{
    double near = pow(10, decades * LABEL);
    SCOPED int *ranks = xcalloc((size_t)count + 1, sizeof *ranks);
    int held = 0;
    qsort(points, (size_t)count, sizeof *points, by_rate);
    for (int i = 0, first = 0; i < count; i++) {
        if (i && (points[first].rate > points[i].rate * near || fabs(points[first].x[0] / points[i].x[0] - 1) > 0.02))
            first = i, held = 0;
        ranks[held++] = points[i].v->rank;
        label_write(points[first].label, sizeof points[first].label, ranks, held);
    }
}

static void widen(double *low, double *high, double value)
{
    if (isfinite(value) && value > 0) {
        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

void roofline_plot(struct plots *p, const struct case_view *c)
{
    struct plot_draft d = {.base = "roofline.gp", .case_index = c->rows[0]->case_index, .width = PLOT_WIDTH, .height = HEIGHT};
    const struct row *first = c->rows[0];
    enum math math = first->math && first->math[0] ? math_parse(first->math) : MATH_NONE;
    bool measured, pipe_measured, ignored;
    double band = machine_bytes_s(&c->machine, &measured) / 1e12, l2 = c->machine.ceilings.l2_bytes_s / 1e12;
    double pipe = machine_flop_s(&c->machine, math, &pipe_measured) / 1e12, f32 = machine_flop_s(&c->machine, MATH_F32, &ignored) / 1e12;
    double low_x = 1e30, high_x = 0, low_y = 1e30, high_y = 0;
    int rows = 0, longest = 0;
    bool counters = false;
    SCOPED struct point *points = xcalloc((size_t)c->count + 1, sizeof *points);
    for (int i = 0; i < c->count; i++) {
        const struct view *v = &c->views[c->order[i]];
        const struct row *row = v->row;
        if (!v->ranked || row->status != ROW_OK || !(row->flop > 0) || !(row->bytes > 0))
            continue;
        bool masked = row->flop_useful >= 0 && row->bytes_useful > 0;
        double flop = masked ? row->flop_useful : row->flop, bytes = masked ? row->bytes_useful : row->bytes,
               rate = flop / v->time->median_ns / 1e3;
        if (!(flop > 0))
            continue;
        widen(&low_y, &high_y, rate);
        points[rows++] = (struct point){.v = v,
                                        .x = {flop / bytes, breakdown_intensity(v, -1, flop, "dram"),
                                              breakdown_intensity(v, -1, flop, "l2"), breakdown_intensity(v, -1, flop, "l1")},
                                        .rate = rate};
    }
    double ceiling = pipe > 0 ? pipe : f32, ridge = ceiling / band;
    widen(&low_y, &high_y, ceiling);
    label_points(points, rows, rows ? log10(high_y * 4 / low_y) : 0);
    for (int i = 0; i < rows; i++) {
        plot_add_name(&d.data, points[i].v->name);
        text_addf(&d.data, "\t%.9g", points[i].rate);
        for (int k = 0; k < 4; k++) {
            bool there = isfinite(points[i].x[k]) && (k < 3 || points[i].x[k] < L1_FAR * ridge);
            counters |= k && there;
            text_addf(&d.data, there ? "\t%.9g" : "\tNaN", points[i].x[k]);
            widen(&low_x, &high_x, there ? points[i].x[k] : NAN);
        }
        longest = (int)fmax(longest, (double)strlen(points[i].label));
        text_addf(&d.data, "\t\"%s\"\t%.9g\n", points[i].label, fmax(points[i].x[0], points[i].x[1])); /* fmax: NaN gives way */
    }
    if (!rows || band <= 0 || (pipe <= 0 && f32 <= 0)) {
        text_free(&d.data);
        return;
    }
    widen(&low_x, &high_x, ridge); /* is in the picture */
    text_addf(&d.script,
              "label_chars = %d\nband_dram = %.9g\nband_l2 = %.9g\npipe = %.9g\npipe_f32 = %.9g\npipe_name = \"%s\"\nmeasured = "
              "%d\ncounted = %d\nleft = "
              "%.9g\nright = %.9g\nbottom = %.9g\ntop = %.9g\n",
              longest, band, l2, pipe, math == MATH_F32 ? 0 : f32, math_name(math), measured && pipe_measured, counters, low_x / 3,
              high_x * 3, low_y / 2, high_y * 2);
    plot_write(p, &d,
               "Roofline: useful operations per second over operations per byte, %s. A number is the row's place in the table. Open "
               "circle: compulsory bytes; filled circle: counted bytes at each level (L1 where the kernel uses it).",
               measured && pipe_measured ? "under the ceilings measured on this machine" : "under the ceilings of the data sheet");
}
