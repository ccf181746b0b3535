/* report/summary: the lines about a whole run, shared by the terminal, Markdown and the page. */
#ifndef BENCH_REPORT_SUMMARY_H
#define BENCH_REPORT_SUMMARY_H

#include "report/view.h"

/* "594 rows: 349 verified, 63 wrong (1 point), 182 infeasible, 0 without a reason". */
void summary_counts(struct text *t, struct row *const *rows, int count);

#endif
