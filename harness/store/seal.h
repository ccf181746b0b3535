/* store/seal: checksums of what a database holds. A finished run has a seal over its line in `run` (the head) and over all of its other
 * lines, whose sums are computed when they are stored; one more seal is over the lines that belong to no run (wisdom, roof). A run without
 * a seal is not checked if it is still written, or if an older bench stored it: then its rows have no sums. */
#pragma once

#include "store/database.h"

/* The table, and the column of the rows' sums; after the other tables. */
bool seal_make_table(struct store *store, struct error *err);
/* The sum of a row, to be stored as result.sum. Whoever changes a stored row by SQL sets it to NULL: then seal_write reads the run. */
int64_t seal_row(const struct row *row);
/* Writes the seal of a run as it is, or that of the lines without a run. Call it inside the transaction that changes them. */
bool seal_write(struct store *store, int64_t run, struct error *err);
bool seal_loose(struct store *store, struct error *err);
/* The run will change: it has no seal until seal_write. */
bool seal_break(struct store *store, int64_t run, struct error *err);
/* Seals each run that has no seal, and the rows of tables that belong to no run; deletes seals of deleted runs. No such run may be in
 * progress. */
bool seal_missing(struct store *store, struct error *err);

/* How many rows a run has, and lines in their lists; -1: the run has no seal. */
struct seal_count {
    int64_t rows, items;
};
/* False: what is stored differs from its seal. */
bool seal_check_head(struct store *store, int64_t run, struct error *err);
bool seal_check_lines(struct store *store, int64_t run, struct seal_count *count, struct error *err);
bool seal_check_loose(struct store *store, struct error *err);
/* False: a reader found other numbers than are sealed. */
bool seal_check_read(struct store *store, int64_t run, const struct seal_count *sealed, const struct seal_count *read, struct error *err);
/* False: a sealed run is gone. */
bool seal_check_runs(struct store *store, struct error *err);
/* All of it. */
bool seal_check_all(struct store *store, struct error *err);
