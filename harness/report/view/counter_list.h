/* report/view/counter_list: everything CUPTI said of a row: its kernels, then every counter, by group as far as the groups have them. */
#ifndef BENCH_REPORT_COUNTER_LIST_H
#define BENCH_REPORT_COUNTER_LIST_H

#include "report/report.h"

/* The kernels of one run, one a line: step, time, gap, registers, shared memory, grid, block, name. Nothing without them. */
void report_kernels(struct text *t, const struct row *row);
/* The source lines that most samples of the warps fall on, with the reasons they wait for. Nothing without samples (--source). */
void report_samples(struct text *t, const struct row *row);

#endif
