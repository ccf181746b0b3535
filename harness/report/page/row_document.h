/* report/page/row_document: all that is said of one row, in blocks: its page inside of the page. */
#ifndef BENCH_REPORT_ROW_DOCUMENT_H
#define BENCH_REPORT_ROW_DOCUMENT_H

#include "report/form/document.h"
#include "report/view/view.h"

/* A fold that links name by the row's id: verdict, speed of light, where its time goes beside the fastest's, memory, occupancy, what warps
 * wait for, roofline, instructions, source lines, rounds; of a row that was not run the reason. `brief`: the verdict alone, for a run of so
 * many rows that a page could not hold them. */
void row_document(struct document *d, const struct case_view *c, const struct view *v, bool brief);
/* What links to the row's page name; of rows of two sides too. The caller frees it. */
char *row_anchor(const struct row *row);

/* row_units.c: each kind of access at each level of memory; what an average scheduler had; how busy each pipe was. Nothing of what was not
 * counted. */
void row_levels(struct document *d, const struct case_view *c, const struct view *v);
void row_schedulers(struct document *d, const struct case_view *c, const struct view *v);
void row_pipes(struct document *d, const struct view *v);

/* The source lines that take most, what they do and what the compiler made of them (row_source.c); nothing without counts or samples by
 * line. Brief and whole are for forms that are read at once. */
enum source_extent { SOURCE_BRIEF, SOURCE_PAGE, SOURCE_WHOLE };
void row_source(struct document *d, const struct case_view *c, const struct view *v, enum source_extent extent);

#endif
