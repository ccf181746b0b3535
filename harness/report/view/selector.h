/* report/view/selector: how far the choice of a rule (a variant with `select:`) is from the fastest row of its case, over all cases of a
 * run. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* A line for each rule that was timed on two or more cases, and a line for each case where its choice is not the best; nothing without
 * times. */
void selector_document(struct document *d, const struct run *run, struct row *const *rows, int count);
