/* plan/rows/choose: which variant runs each link of a chain, from the rows of its layers. */
#pragma once

#include "plan/rows/plan.h"

/* Chooses a plan row for every link (-1: a layout change of the plan); malloc'd. rows: results of the plan's rows; NULL (nothing has run):
 * the first feasible row in the scenario's order. Returns NULL and `why` if a link has no row to take. */
int *choose_links(const struct plan *plan, int row, struct row *const *rows, char *why, size_t why_bytes);
/* Binds a chain's row as if nothing had run: its possible kernels are known, but not the run's choice. */
bool choose_unseen(struct plan *plan, int row, struct error *err);
/* The cases with rows that the links of a chain's row can take: needs[case_count]. */
void choose_needs(const struct plan *plan, int row, bool *needs);
/* "mma_sync on body_1, body_2; cudnn on head" into t. */
void choose_describe(const struct plan *plan, int row, const int *choice, struct text *t);
/* Adds metrics to the chain's row from the isolated times of the chosen rows: their sum and its interval (chain.sum_ns, _low, _high); sums
 * of warm and back-to-back times, if measured. */
void choose_sums(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct row *out);

/* Adds the library's time for changing layouts, in total and by kernel (chain.library_layout_ns, chain.inside.NAME_ns), from the traces of
 * the chosen rows, which they have once they are counted. False: some have none. */
bool choose_library_layout(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct row *out);
/* Time of the chosen rows over the time of the library's rows of the same layers; NAN: some are unknown. */
double choose_behind(const struct plan *plan, int index, const int *choice, struct row *const *rows);
