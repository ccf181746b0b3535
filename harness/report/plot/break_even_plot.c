/* report/plot/break_even_plot: time against density for every group, with crossings, minimum time and the waste of tiles. */
#include "report/break_even/break_even.h"
#include "report/plot/plot.h"
#include "report/limits.h"
#include <math.h>
#include <string.h>

#define KEY_LETTERS 24 /* characters of a name, so that two fit side by side in the key */

static void add_point(struct text *data, double x, double y, double low, double high)
{
    text_addf(data, "%.9g\t%.9g\t%.9g\t%.9g\n", x * 100, y, low, high);
}

/* The dense time between two measured densities. */
static double dense_at(const struct break_group *g, double x)
{
    for (int i = 0; i + 1 < g->dense_count; i++) {
        const struct crossing_point *a = &g->dense[i], *b = a + 1;
        if (x >= a->x && x <= b->x)
            return a->ns + (b->ns - a->ns) * (x - a->x) / (b->x - a->x);
    }
    return NAN;
}

/* A density of 0 has no place on a log scale. */
static void add_times(struct text *data, const struct break_group *g, int lines)
{
    plot_series(data, g->against);
    for (int i = 0; i < g->dense_count; i++)
        if (g->dense[i].x > 0)
            add_point(data, g->dense[i].x, g->dense[i].ns / 1e3, g->dense[i].ns_low / 1e3, g->dense[i].ns_high / 1e3);
    plot_series(data, "speed of light");
    for (int i = 0; i < g->dense_count; i++)
        if (g->dense[i].x > 0 && !isnan(g->dense[i].floor_ns))
            add_point(data, g->dense[i].x, g->dense[i].floor_ns / 1e3, g->dense[i].floor_ns / 1e3, g->dense[i].floor_ns / 1e3);
    for (int k = 0; k < lines; k++) {
        const struct break_line *l = &g->lines[k];
        plot_series(data, l->name);
        for (int i = 0; i < l->count; i++)
            if (l->points[i].x > 0)
                add_point(data, l->points[i].x, l->points[i].ns / 1e3, l->points[i].ns_low / 1e3, l->points[i].ns_high / 1e3);
    }
}

static int add_crossings(struct text *data, const struct break_group *g, int lines)
{
    int count = 0;
    plot_series(data, "crossings");
    for (int k = 0; k < lines; k++) {
        const struct break_line *l = &g->lines[k];
        const struct crossing *c = &l->crossing;
        if (c->kind != CROSSING_AT || !(c->at > 0))
            continue;
        text_addf(data, "%.9g\t%.9g\t%.9g\t%.9g\n", c->at * 100, dense_at(g, c->at) / 1e3, c->low * 100, c->high * 100);
        count++;
    }
    if (!count)
        text_add(data, "NaN\tNaN\tNaN\tNaN\n");
    return count;
}

static int add_waste(struct text *data, const struct break_group *g, int lines)
{
    int shown = 0;
    for (int k = 0; k < lines; k++) {
        const struct break_line *l = &g->lines[k];
        int before = shown;
        plot_series(data, l->name);
        for (int i = 0; i < l->count; i++) {
            if (l->points[i].x > 0 && !isnan(l->points[i].waste)) {
                text_addf(data, "%.9g\t%.9g\n", l->points[i].x * 100, l->points[i].waste * 100);
                shown++;
            }
        }
        if (shown == before)
            text_add(data, "NaN\tNaN\n");
    }
    return shown;
}

#define SAMPLES 16
/* Between two points the ratio of times is interpolated linearly, as crossing_find does in a bracket; on logarithmic axes that is a
 * curve. */
static void add_curves(struct text *data, const struct break_group *g, int lines)
{
    for (int k = 0; k < lines; k++) {
        const struct break_line *l = &g->lines[k];
        int drawn = 0;
        plot_series(data, l->name);
        for (int i = 0; i < (l->count - 1) * SAMPLES + 1; i++) {
            const struct crossing_point *a = &l->points[i / SAMPLES], *b = i % SAMPLES ? a + 1 : a;
            double share = (double)(i % SAMPLES) / SAMPLES, x = a->x + (b->x - a->x) * share, y = a->y + (b->y - a->y) * share;
            double us = i % SAMPLES ? y * dense_at(g, x) / 1e3 : l->points[i / SAMPLES].ns / 1e3;
            if (x > 0 && us > 0) {
                text_addf(data, "%.9g\t%.9g\n", x * 100, us);
                drawn++;
            }
        }
        if (!drawn)
            text_add(data, "NaN\tNaN\n");
    }
}

static void group_plot(struct plots *p, const struct break_group *g)
{
    struct plot_draft d = {.base = "break_even.gp", .section = "Time over density", .case_index = -1, .width = 560, .height = 440};
    int lines = g->line_count < SHOWN_BREAK_EVEN_LINES ? g->line_count : SHOWN_BREAK_EVEN_LINES;
    int key_columns = 2;
    double least = INFINITY, most = 0, left = INFINITY, right = 0;
    for (int i = 0; i < g->dense_count; i++) {
        if (!(g->dense[i].x > 0))
            continue; /* an empty mask is in the tables: the axis is logarithmic */
        left = fmin(left, g->dense[i].x);
        right = fmax(right, g->dense[i].x);
        most = fmax(most, g->dense[i].ns / 1e3);
        least = fmin(least, (isnan(g->dense[i].floor_ns) ? g->dense[i].ns : fmin(g->dense[i].floor_ns, g->dense[i].ns)) / 1e3);
    }
    for (int k = 0; k < lines; k++) {
        key_columns = strlen(g->lines[k].name) > KEY_LETTERS ? 1 : key_columns;
        for (int i = 0; i < g->lines[k].count; i++) {
            if (!(g->lines[k].points[i].x > 0))
                continue;
            most = fmax(most, g->lines[k].points[i].ns / 1e3);
            least = fmin(least, g->lines[k].points[i].ns / 1e3);
        }
    }
    if (!(left < right))
        return;
    add_times(&d.data, g, lines);
    add_crossings(&d.data, g, lines);
    int wasted = add_waste(&d.data, g, lines);
    add_curves(&d.data, g, lines);
    text_addf(&d.script, "lines = %d\nleast = %.9g\nmost = %.9g\nleft = %.9g\nright = %.9g\nwasted = %d\ncolumns = %d\n", lines, least,
              most, left * 80, right * 125, wasted, key_columns);
    d.height += 19 * ((lines + 1 + key_columns) / key_columns) - (wasted ? 0 : 60);
    plot_write(p, &d,
               "%s: time over the share of changed inputs, compared with %s (black). A ring is a break-even between the two measured "
               "densities that bracket it; the lines between points are interpolated.%s%s",
               g->title, g->against, wasted ? " Below: the share of the scheduled work that tiles waste." : "",
               g->line_count > lines ? " Variants beyond the first eight are in the table." : "");
}

void break_evens_plot(struct plots *p, const struct run *run, struct row *const *rows, int count)
{
    struct break_group *groups;
    int made = break_even_make(&groups, run, rows, count);
    for (int i = 0; i < made && i < SHOWN_BREAK_EVEN_GROUPS; i++)
        group_plot(p, &groups[i]);
    if (made > SHOWN_BREAK_EVEN_GROUPS && !p->left_out)
        p->left_out = text_format("%d more break-even curves are in the table only.", made - SHOWN_BREAK_EVEN_GROUPS);
    break_even_free(groups, made);
}
