/* report/page/places: a run of several GPUs or hosts: what each of them is, and where their values differ. */
#ifndef BENCH_REPORT_PLACES_H
#define BENCH_REPORT_PLACES_H

#include "report/form/document.h"

/* Nothing if all rows have one place. */
void places_document(struct document *d, const struct run *run, struct row *const *rows, int count);

#endif
