/* store/step_facts: the facts of a launch that need no counting, by the names that counter groups use (counter_facts in counter/group.h).
 * Both the counting of a row and the reports use them. */
#pragma once

#include "store/row.h"

extern const char *const step_fact_names[]; /* ends with NULL */
/* NaN: not known. cropped: a part of the layer ran; its grid says nothing about the layer's, so `waves` is not known then. */
double step_fact(const struct row_step *step, bool cropped, const char *name);
