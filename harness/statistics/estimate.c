#include "statistics/estimate.h"
#include "base/order.h"
#include "base/text.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.05
#define FEWEST 6         /* samples of which an interval can be made */
#define FEWEST_SERIAL 10 /* samples in which dependence can be seen */
#define COSINES_MOST 8   /* the lowest frequencies in which dependence is looked for */
#define COSINES_SHORT 6  /* ... in a short series: eight reach up to where short dependence ends */
#define SHORT 60
#define RHO_MOST 0.97 /* beyond it some rounds tell nothing at all */

/* Linear interpolation between order statistics (Hyndman and Fan's type 7, as NumPy and R do by default). */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static double median_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, order_doubles);
    return quantile(values, count, 0.5);
}

/* P(|T| <= t) of Student's distribution with a whole number of degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double student_inside(double t, int freedom)
{
    double angle = atan(t / sqrt(freedom)), c = cos(angle), term = freedom & 1 ? c : 1, sum = 0;
    for (int k = freedom & 1 ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= c * c * (k - 1) / k;
    }
    return freedom & 1 ? 2 / M_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
}

/* |T| lies above it with probability `level`. */
static double student_limit(double level, int freedom)
{
    double low = 0, high = 1;
    while (1 - student_inside(high, freedom) > level && high < 1e12)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        if (1 - student_inside(mid, freedom) > level)
            low = mid;
        else
            high = mid;
    }
    return high;
}

#define NORMAL 1000 /* degrees of freedom that nobody tells from the normal distribution */

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

/* ---- how much the series depends on itself ---- */

/* Long-run variance of a series over its plain variance: the mean square of its projections on the first cosines. 1 for independent
 * samples. */
static double cosine_share(const double *score, int count, int cosines)
{
    double mean = 0, variance = 0, sum = 0;
    for (int i = 0; i < count; i++)
        mean += score[i] / count;
    for (int i = 0; i < count; i++)
        variance += (score[i] - mean) * (score[i] - mean) / count;
    for (int k = 1; k <= cosines; k++) {
        double along = 0;
        for (int i = 0; i < count; i++)
            along += (score[i] - mean) * cos(M_PI * k * (i + 0.5) / count);
        sum += 2 * along * along / count;
    }
    return variance > 0 ? sum / cosines / variance : 1;
}

/* The same for an autoregression of first order. Its coefficient is underestimated by about (1 + 3 rho) / count (Kendall, Biometrika 41,
 * 1954). */
static double autoregression_share(const double *score, int count)
{
    double mean = 0, variance = 0, next = 0;
    for (int i = 0; i < count; i++)
        mean += score[i] / count;
    for (int i = 0; i < count; i++) {
        variance += (score[i] - mean) * (score[i] - mean);
        next += i ? (score[i] - mean) * (score[i - 1] - mean) : 0;
    }
    double rho = variance > 0 ? (count * next / variance + 1) / (count - 3) : 0;
    rho = fmin(rho, RHO_MOST);
    return (1 + rho) / (1 - rho);
}

