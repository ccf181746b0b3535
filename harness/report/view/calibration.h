/* report/view/calibration: emu's counters next to the hardware's, row by row, and which pairs have a constant ratio. */
#pragma once

#include "report/report.h"

/* Markdown: a line for each pair of counter/pairs.h over all rows that both runs verified and counted, then every row; rows match by id.
 * False: no pair was counted in both runs (err names the metrics to ask for). */
bool report_calibration(struct text *t, const struct run *emu, struct row *const *emu_rows, int emu_count, const struct run *cuda,
                        struct row *const *cuda_rows, int cuda_count, struct error *err);
/* The pairs as a table: docs/reference/columns.md contains it. */
void report_pairs(struct text *t);
/* Every metric of the pairs, comma-separated: for bench run --metrics. */
void report_pair_metrics(struct text *t);
