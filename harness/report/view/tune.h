/* report/view/tune: the result of a search: a table per searched variant, a line per layer with the library's time, that of the best
 * single configuration and that of the layer's best one; then their sums. Nothing for other runs. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

void tune_document(struct document *d, const struct run *run, struct row *const *rows, int count);
