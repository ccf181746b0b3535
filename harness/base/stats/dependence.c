#include "base/stats/dependence.h"
#include "base/text.h"
#include "base/stats/quantile.h"
#include <math.h>
#include <string.h>

#define FEWEST 10     /* samples in which dependence can be seen */
#define RHO_MOST 0.97 /* beyond this, some rounds carry no information */

/* To a mean of 0; its variance. */
static double centred(double *score, int count)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < count; i++)
        mean += score[i] / count;
    for (int i = 0; i < count; i++) {
        score[i] -= mean;
        variance += score[i] * score[i] / count;
    }
    return variance;
}

/* Long-run variance of a centred series over its plain variance. */
static double cosine_share(const double *score, double variance, int count, int cosines)
{
    double sum = 0;
    for (int k = 1; k <= cosines; k++) {
        double along = 0, now = cos(M_PI * k * 0.5 / count), before = now, twice = 2 * cos(M_PI * k / count);
        for (int i = 0; i < count; i++) { /* now = cos(pi k (i + 1/2) / count); the one before the first is the same */
            along += score[i] * now;
            double next = twice * now - before;
            before = now;
            now = next;
        }
        sum += 2 * along * along / count;
    }
    return variance > 0 ? sum / cosines / variance : 1;
}

/* The same for an autoregression of first order. Its coefficient is underestimated by about (1 + 3 rho) / count (Kendall, Biometrika 41,
 * 1954). */
static double autoregression_share(const double *score, double variance, int count)
{
    double next = 0;
    for (int i = 1; i < count; i++)
        next += score[i] * score[i - 1];
    double rho = variance > 0 ? (next / variance + 1) / (count - 3) : 0;
    rho = fmin(rho, RHO_MOST);
    return (1 + rho) / (1 - rho);
}

/* How many of the sorted values are below it. */
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

double dependence_share(const double *series, int count, int cosines, double level)
{
    if (count < FEWEST)
        return 1;
    cosines = count / 2 < cosines ? count / 2 : cosines;
    SCOPED double *sorted = xcalloc((size_t)count, sizeof *sorted), *side = xcalloc((size_t)count, sizeof *side),
                  *rank = xcalloc((size_t)count, sizeof *rank);
    memcpy(sorted, series, (size_t)count * sizeof *sorted);
    double median = quantile_median(sorted, count);
    for (int i = 0; i < count; i++) {
        int first = below(sorted, count, series[i]), after = below(sorted, count, nextafter(series[i], INFINITY));
        side[i] = (series[i] > median) - (series[i] < median);
        rank[i] = 0.5 * (first + after); /* the middle of equal ones */
    }
    double of_side = centred(side, count), of_rank = centred(rank, count);
    double slow = fmax(cosine_share(side, of_side, count, cosines), cosine_share(rank, of_rank, count, cosines));
    slow *= pow(quantile_student(level, cosines) / quantile_student(level, QUANTILE_NORMAL), 2);
    double share = fmax(slow, autoregression_share(rank, of_rank, count));
    return fmax(share, 1);
}
