/* report/page/mask_table: one table a layer of what every variant takes on every mask, side by side. */
#ifndef BENCH_REPORT_MASK_TABLE_H
#define BENCH_REPORT_MASK_TABLE_H

#include "report/form/document.h"
#include "report/view/view.h"

/* Of each layer with two timed masks or more a table under what its cases share ("us by mask: f16, c=64, f16 f16_acc32"): mask, inputs and
 * outputs active in %, then the time of each variant in us; the fastest of a mask is bold. A mask that bisection added says so, and has
 * half of its times' intervals. */
void mask_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* Was the case added by bisection, and stand all of its rows that can run in the table, right and timed? Then it needs no chapter. */
bool mask_table_holds(const struct case_view *c);

#endif
