/* plan/rows/choose: which variant runs each link of a chain, from the rows of its layers. */
#ifndef BENCH_PLAN_CHOOSE_H
#define BENCH_PLAN_CHOOSE_H

#include "plan/rows/plan.h"

/* choice: plan row of every link (-1: a layout change of the plan), malloc'd. rows: what is known of each plan row; NULL (nothing has run):
 * the first feasible one in the scenario's order. NULL with `why` when a link has no row to take. */
int *choose_links(const struct plan *plan, int row, struct row *const *rows, char *why, size_t why_bytes);
/* Binds a chain's row as if nothing had run: its kernels are known, though not which of them the run will choose. */
bool choose_unseen(struct plan *plan, int row, struct error *err);
/* "mma_sync on body_1, body_2; cudnn on head" into t. */
void choose_describe(const struct plan *plan, int row, const int *choice, struct text *t);
/* Metrics of the chain's row from the isolated times of the chosen rows: their sum and its interval (chain.sum_ns, _low, _high), the same
 * over the library's rows (chain.library_sum_ns ...), warm sums and those of rows back to back where they were measured; what changes a
 * layout inside of the library, all of it and by kernel (chain.library_layout_ns, chain.inside.NAME_ns). */
void choose_sums(const struct plan *plan, int index, const int *choice, struct row *const *rows, struct row *out);

/* How many times as long as the library's rows of the same layers the chosen ones take; NAN: some are not known. */
double choose_behind(const struct plan *plan, int index, const int *choice, struct row *const *rows);

#endif
