/* report/mask_table: one table a layer of what every variant takes on every mask, side by side. */
#ifndef BENCH_REPORT_MASK_TABLE_H
#define BENCH_REPORT_MASK_TABLE_H

#include "report/document.h"
#include "report/view.h"

struct mask_table {
    char *title;         /* "f16, c=64, f16 f16_acc32": what its cases share */
    struct table *table; /* mask, inputs and outputs active in %, then the time of each variant in us; the fastest of a mask is bold */
};
/* Layers with two timed masks or more. Their count. */
int mask_tables_make(struct mask_table **out, const struct run *run, struct row *const *rows, int count);
void mask_tables_free(struct mask_table *tables, int count);

#endif
