/* report/view/resources: the resources of one step and the occupancy that they allow: limit by limit, spills, shared memory. Recomputed
 * from stored facts and the chip table, and left out if the result contradicts the stored one. */
#pragma once

#include "report/view/view.h"

/* The step with its facts; for a library's step, those of its longest kernel, as CUPTI saw them. False: nothing is known. */
bool resources_step(const struct case_view *c, const struct view *v, int step, struct row_step *out);
/* One or more sentences; "" if nothing is known. */
void resources_occupancy(const struct case_view *c, const struct view *v, int step, struct text *t);
void resources_spills(const struct case_view *c, const struct view *v, int step, struct text *t);
void resources_shared(const struct case_view *c, const struct view *v, int step, struct text *t);
