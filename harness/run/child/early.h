/* run/child/early: makes data of later cases while compilers work and the device is idle. */
#ifndef BENCH_WORKER_EARLY_H
#define BENCH_WORKER_EARLY_H

#include "run/child/data.h"

/* Of the cases of these rows, each the first of its case, until another command arrives. */
void prefetch_data(struct data_store *d, const int *rows, int count);

#endif
