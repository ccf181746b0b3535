/* base/stats/between: how much the time of one kernel differs between two processes on one GPU with nothing changed; intervals within a
 * process do not cover this. */
#ifndef BENCH_STATISTICS_BETWEEN_H
#define BENCH_STATISTICS_BETWEEN_H

/* The larger of two shares of the shorter time, in nanoseconds both: what placement and heat make, 1.5 %, and what a launch takes longer or
 * shorter in each CUDA context, 0.22 us (docs/METHOD.md, "Between processes"). */
double between_processes(double ns, double other_ns);

#endif
