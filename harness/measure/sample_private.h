/* measure/sample, between its files. */
#ifndef BENCH_MEASURE_SAMPLE_PRIVATE_H
#define BENCH_MEASURE_SAMPLE_PRIVATE_H

#include "measure/sample.h"

struct timer { /* two events of a device */
    struct device *dev;
    struct device_event *from, *to;
};
bool timer_open(struct timer *timer, struct device *dev, struct error *err);
void timer_close(struct timer *timer);
/* The GPU waits, and its clock comes back. */
bool sample_rest(struct device *dev, long ns, struct error *err);
/* Sorts them; NAN of none. */
double sample_median(double *values, int count);

#endif
