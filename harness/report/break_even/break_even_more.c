/* report/break_even/break_even_more: the densities that a break-even still needs, by bisection. */
#include "report/break_even/break_even.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE_A_ROUND 2 /* densities of a group: one serves all its variants */
#define MORE_APART 0.05
#define MORE_LEAST 1e-4 /* a break-even below is that of single pixels: small images have no mask of such a density, or an empty one */

/* A case of the scenario itself; for a network, those of its layers' cases with its mask. */
static void want_case(const struct row *like, struct break_wish wish, struct row *const *rows, int row_count, struct break_wish **wishes,
                      int *count)
{
    const char *mask = row_axis(like, "mask");
    for (int i = 0; i < row_count; i = case_end(rows, row_count, i)) {
        const struct row *r = rows[i];
        bool wanted = r == like && !row_is_network(like);
        for (int k = 0; row_is_network(like) && k < r->network_count; k++)
            wanted |= like->layer && mask && row_axis(r, "mask") && !strcmp(r->network[k].name, like->layer) &&
                      !strcmp(row_axis(r, "mask"), mask);
        if (wanted) {
            wish.case_id = xstrdup(r->like_case ? r->like_case : r->case_id);
            *APPEND(*wishes, *count) = wish;
        }
    }
}

/* The case of the group that is nearest in density; with merged cases, all of them. */
static void want_density(const struct break_group *g, double x, const char *variant, const char *params, struct row *const *rows,
                         int row_count, struct break_wish **wishes, int *count)
{
    int nearest = 0;
    char number[32];
    snprintf(number, sizeof number, "%.3g", x);
    for (int i = 1; i < g->case_count; i++)
        if (fabs(g->cases[i].x - x) < fabs(g->cases[nearest].x - x))
            nearest = i;
    for (int i = 0; i < g->case_count; i++)
        if (i == nearest || (g->merges && break_even_one_density(g, g->cases[i].x, g->cases[nearest].x)))
            want_case(g->cases[i].row, (struct break_wish){NULL, strtod(number, NULL), variant, params}, rows, row_count, wishes, count);
}

bool break_even_wants_all(struct row *const *rows, int count)
{
    return ANY_OF(i, count, rows[i]->network_count > 0);
}

static const struct crossing_point *point_at(const struct break_line *l, double x)
{
    return FIRST_IN(l->points, i, l->count, l->points[i].x == x);
}

/* Is another variant significantly faster at this density? */
static bool is_beaten(const struct break_group *g, const struct break_line *l, double x)
{
    const struct crossing_point *own = point_at(l, x);
    bool beaten = false;
    for (int i = 0; own && i < g->line_count && !beaten; i++) {
        const struct crossing_point *other = point_at(&g->lines[i], x);
        beaten = other && other->high < own->low;
    }
    return beaten;
}

bool break_even_beaten(const struct break_group *g, const struct break_line *l)
{
    return is_beaten(g, l, l->crossing.low) && is_beaten(g, l, l->crossing.high);
}

/* Where to measure next for it; NaN: nowhere. */
static double line_next(const struct break_group *g, const struct break_line *l)
{
    double x = break_even_beaten(g, l) ? NAN : crossing_next(l->points, l->count);
    return x >= MORE_LEAST ? x : NAN;
}

/* The dense variant, and each other variant whose crossing may still be at x. */
static void want_variants(const struct break_group *g, double x, struct row *const *rows, int row_count, struct break_wish **wishes,
                          int *count)
{
    want_density(g, x, g->rival, NULL, rows, row_count, wishes, count);
    for (int i = 0; i < g->line_count; i++) {
        const struct break_line *l = &g->lines[i];
        if (isfinite(line_next(g, l)) && l->crossing.low <= x && x <= l->crossing.high)
            want_density(g, x, l->row->variant, l->row->params, rows, row_count, wishes, count);
    }
}

int break_even_more(const struct run *run, struct row *const *rows, int count, struct break_wish **wishes)
{
    struct break_group *groups;
    int found = 0;
    *wishes = NULL;
    if (!break_even_asked(run))
        return -1;
    int made = break_even_make(&groups, run, rows, count);
    bool all = break_even_wants_all(rows, count);
    for (int i = 0; i < made; i++) {
        double wanted[MORE_A_ROUND];
        int taken = 0;
        for (int k = 0; k < groups[i].line_count && taken < MORE_A_ROUND && groups[i].case_count; k++) {
            double x = line_next(&groups[i], &groups[i].lines[k]);
            bool fresh = isfinite(x);
            for (int t = 0; t < taken; t++)
                fresh = fresh && fabs(x - wanted[t]) > MORE_APART * x;
            if (!fresh)
                continue;
            wanted[taken++] = x;
            if (all || groups[i].rival_varies)
                want_density(&groups[i], x, NULL, NULL, rows, count, wishes, &found);
            else
                want_variants(&groups[i], x, rows, count, wishes, &found);
        }
    }
    break_even_free(groups, made);
    return found;
}
