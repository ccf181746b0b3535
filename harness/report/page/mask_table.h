/* report/page/mask_table: one table per layer: the time of every variant on every mask, side by side. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* For each layer with two or more timed masks, a table under what its cases have in common ("us by mask: f16, c=64, f16 f16_acc32"):
 * mask, % of inputs and outputs active, then each variant's time in us, the fastest bold. Masks that bisection added are marked and have
 * half-intervals. */
void mask_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* Was the case added by bisection, with all rows that can run verified, timed and in the table? Then it needs no section. */
bool mask_table_holds(const struct case_view *c);
