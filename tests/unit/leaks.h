/* Memory that a test leaves to the end of its process. */
#ifndef BENCH_TESTS_UNIT_LEAKS_H
#define BENCH_TESTS_UNIT_LEAKS_H

#include <stdbool.h>

/* A worker that fails ends, and with it what it holds: nothing is given back one by one. Only a sanitised build has these. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static inline void leaks_are_looked_for(bool on)
{
    if (on && __lsan_enable)
        __lsan_enable();
    else if (!on && __lsan_disable)
        __lsan_disable();
}

#endif
