/* measure/verify/prefetch_data: makes data of later cases while compilers work and the device is idle. */
#pragma once

#include "measure/verify/data.h"

/* Makes the data of these rows' cases, until another command arrives. Each row must be the first of its case. */
void prefetch_data(struct data_store *d, const int *rows, int count);
