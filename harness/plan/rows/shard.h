/* plan/rows/shard: the shares of a plan that several processes run: whole cases, of about the same estimated cost.
 *
 * The partition follows from the plan alone, so that every host makes the same one. */
#pragma once

#include "plan/rows/plan.h"

/* Estimated seconds of each case, as `bench plan` shows them: on emu CPU seconds with all kernels compiled; `timed`: on a GPU. Fills
 * seconds[case_count]. */
void plan_costs(const struct plan *plan, bool timed, double *seconds);
/* The first row of each set of wanted rows that are compiled alike, in order, into rows[row_count]; NULL: all feasible rows with code.
 * Returns how many. first[row_count] (NULL: not asked for): by wanted row, the first row of its set. */
int plan_builds(const struct plan *plan, const bool *wanted, int *rows, int *first);
/* Does the layer's row ask the library for plans? */
bool plan_asks_library(const struct plan_row *row);
/* Sets first[row] of each wanted row to the first wanted row that asks the library for the same plans. The other elements do not change. */
void plan_asked_alike(const struct plan *plan, const bool *wanted, int *first);
/* CPU seconds that a first run compiles beside that; later runs take the code from the cache. *kernels: how many. */
double plan_compile_cost(const struct plan *plan, int *kernels);
/* The cases that one process must run, by the first of them: a network with the cases of its layers, because it chooses among their rows;
 * and, if the scenario has answers, the cases that differ only in the density of a mask. A case that the run added belongs to the unit of
 * the case that it is like. Fills unit[case_count]. */
void plan_units(const struct plan *plan, int *unit);
/* Assigns each case to one of `count` shards: the most expensive unit first, to the shard with the least cost. Fills shard[case_count] with
 * 0 .. count-1. */
void plan_shards(const struct plan *plan, bool timed, int count, int *shard);
/* Hash of the plan's rows and of how they are timed. It leaves out device, compiler and the cases that the run added, so all shards have
 * the same. */
void plan_identity(const struct plan *plan, bool timed, char out[HASH_TEXT]);