static int below(const double *sorted, int count, double value)
{
    int low = 0, high = count;
    while (low < high) {
        int mid = (low + high) / 2;
        if (sorted[mid] < value)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* By what factor the rank of the median has more variance than that of independent samples; at least 1. */
static double serial_share(const double *series, const double *sorted, int count, double level)
{
    double *side = xcalloc((size_t)count, sizeof *side), *rank = xcalloc((size_t)count, sizeof *rank);
    double median = quantile(sorted, count, 0.5), normal = student_limit(level, NORMAL);
    int most = count < SHORT ? COSINES_SHORT : COSINES_MOST, cosines = count / 2 < most ? count / 2 : most;
    for (int i = 0; i < count; i++) {
        side[i] = (series[i] > median) - (series[i] < median);
        int first = below(sorted, count, series[i]), after = below(sorted, count, nextafter(series[i], INFINITY));
        rank[i] = 0.5 * (first + after); /* the middle of equal ones */
    }
    double slow = fmax(cosine_share(side, count, cosines), cosine_share(rank, count, cosines));
    double share = fmax(slow * pow(student_limit(level, cosines) / normal, 2), autoregression_share(rank, count));
    free(side);
    free(rank);
    return fmax(share, 1);
}

/* ---- intervals ---- */

/* A place beyond the last sample, as many times as far from the median; times stay above zero. */
static double beyond(double median, double last, double times)
{
    return median > 0 && last > 0 ? median * pow(last / median, times) : median + (last - median) * times;
}

static void serial_interval(struct estimate *e, const double *series, const double *sorted, double level)
{
    int n = e->count, out = excluded_each_side(n, level);
    e->low = sorted[out > 0 ? out : 0];
    e->high = sorted[n - 1 - (out > 0 ? out : 0)];
    double share = n < FEWEST_SERIAL ? 1 : serial_share(series, sorted, n, level);
    if (n < FEWEST || (share <= 1 && out >= 0))
        return;
    double ranks = student_limit(level, NORMAL) * sqrt(n * share) / 2; /* from the median to either end */
    int left = (int)floor(n / 2. - ranks);
    if (left >= 0) {
        left = left < out ? left : out > 0 ? out : 0;
        e->low = sorted[left];
        e->high = sorted[n - 1 - left];
    } else {
        e->low = beyond(e->median, sorted[0], ranks / (n / 2.));
        e->high = beyond(e->median, sorted[n - 1], ranks / (n / 2.));
    }
}

/* Widens the interval to what the placements say. */
static void span_placements(struct estimate *e, const double *series, const int *placement, double level)
{
    int n = e->count, groups = 0;
    double *of = xcalloc((size_t)n, sizeof *of), *medians = xcalloc((size_t)n, sizeof *medians);
    bool *done = xcalloc((size_t)n, sizeof *done);
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int k = i; k < n && !done[i]; k++)
            if (placement[k] == placement[i])
                of[count++] = series[k];
        for (int k = i + 1; k < n; k++)
            done[k] |= placement[k] == placement[i];
        if (count)
            medians[groups++] = median_of(of, count);
    }
    double mean = 0, square = 0, half = 0;
    for (int g = 0; g < groups; g++)
        mean += medians[g] / groups;
    for (int g = 0; g < groups; g++)
        square += (medians[g] - mean) * (medians[g] - mean);
    if (groups >= PLACEMENTS_DRAWN) {
        half = student_limit(level, groups - 1) * sqrt(square / (groups - 1) / groups);
        e->low = fmin(e->low, mean - half);
        e->high = fmax(e->high, mean + half);
    }
    for (int g = 0; g < groups && groups < PLACEMENTS_DRAWN; g++) {
        e->low = fmin(e->low, medians[g]);
        e->high = fmax(e->high, medians[g]);
    }
    free(of);
    free(medians);
    free(done);
}

struct estimate estimate_median_grouped(const double *samples, const int *placement, int count, int family)
{
    struct estimate e = {.median = NAN, .low = NAN, .high = NAN, .p05 = NAN, .p95 = NAN};
    size_t room = count > 0 ? (size_t)count : 1;
    double *series = xcalloc(room, sizeof *series), *sorted = xcalloc(room, sizeof *sorted);
    int *where = placement ? xcalloc(room, sizeof *where) : NULL;
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
        e.median = median_of(sorted, e.count);
        e.p05 = quantile(sorted, e.count, 0.05);
        e.p95 = quantile(sorted, e.count, 0.95);
        serial_interval(&e, series, sorted, level);
        if (where && e.count >= FEWEST)
            span_placements(&e, series, where, level);
    }
    free(series);
    free(sorted);
    free(where);
    return e;
}

struct estimate estimate_ratio_grouped(const double *a, const double *b, const int *placement, int count, int family)
{
    double *ratio = xcalloc(count > 0 ? (size_t)count : 1, sizeof *ratio);
    for (int i = 0; i < count; i++)
        ratio[i] = a[i] / b[i];
    struct estimate e = estimate_median_grouped(ratio, placement, count, family);
    free(ratio);
    return e;
}

struct estimate estimate_median(const double *samples, int count)
{
    return estimate_median_grouped(samples, NULL, count, 1);
}

struct estimate estimate_ratio(const double *a, const double *b, int count)
{
    return estimate_ratio_grouped(a, b, NULL, count, 1);
}

double estimate_half_width(const struct estimate *e)
{
    if (e->count < 2 || !(e->median != 0))
        return INFINITY;
    double width = (e->high - e->low) / 2 / fabs(e->median);
    return isfinite(width) ? width : INFINITY;
}
