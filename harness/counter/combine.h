/* counter/combine: a metric of several launches from the metric of each. */
#pragma once

/* What combining several kernels of a row needs in addition to their metrics. */
extern const char counter_weight_time[];   /* ns of a launch */
extern const char counter_weight_active[]; /* cycles in which an average SM was active */

/* Combines a metric over several launches by its roll-up. Sums, averages, maxima and minima over units add up (a maximum gives an upper
 * bound). Rates per second or per elapsed cycle are weighted by the launches' time, rates per active cycle by their active cycles, as if
 * it had been one launch. NaN if a value or weight is absent, and for roll-ups that cannot be combined (ratio, pct, max_rate). A single
 * launch keeps its value. `stride` is the distance between the launches' values. */
double counter_combine(const char *metric, const double *values, const double *times, const double *actives, int stride, int launches);
