/* report/view/resources: what one step takes of an SM and what that allows, whole: occupancy limit by limit, spills, shared memory. From
 * stored rows; the limits are computed again from the step's facts and the chip's table, and left out where they contradict what was
 * stored. */
#ifndef BENCH_REPORT_RESOURCES_H
#define BENCH_REPORT_RESOURCES_H

#include "report/view/view.h"

/* The step with its facts; those of a library's kernel (the longest of the step) are as CUPTI saw them. False when nothing is known. */
bool resources_step(const struct case_view *c, const struct view *v, int step, struct row_step *out);
/* One sentence or several; "" where nothing is known. */
void resources_occupancy(const struct case_view *c, const struct view *v, int step, struct text *t);
void resources_spills(const struct case_view *c, const struct view *v, int step, struct text *t);
void resources_shared(const struct case_view *c, const struct view *v, int step, struct text *t);

#endif
