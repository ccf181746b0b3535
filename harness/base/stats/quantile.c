#include "base/stats/quantile.h"
#include "base/order.h"
#include <math.h>
#include <stdlib.h>

double quantile_sorted(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

double quantile_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, order_doubles);
    return quantile_sorted(values, count, 0.5);
}

/* P(|T| <= t) for a whole number of degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double student_inside(double t, int freedom)
{
    if (freedom >= QUANTILE_NORMAL)
        return erf(t / sqrt(2));
    double angle = atan(t / sqrt(freedom)), c = cos(angle), term = freedom & 1 ? c : 1, sum = 0;
    for (int k = freedom & 1 ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= c * c * (k - 1) / k;
    }
    return freedom & 1 ? 2 / M_PI * (angle + sin(angle) * sum) : sin(angle) * sum;
}

double quantile_student_outside(double t, int freedom)
{
    return fmax(0, 1 - student_inside(t, freedom));
}

double quantile_student(double level, int freedom)
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
