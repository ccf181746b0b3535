/* counter/combine: a metric of several launches from the metric of each. */
#ifndef BENCH_COUNTER_COMBINE_H
#define BENCH_COUNTER_COMBINE_H

/* What a row of several kernels needs beside its own metrics. */
extern const char counter_weight_time[];   /* ns of a launch */
extern const char counter_weight_active[]; /* cycles in which an average SM was active */

/* By the metric's roll-up: sums, averages, maxima and minima over the units of the chip add up (a total over all launches; of a maximum an
 * upper bound); what is per second or per elapsed cycle is weighted by the launches' time, what is per active cycle by their active cycles:
 * count over cycles, as if it had been one launch. NaN when a value or a weight is absent, and for roll-ups that say nothing about the sum
 * (ratio, pct, max_rate). One launch keeps its value whatever it is. `stride` is the distance from one launch's value to the next's. */
double counter_combine(const char *metric, const double *values, const double *times, const double *actives, int stride, int launches);

#endif
