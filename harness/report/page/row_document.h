/* report/page/row_document: one row, in blocks: its own page inside the page. */
#pragma once

#include "report/form/document.h"
#include "report/view/view.h"

/* A fold with the row's anchor: verdict, speed of light, time breakdown next to the fastest row's, memory, occupancy, warp states,
 * roofline, instructions, source lines, rounds; for a row that did not run, the reason. `brief`: only the verdict, for runs with too many
 * rows for a page. */
void row_document(struct document *d, const struct case_view *c, const struct view *v, bool brief);
/* What links to the row's page name; of rows of two sides too. The caller frees it. */
char *row_anchor(const struct row *row);

/* row_units.c: each kind of access at each level of memory; an average scheduler; how busy each pipe was. Only what was counted. */
void row_levels(struct document *d, const struct case_view *c, const struct view *v);
void row_schedulers(struct document *d, const struct case_view *c, const struct view *v);
void row_pipes(struct document *d, const struct view *v);

/* The source lines that cost most, what they do and their machine code (row_source.c); nothing without counts or samples by line. */
enum source_extent { SOURCE_BRIEF, SOURCE_PAGE, SOURCE_WHOLE };
void row_source(struct document *d, const struct case_view *c, const struct view *v, enum source_extent extent);
