#include "base/stats/change.h"
#include "base/text.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first search accepts weak changes too: a p-value this many times larger. */
#define WEAK_LEVEL 10
#define WEAK_MOST 0.05
#define WEAK_DOUBLED 0.5

struct series {
    const double *value;
    int count;
    const struct change_search *search;
};

static double mean_of(const double *value, int count, double *squares)
{
    double mean = 0;
    for (int i = 0; i < count; i++)
        mean += value[i] / count;
    *squares = 0;
    for (int i = 0; i < count; i++)
        *squares += (value[i] - mean) * (value[i] - mean);
    return mean;
}

/* The candidate change between the values first .. index - 1 and index .. end - 1. */
static struct change_point point_at(const struct series *s, int first, int index, int end)
{
    int a = index - first, b = end - index, freedom = a + b - 2;
    double squares_a, squares_b;
    struct change_point p = {.index = index, .p = 1};
    p.before = mean_of(s->value + first, a, &squares_a);
    p.after = mean_of(s->value + index, b, &squares_b);
    if (freedom < 1)
        return p;
    if (s->search->as_otava) {
        squares_a *= (a - 1.0) / a;
        squares_b *= (b - 1.0) / b;
    }
    double error = sqrt((squares_a + squares_b) / freedom * (1.0 / a + 1.0 / b)), away = fabs(p.after - p.before);
    p.p = error > 0 ? quantile_student_outside(away / error, freedom) : away > 0 ? 0 : 1;
    return p;
}

static double magnitude(const struct change_point *p)
{
    return fmax(fabs(p->after / p->before - 1), fabs(p->before / p->after - 1));
}

/* ---- one split ---- */

/* Sums of distances: sum[i * (n + 1) + k] is that of the first i values to the first k. */
static double *distance_sums(const double *value, int n)
{
    size_t side = (size_t)n + 1;
    double *sum = xcalloc(side * side, sizeof *sum);
    for (int i = 0; i < n; i++) {
        double line = 0;
        for (int k = 0; k < n; k++) {
            line += fabs(value[i] - value[k]);
            sum[(size_t)(i + 1) * side + (size_t)k + 1] = sum[(size_t)i * side + (size_t)k + 1] + line;
        }
    }
    return sum;
}

/* How much further the values of a part are from another part's than from their own; each pair of a part once. */
static double divergence(double between, double within_a, double within_b, double a, double b)
{
    double energy = 2 * between / (a * b);
    energy -= a > 1 ? within_a / (a * (a - 1) / 2) : 0;
    energy -= b > 1 ? within_b / (b * (b - 1) / 2) : 0;
    return a * b / (a + b) * energy;
}

/* Where first .. end - 1 is best split; the right part need not reach the end. */
static double best_split(const double *value, int first, int end, int *index)
{
    int n = end - first;
    size_t side = (size_t)n + 1;
    double *sum = distance_sums(value + first, n), best = -1;
    *index = -1;
    for (int t = 1; t < n; t++)
        for (int k = t + 1; k <= n; k++) {
            double left = sum[(size_t)t * side + (size_t)t], both = sum[(size_t)k * side + (size_t)k];
            double cross = sum[(size_t)t * side + (size_t)k] - left;
            double q = divergence(cross, left / 2, (both - left - 2 * cross) / 2, t, k - t);
            if (q > best) {
                best = q;
                *index = first + t;
            }
        }
    free(sum);
    return best;
}

/* ---- a window ---- */

struct marks {
    int *at; /* in order */
    int count;
};

static void mark(struct marks *m, int index)
{
    int i = 0;
    while (i < m->count && m->at[i] < index)
        i++;
    if (i < m->count && m->at[i] == index)
        return;
    *APPEND(m->at, m->count) = index;
    memmove(m->at + i + 1, m->at + i, (size_t)(m->count - 1 - i) * sizeof *m->at);
    m->at[i] = index;
}

/* Splits where it is best as long as that is significant. */
static struct marks split_window(const struct series *s, int first, int end, double level)
{
    struct marks found = {0};
    for (;;) {
        double best = -1;
        int from = first, left = -1, right = -1, at = -1, index = -1;
        for (int i = 0; i <= found.count; i++) {
            int to = i < found.count ? found.at[i] : end;
            double q = to - from > 1 ? best_split(s->value, from, to, &index) : -1;
            if (q > best) {
                best = q;
                at = index;
                left = from;
                right = to;
            }
            from = to;
        }
        if (at < 0 || !(point_at(s, left, at, right).p <= level))
            return found;
        mark(&found, at);
    }
}

static struct marks find_weak(const struct series *s, double level)
{
    struct marks all = {0};
    int window = s->search->window < 2 ? 2 : s->search->window;
    for (int start = 0; start < s->count;) {
        int end = start + window < s->count ? start + window : s->count;
        struct marks found = split_window(s, start, end, level);
        int last = found.count ? found.at[found.count - 1] : 0;
        for (int i = 0; i < found.count; i++)
            mark(&all, found.at[i]);
        free(found.at);
        start = last > start + window / 2 ? last : start + window / 2;
    }
    return all;
}

/* ---- what holds between its neighbours ---- */

static struct change_point point_of(const struct series *s, const struct marks *m, int i)
{
    return point_at(s, i ? m->at[i - 1] : 0, m->at[i], i + 1 < m->count ? m->at[i + 1] : s->count);
}

/* The change to remove: the least certain, or, if all are certain enough, the smallest that is too small; -1: none. */
static int weakest(const struct series *s, const struct change_point *points, int count)
{
    int weak = 0, small = 0;
    for (int i = 1; i < count; i++) {
        weak = points[i].p > points[weak].p ? i : weak;
        small = magnitude(&points[i]) < magnitude(&points[small]) ? i : small;
    }
    if (!count || !(points[weak].p < s->search->level))
        return count ? weak : -1;
    return magnitude(&points[small]) > s->search->magnitude ? -1 : small;
}

int change_find(const double *value, int count, const struct change_search *search, struct change_point **points)
{
    struct series s = {value, count, search};
    double level = search->level;
    struct marks m = find_weak(&s, level < WEAK_MOST ? level * WEAK_LEVEL : level < WEAK_DOUBLED ? level * 2 : level);
    struct change_point *list = xcalloc((size_t)m.count + 1, sizeof *list);
    int gone;
    for (int i = 0; i < m.count; i++)
        list[i] = point_of(&s, &m, i);
    while ((gone = weakest(&s, list, m.count)) >= 0) {
        m.count--;
        memmove(m.at + gone, m.at + gone + 1, (size_t)(m.count - gone) * sizeof *m.at);
        memmove(list + gone, list + gone + 1, (size_t)(m.count - gone) * sizeof *list);
        for (int i = search->as_otava ? gone : gone - 1; i <= gone; i++)
            if (i >= 0 && i < m.count)
                list[i] = point_of(&s, &m, i);
    }
    free(m.at);
    *points = list;
    return m.count;
}
