/* base/stats/between: how much the time of one kernel differs between two processes on one GPU with nothing changed; intervals within a
 * process do not cover this. */
#pragma once

/* The share of the shorter time (both in nanoseconds) by which two processes may differ: the larger of 1.5 % (placement and heat) and
 * 0.22 us (a launch differs in each CUDA context; docs/METHOD.md, "Between processes"). */
double between_processes(double ns, double other_ns);
