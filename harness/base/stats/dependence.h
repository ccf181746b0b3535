/* base/stats/dependence: how much less information consecutive rounds carry than as many independent ones.
 *
 * Clocks drift and states persist. The share is the larger of two estimates: the mean square of the series' lowest cosine frequencies
 * (equal-weighted cosines: Mueller, J. Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, J. Business & Economic Statistics 36,
 * 2018) with Student's quantile for their number, and a first-order autoregression of the ranks with Kendall's correction. */
#pragma once

/* The variance of the median (or mean) of the series over that of independent samples; at least 1. Uses `cosines` frequencies, half a
 * wave to cosines/2 waves in the series: few find slow dependence, many estimate it more precisely. Includes the uncertainty of the
 * estimate, for an interval that misses with probability `level`. Fewer than 10 samples are assumed to be independent. */
double dependence_share(const double *series, int count, int cosines, double level);
