/* report/source/listing: long lists of one row: every counter with its meaning, and the machine code by class. */
#pragma once

#include "report/report.h"

/* Counters by group, each value once; then those without a group. "" if the row has none. */
void listing_counters(struct text *t, const struct row *row, const struct report_style *style);
/* Machine instructions by class of every kernel step (static counts). */
void listing_code(struct text *t, const struct row *row, const struct report_style *style);
