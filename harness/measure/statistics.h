/* measure/statistics: medians, their intervals, paired ratios, noise. */
#ifndef BENCH_MEASURE_STATISTICS_H
#define BENCH_MEASURE_STATISTICS_H

#include <stddef.h>

struct estimate { /* of a median: 95 % interval; count 0 = nothing known */
    double median, low, high;
    double p05, p95;
    int count;
};
/* Distribution-free: the interval is made of order statistics (binomial), so no normality is assumed. Fewer than 6 samples: low, high =
 * min, max. */
struct estimate estimate_median(const double *samples, int count);
/* Of the paired ratios a[i]/b[i]. */
struct estimate estimate_ratio(const double *a, const double *b, int count);
/* Half width / median; infinity when not known. */
double estimate_half_width(const struct estimate *e);

#endif
