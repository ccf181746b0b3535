/* report/source/sketch: small pictures of one row, as SVG in the page's own colours (plot/page.css, `.sketch`): what a table would say
 * worse. Plots of many rows are gnuplot's (plot.h). Nothing is drawn of a value that is not known. */
#ifndef BENCH_REPORT_SKETCH_H
#define BENCH_REPORT_SKETCH_H

#include "base/text.h"
#include "report/view/breakdown.h"

/* Each appends one <svg> with a text alternative, or nothing where the row has nothing to draw. */
/* Registers, L1, shared memory, L2 and DRAM with the bytes between them, hit rates and wavefronts: of hardware counters, else of emu. */
void sketch_memory(struct text *t, const struct case_view *c, const struct view *v);
/* Warps an SM holds over registers, shared memory and threads a block, each with the other two as they are; the step is where it stands. */
void sketch_occupancy(struct text *t, const struct case_view *c, const struct row_step *step);
/* The row's rate over its intensity at the least traffic, at DRAM, L2 and L1, under the machine's ceilings. */
void sketch_roofline(struct text *t, const struct case_view *c, const struct view *v, const struct breakdown *a);
/* The time of every round in order, and how they are distributed. */
void sketch_rounds(struct text *t, const struct row_time *time);

#endif
