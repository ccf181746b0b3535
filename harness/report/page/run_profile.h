/* report/page/run_profile: where the wall time of a run went, by phase. */
#pragma once

#include "report/form/document.h"

/* Appends "43.2 s: measuring 24.1 s (56 %), spacing ...": the phases by duration, those under 1 % together. */
void spent_line(struct text *t, const double spent_s[PHASE_COUNT]);
/* A heading and the table; nothing if the run stored no times. */
void run_profile_document(struct document *d, const struct run *run, struct row *const *rows, int count);
