/* base/stats/estimate: medians and paired ratios with intervals that hold for what rounds on a GPU are: samples that follow each other, on
 * the placements of buffers that were seen, of several rows at once.
 *
 * The interval is made of order statistics, so that no distribution is assumed, as far out as the dependence of the rounds asks for
 * (base/stats/dependence). tests/unit/test_coverage.c simulates what the intervals hold, and how much wider they are for it. */
#ifndef BENCH_STATISTICS_ESTIMATE_H
#define BENCH_STATISTICS_ESTIMATE_H

struct estimate { /* of a median: 95 % interval; count 0: nothing known */
    double median, low, high;
    double p05, p95;
    int count; /* samples that are numbers: a lost one is not a time */
};
/* Samples in the order in which they were taken. Fewer than 6: low, high = min, max. Fewer than 10 are
 * taken to be independent: nobody could tell. Where even the extremes of a series that sticks make no
 * 95 % interval, the ends lie outside of what was seen. */
struct estimate estimate_median(const double *samples, int count);

/* Of times by a clock that counts in steps: no interval is narrower than the smallest step between two samples that differ by more than
 * `least`, for every time within half a step shows as the same one. */
void estimate_span_step(struct estimate *e, const double *samples, int count, double least);

/* The same over several placements of the buffers. placement: which one each sample was taken on (any numbers; NULL: one and the same);
 * from PLACEMENTS_DRAWN on they count as drawn from many, and the interval is one for the mean over those (Student's, of the medians of
 * each); fewer are all that there is, and the interval spans the medians of all. family: how many intervals are to hold together in 95 of
 * 100 cases, such as the ratios of all rows of a case; each is then as wide as one of 1 - 0.05/family (Bonferroni). */
#define PLACEMENTS_DRAWN 4
struct estimate estimate_median_grouped(const double *samples, const int *placement, int count, int family);
/* Of the paired ratios a[i]/b[i]. */
struct estimate estimate_ratio_grouped(const double *a, const double *b, const int *placement, int count, int family);

/* Half width / median; infinity when not known. */
double estimate_half_width(const struct estimate *e);

#endif
