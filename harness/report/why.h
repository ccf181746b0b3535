/* report/why: everything that explains one row, in words. */
#ifndef BENCH_REPORT_WHY_H
#define BENCH_REPORT_WHY_H

#include "report/view.h"

/* rows: those of a run, in order; `index` the row among them. */
void report_why(struct text *t, const struct run *run, struct row *const *rows, int count, int index, const struct report_style *style);
/* The same of a row of a judged case, in blocks. */
struct document;
void why_document(struct document *d, const struct case_view *c, const struct view *v);
/* The row that the words mean (base/named.h). */
int why_find(struct row *const *rows, int count, const char *words, struct error *err);

#endif
