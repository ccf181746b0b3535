/* report/page/mask_table: one table per layer: the time of every variant on every mask, side by side. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* Makes a table for each layer with two or more timed masks. Its title lists what the cases share ("us by mask: f16, c=64, f16
 * f16_acc32"). Its columns are the mask, the % of active inputs and outputs, and the time of each variant in us. The fastest time is
 * bold. Masks that bisection added are marked and have half-intervals. */
void mask_document(struct document *d, const struct run *run, struct row *const *rows, int count);
/* Was the case added by bisection, with all rows that can run verified, timed and in the table? Then it needs no section. */
bool mask_table_holds(const struct case_view *c);
