/* report/view/summary: the lines about a whole run, shared by the terminal, Markdown and the page. */
#pragma once

#include "report/view/view.h"

/* "594 rows: 349 verified, 63 wrong (1 configuration), 182 infeasible, 0 without a reason"; of a run that was interrupted "6 of 594 rows".
 */
void summary_counts(struct text *t, const struct run *run, struct row *const *rows, int count);
