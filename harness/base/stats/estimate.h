/* base/stats/estimate: medians and paired ratios with intervals that are valid for rounds on a GPU: dependent samples, over several
 * placements of the buffers, for several rows at once.
 *
 * The intervals use order statistics, so no distribution is assumed, as far out as the dependence of the rounds requires
 * (base/stats/dependence). tests/unit/test_coverage.c simulates their coverage and their width. */
#pragma once

struct estimate { /* of a median: 95 % interval; count 0: nothing known */
    double median, low, high;
    double p05, p95;
    int count; /* samples that are numbers: a lost one is not a time */
};
/* Samples in the order in which they were taken. Fewer than 6: low, high = min, max. Fewer than 10 are assumed to be independent, since
 * dependence cannot be estimated. If even the extremes of a strongly dependent series do not make a 95 % interval, its ends are outside
 * of the observed values. */
struct estimate estimate_median(const double *samples, int count);

/* For a clock with a resolution: no interval is narrower than the smallest step between two samples that differ by more than `least`,
 * since all times within half a step read the same. */
void estimate_span_step(struct estimate *e, const double *samples, int count, double least);

/* The same over several placements of the buffers. placement: the placement of each sample (any numbers; NULL: a single one). From
 * PLACEMENTS_DRAWN on, placements count as a random sample, and the interval is for the mean over all placements (Student's, from the
 * medians of each). Fewer are treated as all that exist, and the interval spans their medians. family: how many intervals must hold
 * together in 95 of 100 cases, such as the ratios of all rows of a case; each then has the level 1 - 0.05/family (Bonferroni). */
#define PLACEMENTS_DRAWN 4
struct estimate estimate_median_grouped(const double *samples, const int *placement, int count, int family);
/* Of the paired ratios a[i]/b[i]. */
struct estimate estimate_ratio_grouped(const double *a, const double *b, const int *placement, int count, int family);

/* Half width / median; infinity when not known. */
double estimate_half_width(const struct estimate *e);
