/* measure/trust/degenerate: is a case's work degenerate, so that kernels pass that do not do it? The reference of an op that is a file runs
 * where rows do, so it is asked about the row's own shape: on the data that the row is verified on, and on other sets of inputs. */
#ifndef BENCH_MEASURE_TRUST_DEGENERATE_H
#define BENCH_MEASURE_TRUST_DEGENERATE_H

#include "measure/verify/data.h"

struct degenerate {
    int in_case; /* -1: of none */
    bool is_known;
    const char *why; /* NULL: the work is a real task */
};
/* A row of degenerate work is broken, with the reason; the answer is found once a case. This one is about ops in C; */
bool degenerate_check(struct degenerate *known, const struct job *job, int index, struct row *row, struct error *err);
/* this one about ops that are files. kept: the row is timed next on these sets of inputs, so they stay in the store. False (err): the
 * case's own data cannot be made. */
bool degenerate_check_file(struct degenerate *known, struct data_store *d, bool kept, int index, struct row *row, struct error *err);

#endif
