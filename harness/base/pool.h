/* base/pool: parallel loops over a fixed number of threads. */
#ifndef BENCH_BASE_POOL_H
#define BENCH_BASE_POOL_H

#include <stdint.h>

#define POOL_THREADS_MOST 1024
/* Threads to use when nobody says: $BENCH_THREADS, else the CPUs this process may run on (sched_getaffinity). */
int pool_threads(void);
/* As many of them as have `each` items to do; at least 1. To start one takes some 50 us. */
int pool_threads_for(int64_t items, int64_t each);
/* Calls body(context, i, thread) for i in [0, count), in blocks handed out dynamically, on `threads` threads (0 = pool_threads()). Returns
 * when all are done. Called from such a body it has that body's thread alone. */
void pool_for(int64_t count, int threads, void (*body)(void *context, int64_t index, int thread), void *context);

#endif
