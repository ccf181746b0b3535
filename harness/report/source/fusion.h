/* report/source/fusion: how much fusing launches saves, step by step along `from:`, and up to which length of a chain one more fused stage
 * costs nothing.
 */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* "fusing stages/backwards: apart 78.0 us, 30 launches; horizontal 19.4 us, 6 launches; ...": from the fastest row (without times: the one
 * that moves the fewest bytes) to the row from which it was derived; nothing unless that has more launches. */
void fusion_steps(const struct case_view *c, struct block *list);
/* All rows of such a case: launches, traffic over the minimum, registers, spills, stack, code size, the first call. */
void fusion_table(struct document *d, const struct case_view *c);
/* For each numeric axis of a layer whose baseline needs several launches, for the fastest single-launch row: up to which value its time
 * stays at the minimum, the cost of one more beyond it and the bottleneck there, and the cost of one more for the baseline. */
void fusion_document(struct document *d, const struct run *run, struct row *const *rows, int count);

/* Those of one axis (NULL: of each). */
void fusion_knees(struct block *list, const struct run *run, struct row *const *rows, int count, const struct judge *judge,
                  const char *axis);
