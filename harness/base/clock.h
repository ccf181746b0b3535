/* base/clock: time that passes, for limits, budgets and progress; kernels are timed by events. */
#pragma once

/* Seconds on CLOCK_MONOTONIC. */
double clock_s(void);
/* CPU seconds of this thread: independent of other work on the machine. A system call. */
double clock_thread_s(void);
/* Lets so much time pass. */
void clock_rest(long ns);
