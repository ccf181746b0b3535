/* base/pool: parallel loops over a fixed number of threads. */
#pragma once

#include <stdint.h>

#define POOL_THREADS_MOST 1024
/* The default number of threads: $BENCH_THREADS, else the CPUs that this process may use (sched_getaffinity). */
int pool_threads(void);
/* As many threads as have `each` items to do; at least 1. Starting one takes about 50 us. */
int pool_threads_for(int64_t items, int64_t each);
/* Calls body(context, i, thread) for i in [0, count), in dynamically assigned blocks, on `threads` threads (0: pool_threads()). Returns
 * when all are done. A nested call runs on its caller's thread alone. */
void pool_for(int64_t count, int threads, void (*body)(void *context, int64_t index, int thread), void *context);
