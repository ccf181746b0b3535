/* report/view/kept: makes a case's view, or lends the one that its page has; for view.c and verdict.c. */
#pragma once

#include "report/view/view.h"

/* As case_view_make, but never lent. */
void case_view_new(struct case_view *c, const struct run *run, struct row *const *rows, int count);
/* False: there is none to lend. */
bool case_view_lend(struct case_view *c, const struct run *run, struct row *const *rows, int count);
bool case_judged_lend(struct case_view *c, const struct judge *judge);
