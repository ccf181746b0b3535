/* report/view/tune: what a search found: a table for each variant that was searched, a line a layer with the library's time, that of the
 * one configuration that serves all layers best, and that of the layer's own best configuration; then their sums. Nothing when the run was
 * no search. */
#ifndef BENCH_REPORT_TUNE_H
#define BENCH_REPORT_TUNE_H

#include "report/form/document.h"
#include "report/view/view.h"

void tune_document(struct document *d, const struct run *run, struct row *const *rows, int count);

#endif
