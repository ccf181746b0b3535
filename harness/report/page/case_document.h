/* report/page/case_document: one case, in blocks. */
#pragma once

#include "counter/group.h"
#include "report/form/document.h"
#include "report/plot/plot.h"
#include "report/view/view.h"

/* Heading, conditions, table, figures (plots may be NULL), notes, and for forms that show everything: why, every step, every counter. */
void case_document(struct document *d, const struct case_view *c, const struct plots *plots);

/* For a page with so many rows that a row's page is its verdict alone: what holds for all cases, before the first one. */
void case_document_common(struct document *d, const struct case_view *first);
/* A case that bisection added, on a terminal: heading and table. */
void case_document_short(struct document *d, const struct case_view *c);

/* ---- its parts ---- */

/* Options of the command that made the run which another command needs to find the same rows: its variants and device, its folder.
 */
void case_options(struct text *t, const struct run *run, bool variants, bool out);

struct table *case_table(const struct case_view *c);
/* Adds a column for a value of a counter group, under its `head`. */
void case_column(struct table *t, const struct counter_place *p, enum detail detail);
/* What limits each row, by hardware counters: the values of counter groups that have a `head`. */
void case_limits(struct document *d, const struct case_view *c, bool folded);
/* Every counter and metric, in the sections of the counter groups. */
void case_counters(struct document *d, const struct case_view *c);
/* "H200 · nvrtc 13.0.88 sm_90a · isolated, cold · 42 rounds · A/A ±0.31 %" / "emu ... no time and no ranking"; `machine`: includes what is
 * common to the whole run. */
void case_conditions(const struct case_view *c, bool machine, struct text *t);
/* "H200 · nvrtc 13.0.88 sm_90a". */
void case_machine(const struct case_view *c, struct text *t);
/* "67.9 GFLOP, 25 MB · floor 7.0 us (compute)". */
void case_work(const struct case_view *c, bool machine, struct text *t);
/* "tconv: 213 us whole; without store 190 (-11 %), bias 212 (-0.5 %)": an item for each row that was run without its parts. */
void case_ablations(const struct case_view *c, struct block *list);
/* Where to look first: each row's bottleneck and its estimated gain, the fastest row first; on emu first the source lines that cost most.
 * brief: no sentence twice. */
void case_why(const struct case_view *c, struct block *list, bool brief);
/* The source lines of one row that cost most, by emu's counts or the GPU's (--source). */
void case_lines(const struct case_view *c, const struct view *v, struct block *list);
/* Warnings of rows ("tconv (and 1 more): stopped at 30 rounds ..."), missing hardware counters, and rows of equal machine code whose
 * times differ by more than noise; each once. */
void case_notes(const struct case_view *c, struct block *list);
