/* report/source/fusion: what it saves to do in fewer launches what another row does in more, step by step along `from:`, and up to which
 * length of a chain a stage more costs nothing. */
#ifndef BENCH_REPORT_FUSION_H
#define BENCH_REPORT_FUSION_H

#include "report/form/document.h"
#include "report/view/view.h"

/* "fusing  stages/backwards: apart 78.0 us, 30 launches; horizontal 19.4 us, 6 launches; ...". From the fastest row (without a time: the
 * one that moves least) to the one it grew out of; nothing unless those have more launches. */
void fusion_steps(const struct case_view *c, struct block *list);
/* Of such a case all rows: launches, traffic over the least possible, registers, spills, stack, code, the first call. */
void fusion_table(struct document *d, const struct case_view *c);
/* For each numeric axis of a layer whose baseline takes several launches, of the fastest row that takes one: the value up to which its time
 * stays that of the least, what one more costs behind it and its bottleneck there, and what one more costs the baseline. */
void fusion_document(struct document *d, const struct run *run, struct row *const *rows, int count);

#endif
