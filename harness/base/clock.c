#include "base/clock.h"
#include <sys/prctl.h>
#include <time.h>

double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double clock_thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void clock_rest(long ns)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* Linux otherwise adds up to 50 us, so that it wakes for several timers at once */
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}
