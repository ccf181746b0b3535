/* store/step_facts: what is known of a launch without counting it, by the names that counter groups use (counter_facts of counter/group.h).
 * Both who counts a row and who reads a stored one take it from here. */
#ifndef BENCH_STORE_STEP_FACTS_H
#define BENCH_STORE_STEP_FACTS_H

#include "store/row.h"

extern const char *const step_fact_names[]; /* ends with NULL */
/* NaN: not known. cropped: a part of the layer ran; its grid says nothing about the layer's, so `waves` is not known then. */
double step_fact(const struct row_step *step, bool cropped, const char *name);

#endif
