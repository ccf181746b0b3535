/* measure/trust/degenerate: finds degenerate work: cases in which a kernel passes without doing the work. If the op is a file, its
 * reference runs where rows run, so the check uses the row's own shape: the data that the row is verified on, and other input sets. */
#pragma once

#include "measure/verify/data.h"

struct degenerate {
    int in_case; /* -1: of none */
    bool is_known;
    const char *why; /* NULL: the work is a real task */
};
/* True if the results of these inputs (DATA_PART_PRECISION) are only rounding errors of the reference. Of data on a device the first
 * elements count. */
bool degenerate_cancels(const struct work *work, struct op_data *data);
/* Marks a row of degenerate work as broken, with the reason; the check runs once per case. This function is for ops in C; */
bool degenerate_check(struct degenerate *known, const struct job *job, int index, struct row *row, struct error *err);
/* The same for ops that are files. kept: the row is timed next on these input sets, so they stay in the store. False (err): bench cannot
 * make the case's own data. */
bool degenerate_check_file(struct degenerate *known, struct data_store *d, bool kept, int index, struct row *row, struct error *err);
