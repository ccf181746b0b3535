/* measure/verify/prefetch_data: makes data of later cases while compilers work and the device is idle. */
#ifndef BENCH_MEASURE_VERIFY_PREFETCH_DATA_H
#define BENCH_MEASURE_VERIFY_PREFETCH_DATA_H

#include "measure/verify/data.h"

/* Makes data of the cases of these rows, of which each is the first of its case, until another command arrives. */
void prefetch_data(struct data_store *d, const int *rows, int count);

#endif
