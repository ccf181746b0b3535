/* report/view/counter_list: everything that CUPTI reported for a row: its kernels, then every counter by group. */
#pragma once

#include "report/report.h"

/* The kernels of one run, one a line: step, time, gap, registers, shared memory, grid, block, name. Nothing without them. */
void report_kernels(struct text *t, const struct row *row);
/* The source lines with most warp samples, and their stall reasons. Nothing without samples (--source). */
void report_samples(struct text *t, const struct row *row);
