#include "measure/statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics (Hyndman and Fan's type 7, as NumPy and R do by default). */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* The number of samples below the median is binomial(count, 1/2), whatever the distribution. The interval [x(r+1), x(count-r)] misses it
 * with probability 2 P(B <= r): the largest r that keeps this within 5 % is taken (David and Nagaraja, Order Statistics, 3rd ed., section
 * 7.1). */
static int excluded_each_side(int count)
{
    double log_term = -count * log(2), sum = 0; /* log of P(B = r) */
    for (int r = 0; 2 * r < count; r++) {
        sum += exp(log_term);
        if (2 * sum > 0.05)
            return r - 1;
        log_term += log((double)(count - r) / (r + 1));
    }
    return count / 2;
}

struct estimate estimate_median(const double *samples, int count)
{
    struct estimate e = {.median = NAN, .low = NAN, .high = NAN, .p05 = NAN, .p95 = NAN};
    double *sorted = count > 0 ? malloc((size_t)count * sizeof *sorted) : NULL;
    int kept = 0;
    for (int i = 0; sorted && i < count; i++)
        if (isfinite(samples[i])) /* a lost sample is not a time */
            sorted[kept++] = samples[i];
    if (kept > 0) {
        qsort(sorted, (size_t)kept, sizeof *sorted, ascending);
        int out = excluded_each_side(kept);
        out = out < 0 ? 0 : out; /* fewer than 6: no 95 % interval exists */
        e = (struct estimate){quantile(sorted, kept, 0.5),  sorted[out], sorted[kept - 1 - out], quantile(sorted, kept, 0.05),
                              quantile(sorted, kept, 0.95), kept};
    }
    free(sorted);
    return e;
}

struct estimate estimate_ratio(const double *a, const double *b, int count)
{
    double *ratio = count > 0 ? malloc((size_t)count * sizeof *ratio) : NULL;
    for (int i = 0; ratio && i < count; i++)
        ratio[i] = a[i] / b[i];
    struct estimate e = estimate_median(ratio, ratio ? count : 0);
    free(ratio);
    return e;
}

double estimate_half_width(const struct estimate *e)
{
    if (e->count < 2 || !(e->median != 0))
        return INFINITY;
    double width = (e->high - e->low) / 2 / fabs(e->median);
    return isfinite(width) ? width : INFINITY;
}
