/* report/listing: the long lists of one row: every counter with what it means, and every source line with what it did (on emu). */
#ifndef BENCH_REPORT_LISTING_H
#define BENCH_REPORT_LISTING_H

#include "report/report.h"

/* Counters by group, each value of a group once; then those that belong to no group. "" when the row has none. */
void listing_counters(struct text *t, const struct row *row, const struct report_style *style);
/* The source of every kernel step that has counts by line: line, instructions, sectors, wavefronts, the text. "" when nothing is counted by
 * line. A file that is not here any more, or that changed, is said; the numbers are printed all the same. */
void listing_lines(struct text *t, const struct row *row, const struct report_style *style);
/* Machine instructions by class of every kernel step (static counts). */
void listing_code(struct text *t, const struct row *row, const struct report_style *style);

#endif
