/* store/merge: what merging and joining databases share. The other database is attached as `from_db`. */
#pragma once

#include "store/database.h"

/* Opens and checks the other database, attaches it, and calls `work` inside one transaction: all of it or nothing. */
typedef bool merge_work(struct store *store, void *context, struct error *err);
bool merge_with(struct store *store, const char *from, merge_work *work, void *context, struct error *err);
/* Copies the run itself, under the next number. */
bool merge_head(struct store *store, int64_t old_run, int64_t *new_run, struct error *err);
/* Copies the cases of a run with their rows. `some`: only those whose case_key is in this subquery; NULL: all. Returns the number of rows;
 * -1 on error. */
int64_t merge_cases(struct store *store, int64_t old_run, int64_t new_run, const char *some, struct error *err);
/* The tuned configurations; the newer wins. */
bool merge_wisdom(struct store *store, struct merge_counts *counts, struct error *err);
/* Every measurement of every GPU's ceilings, once. `only`: of the GPU of this run; -1: of all. */
bool merge_ceilings(struct store *store, int64_t only, struct error *err);
