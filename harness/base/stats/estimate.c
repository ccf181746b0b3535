#include "base/stats/estimate.h"
#include "base/order.h"
#include "base/text.h"
#include "base/stats/dependence.h"
#include "base/stats/quantile.h"
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.05
#define FEWEST 6 /* samples of which an interval can be made */
/* How many of the lowest frequencies estimate the dependence. Series shorter than `below` use fewer, since eight would reach the
 * frequencies at which the dependence of twenty rounds ends. Fewer frequencies give a wider interval. */
static const struct {
    int below, cosines;
} looks[] = {{60, 4}, {100, 5}, {200, 8}, {400, 16}, {INT_MAX, 24}};

/* The number of samples below the median is binomial(count, 1/2), whatever the distribution. The interval [x(r+1), x(count-r)] misses it
 * with probability 2 P(B <= r): the largest r that keeps this within `level` is taken (David and Nagaraja, Order Statistics, 3rd ed.,
 * section 7.1); -1 when there is none. */
static int excluded_each_side(int count, double level)
{
    double log_term = -count * log(2), sum = 0; /* log of P(B = r) */
    for (int r = 0; 2 * r < count; r++) {
        sum += exp(log_term);
        if (2 * sum > level)
            return r - 1;
        log_term += log((double)(count - r) / (r + 1));
    }
    return count / 2;
}

/* ---- intervals ---- */

/* A place beyond the last sample, as many times as far from the median; times stay above zero. */
static double beyond(double median, double last, double times)
{
    return median > 0 && last > 0 ? median * pow(last / median, times) : median + (last - median) * times;
}

static int cosines_of(int count)
{
    int i = 0;
    while (count >= looks[i].below)
        i++;
    return looks[i].cosines;
}

static void serial_interval(struct estimate *e, const double *series, const double *sorted, double level)
{
    int n = e->count, out = excluded_each_side(n, level);
    e->low = sorted[out > 0 ? out : 0];
    e->high = sorted[n - 1 - (out > 0 ? out : 0)];
    double share = dependence_share(series, n, cosines_of(n), level);
    if (n < FEWEST || (share <= 1 && out >= 0))
        return;
    double ranks = quantile_student(level, QUANTILE_NORMAL) * sqrt(n * share) / 2; /* from the median to either end */
    int left = (int)floor(n / 2. - ranks);
    left = left < out ? left : out;
    if (left >= 0) {
        e->low = sorted[left];
        e->high = sorted[n - 1 - left];
    } else {
        e->low = beyond(e->median, sorted[0], fmax(ranks / (n / 2.), 1));
        e->high = beyond(e->median, sorted[n - 1], fmax(ranks / (n / 2.), 1));
    }
}

/* Widens the interval by the spread between placements. */
static void span_placements(struct estimate *e, const double *series, const int *placement, double level)
{
    int n = e->count, groups = 0;
    SCOPED double *of = xcalloc((size_t)n, sizeof *of), *medians = xcalloc((size_t)n, sizeof *medians);
    SCOPED bool *done = xcalloc((size_t)n, sizeof *done);
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int k = i; k < n && !done[i]; k++)
            if (placement[k] == placement[i])
                of[count++] = series[k];
        for (int k = i + 1; k < n; k++)
            done[k] |= placement[k] == placement[i];
        if (count)
            medians[groups++] = quantile_median(of, count);
    }
    double mean = 0, square = 0, half = 0;
    for (int g = 0; g < groups; g++)
        mean += medians[g] / groups;
    for (int g = 0; g < groups; g++)
        square += (medians[g] - mean) * (medians[g] - mean);
    if (groups >= PLACEMENTS_DRAWN) {
        half = quantile_student(level, groups - 1) * sqrt(square / (groups - 1) / groups);
        e->low = fmin(e->low, mean - half);
        e->high = fmax(e->high, mean + half);
    }
    for (int g = 0; g < groups && groups < PLACEMENTS_DRAWN; g++) {
        e->low = fmin(e->low, medians[g]);
        e->high = fmax(e->high, medians[g]);
    }
}

struct estimate estimate_median_grouped(const double *samples, const int *placement, int count, int family)
{
    struct estimate e = {.median = NAN, .low = NAN, .high = NAN, .p05 = NAN, .p95 = NAN};
    size_t room = count > 0 ? (size_t)count : 1;
    SCOPED double *series = xcalloc(room, sizeof *series), *sorted = xcalloc(room, sizeof *sorted);
    SCOPED int *where = placement ? xcalloc(room, sizeof *where) : NULL;
    for (int i = 0; i < count; i++) {
        if (!isfinite(samples[i]))
            continue;
        if (where)
            where[e.count] = placement[i];
        series[e.count++] = samples[i];
    }
    if (e.count > 0) {
        double level = LEVEL / (family > 1 ? family : 1);
        memcpy(sorted, series, (size_t)e.count * sizeof *sorted);
        e.median = quantile_median(sorted, e.count);
        e.p05 = quantile_sorted(sorted, e.count, 0.05);
        e.p95 = quantile_sorted(sorted, e.count, 0.95);
        serial_interval(&e, series, sorted, level);
        if (where && e.count >= FEWEST)
            span_placements(&e, series, where, level);
    }
    return e;
}

struct estimate estimate_ratio_grouped(const double *a, const double *b, const int *placement, int count, int family)
{
    SCOPED double *ratio = xcalloc(count > 0 ? (size_t)count : 1, sizeof *ratio);
    for (int i = 0; i < count; i++)
        ratio[i] = a[i] / b[i];
    return estimate_median_grouped(ratio, placement, count, family);
}

struct estimate estimate_median(const double *samples, int count)
{
    return estimate_median_grouped(samples, NULL, count, 1);
}

void estimate_span_step(struct estimate *e, const double *samples, int count, double least)
{
    double *sorted = xcalloc(count > 0 ? (size_t)count : 1, sizeof *sorted), step = INFINITY;
    int n = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(samples[i]))
            sorted[n++] = samples[i];
    qsort(sorted, (size_t)n, sizeof *sorted, order_doubles);
    for (int i = 1; i < n; i++)
        if (sorted[i] - sorted[i - 1] > least)
            step = fmin(step, sorted[i] - sorted[i - 1]);
    if (isfinite(step)) {
        e->low = fmin(e->low, e->median - step / 2);
        e->high = fmax(e->high, e->median + step / 2);
    }
    free(sorted);
}

double estimate_half_width(const struct estimate *e)
{
    if (e->count < 2 || !(e->median != 0))
        return INFINITY;
    double width = (e->high - e->low) / 2 / fabs(e->median);
    return isfinite(width) ? width : INFINITY;
}
