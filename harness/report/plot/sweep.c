/* report/plot/sweep: plots over numeric axes and parameters, found from the rows: any axis or parameter with three or more numeric values
 * while everything else of the case stays equal. */
#include "report/plot/plot.h"
#include "base/order.h"
#include "report/limits.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 8
#define SECTION "Over the axes"
#define POINTS_MIN 3
#define TWO_COLUMNS 12  /* characters of the longest name with which two plots fit side by side */
#define TALL_RANGE 12.0 /* largest over smallest y from which a log scale reads better */

/* One measured point of one line. */
struct point {
    double x, y, low, high;
    int line;
    char group[320]; /* what stays the same in one plot */
};
struct sweep {
    const char *axis;
    bool of_params;
    struct point *points;
    int count;
    char lines[LINES_MAX][96];
    int line_count, lines_left_out;
};

/* The axes of a row but one. */
static void add_without(struct text *t, const struct row *row, const char *but)
{
    for (int i = 0; i < row->axis_count; i++)
        if (strcmp(row->axis[i].name, but) != 0)
            text_addf(t, " %s=%s", row->axis[i].name, row->axis[i].value);
}

/* The axes or the parameters. */
static const struct row_pair *pairs_of(const struct row *row, bool of_params, int *count)
{
    *count = of_params ? row->param_count : row->axis_count;
    return of_params ? row->param : row->axis;
}

static int sweep_line_of(struct sweep *s, const char *name)
{
    for (int i = 0; i < s->line_count; i++)
        if (strcmp(s->lines[i], name) == 0)
            return i;
    if (s->line_count == LINES_MAX)
        return -1;
    snprintf(s->lines[s->line_count], sizeof s->lines[0], "%s", name);
    return s->line_count++;
}

/* Adds a row's point; of several at one x of a line (other parameters), the lowest is kept. */
static void add_point(struct sweep *s, const struct view *v, bool counts)
{
    int pairs;
    const struct row_pair *list = pairs_of(v->row, s->of_params, &pairs);
    const struct row_pair *at = row_pair(list, pairs, s->axis);
    double y = counts ? v->moved_over_compulsory : v->ranked ? v->time->median_ns / 1e3 : NAN;
    struct point p = {.y = y, .low = y, .high = y};
    if (v->row->status != ROW_OK && v->row->status != ROW_FOIL)
        return;
    if (isnan(y) || !at || isnan(at->number))
        return;
    if (!counts && v->time->low_ns > 0) {
        p.low = v->time->low_ns / 1e3;
        p.high = v->time->high_ns / 1e3;
    }
    struct text group = {0};
    text_add(&group, v->row->layer ? v->row->layer : "");
    if (s->of_params)
        text_addf(&group, " %s", v->row->axes ? v->row->axes : "");
    else
        add_without(&group, v->row, s->axis);
    snprintf(p.group, sizeof p.group, "%s", text_get(&group));
    text_free(&group);
    p.x = at->number;
    p.line = sweep_line_of(s, variant_short(v->row));
    if (p.line < 0) {
        s->lines_left_out++;
        return;
    }
    for (int i = 0; i < s->count; i++) {
        struct point *q = &s->points[i];
        if (q->x == p.x && q->line == p.line && strcmp(q->group, p.group) == 0) {
            if (p.y < q->y)
                *q = p;
            return;
        }
    }
    *APPEND(s->points, s->count) = p;
}

ORDER(by_x, struct point, x->line != y->line ? x->line - y->line : ORDER_UP(x))

/* Tick marks at the measured values, if there is room. */
static void add_places(struct text *script, const struct point *points, int count)
{
    double x[SHOWN_MARKS], least = INFINITY, gap = INFINITY, most = -INFINITY;
    int places = 0;
    for (int i = 0; i < count && places <= SHOWN_MARKS; i++) {
        bool known = false;
        for (int k = 0; k < places; k++) {
            known |= x[k] == points[i].x;
            gap = known ? gap : fmin(gap, fabs(x[k] - points[i].x));
        }
        if (known)
            continue;
        if (places == SHOWN_MARKS)
            gap = 0;
        else
            x[places] = points[i].x;
        places++;
        least = fmin(least, points[i].x);
        most = fmax(most, points[i].x);
    }
    bool room = gap * SHOWN_MARKS >= most - least;
    text_addf(script, "places = %d\nthe_places = \"", room ? places : 0);
    for (int i = 0; room && i < places; i++)
        text_addf(script, "%s%.9g", i ? " " : "", x[i]);
    text_add(script, "\"\n");
}

