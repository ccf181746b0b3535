/* base/stats/dependence: how much less rounds that follow each other say than as many independent ones.
 *
 * Clocks sag and states stick. The share is the greater of two estimates: the mean square of the series' lowest cosine frequencies
 * (equal-weighted cosines: Mueller, J. Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, J. Business & Economic Statistics 36,
 * 2018) with Student's quantile for their number, and an autoregression of first order of the ranks with Kendall's correction. */
#ifndef BENCH_STATISTICS_DEPENDENCE_H
#define BENCH_STATISTICS_DEPENDENCE_H

/* How many times the variance of independent samples the median (or mean) of the series has; at least 1. `cosines` frequencies are looked
 * at, half a wave to cosines/2 waves in the series: few find what is slow, many know it more closely. The share holds what an interval that
 * is to miss with probability `level` must allow for not knowing it. Fewer than 10 samples are taken to be independent: nobody could tell.
 */
double dependence_share(const double *series, int count, int cosines, double level);

#endif
