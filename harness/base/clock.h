/* base/clock: time that passes, for limits, budgets and progress; kernels are timed by events. */
#ifndef BENCH_BASE_CLOCK_H
#define BENCH_BASE_CLOCK_H

/* Seconds on CLOCK_MONOTONIC. */
double clock_s(void);

#endif