/* Plots one group if it has POINTS_MIN different x. */
static void group_plot(struct plots *p, const struct sweep *s, const char *group, bool counts)
{
    struct plot_draft d = {.base = "sweep.gp", .section = SECTION, .case_index = -1, .width = 500};
    SCOPED struct point *points = xcalloc((size_t)s->count, sizeof *points);
    int n = 0, lines = 0, last = -1, distinct = 0, longest = 0;
    double least = INFINITY, most = 0;
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->points[i].group, group) == 0)
            points[n++] = s->points[i];
    for (int i = 0; i < n; i++) {
        bool known = ANY_OF(k, i, points[k].x == points[i].x);
        distinct += !known;
    }
    if (distinct < POINTS_MIN)
        return;
    qsort(points, (size_t)n, sizeof *points, by_x);
    for (int i = 0; i < n; i++) {
        if (points[i].line != last) {
            plot_series(&d.data, s->lines[points[i].line]);
            lines++;
            last = points[i].line;
            longest = (int)fmax(longest, (double)strlen(s->lines[last]));
        }
        text_addf(&d.data, "%.9g\t%.9g\t%.9g\t%.9g\n", points[i].x, points[i].y, points[i].low, points[i].high);
        least = fmin(least, points[i].y);
        most = fmax(most, points[i].y);
    }
    add_places(&d.script, points, n);
    char axis[64];
    snprintf(axis, sizeof axis, "%.60s", s->axis);
    for (char *c = axis; *c; c++) /* into a script: letters only */
        *c = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.' ? *c : '_';
    int side_by_side = longest <= TWO_COLUMNS ? 2 : 1;
    text_addf(&d.script, "lines = %d\ncolumns = %d\naxis = \"%s\"\nmeasure = \"%s\"\ntall = %d\nleast = %.9g\nmost = %.9g\n", lines,
              side_by_side, axis, counts ? "moved / compulsory bytes" : "time, us", most > TALL_RANGE * least, least, most);
    d.height = 270 + 18 * ((lines + side_by_side - 1) / side_by_side);
    plot_write(p, &d, "%s over %s, %s: %s.%s", counts ? "Bytes moved over compulsory bytes" : "Time", s->axis,
               group[0] == ' ' ? group + 1 : group,
               counts ? "the best configuration of each variant" : "the fastest configuration of each variant, with 95 % intervals",
               s->lines_left_out ? " Variants beyond the first eight are in the tables." : "");
}

static void axis_plots(struct plots *p, struct sweep *s, bool counts, int *left_out)
{
    for (int i = 0; i < s->count; i++) {
        bool known = ANY_OF(k, i, strcmp(s->points[k].group, s->points[i].group) == 0);
        if (known)
            continue;
        int sweeps = 0;
        for (int k = 0; k < p->count; k++)
            sweeps += p->items[k].section && !strcmp(p->items[k].section, SECTION);
        if (sweeps >= SHOWN_SWEEPS)
            ++*left_out;
        else
            group_plot(p, s, s->points[i].group, counts);
    }
}

/* Names of the axes (or parameters) that have a numeric value somewhere; each malloc'd. */
static int axis_names(struct row *const *rows, int count, bool of_params, char ***out)
{
    int n = 0;
    *out = NULL;
    for (int i = 0; i < count; i++) {
        int pairs;
        const struct row_pair *list = pairs_of(rows[i], of_params, &pairs);
        for (int p = 0; p < pairs; p++) {
            bool known = isnan(list[p].number);
            for (int k = 0; k < n && !known; k++)
                known = strcmp((*out)[k], list[p].name) == 0;
            if (!known)
                *APPEND(*out, n) = xstrdup(list[p].name);
        }
    }
    return n;
}

void sweeps_make(struct plots *p, const struct run *run, struct row *const *rows, int count)
{
    int left_out = 0;
    for (int of_params = 0; of_params < 2; of_params++) {
        SCOPED char **names = NULL;
        int n = axis_names(rows, count, of_params, &names);
        for (int a = 0; a < n; a++) {
            struct sweep s = {.axis = names[a], .of_params = of_params};
            bool counts = false;
            for (struct case_walk w = {.run = run, .rows = rows, .count = count}; case_next(&w);) {
                counts = w.view.counts;
                for (int k = 0; k < w.view.count; k++)
                    add_point(&s, &w.view.views[k], counts);
            }
            axis_plots(p, &s, counts, &left_out);
            free(s.points);
            free(names[a]);
        }
    }
    if (left_out && !p->left_out)
        p->left_out = text_format("%d more sweep%s only in the tables.", left_out, left_out == 1 ? " is" : "s are");
}
