/* report/view/claims: checks the heads' claims to be at par with the library (`claims:`). */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

#define PAR 0.10 /* docs/reference/reports.md, "Claims": at par means at most this much slower than the library */

/* The row's time over the library's, for a row that claims its case and is not at par; 0: the claim holds, or there is no claim, time or
 * library. */
double claim_excess(const struct case_view *c, const struct view *v);
/* One line on all timed rows that claim their case, and one for each broken claim; nothing without claims. */
void claims_document(struct document *d, const struct run *run, struct row *const *rows, int count);
