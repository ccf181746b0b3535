/* report/view/claims: is it so where a head says that its variant is at par with the library (`claims:`)? */
#ifndef BENCH_REPORT_CLAIMS_H
#define BENCH_REPORT_CLAIMS_H

#include "report/form/document.h"
#include "report/view/view.h"

#define PAR 0.10 /* docs/reference/reports.md, "Claims": at most this much slower than the library is at par */

/* How many times the library's time a row takes that claims its case and is not at par; 0: the claim holds, or there is none, no time or no
 * library. */
double claim_excess(const struct case_view *c, const struct view *v);
/* One line on all timed rows that claim their case, and one for each whose claim is broken; nothing where none claims. */
void claims_document(struct document *d, const struct run *run, struct row *const *rows, int count);

#endif
