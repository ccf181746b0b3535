/* report/source/sketch: small pictures of one row, as SVG in the page's colours (plot/page.css, `.sketch`). Plots of many rows are
 * gnuplot's (plot.h). Unknown values are not drawn. */
#pragma once

#include "base/text.h"
#include "report/view/breakdown.h"

/* Each appends one <svg> with a text alternative, or nothing if there is nothing to draw. */
/* Registers, L1, shared memory, L2 and DRAM with the bytes between them, hit rates and wavefronts: of hardware counters, else of emu. */
void sketch_memory(struct text *t, const struct case_view *c, const struct view *v);
/* Warps per SM over registers, shared memory and threads per block, each with the other two fixed; the step is marked. */
void sketch_occupancy(struct text *t, const struct case_view *c, const struct row_step *step);
/* The row's rate over its intensity for the minimum traffic and for DRAM, L2 and L1, under the machine's ceilings. */
void sketch_roofline(struct text *t, const struct case_view *c, const struct view *v, const struct breakdown *a);
/* The time of every round in order, and how they are distributed. */
void sketch_rounds(struct text *t, const struct row_time *time);
