/* measure/time/estimates: computes a row's time, its ratio and their intervals from its rounds. */
#pragma once

#include "measure/time/sample.h"
#include "store/row.h"

/* The rounds of a row or a step, as input of an estimate. */
struct estimate_rounds {
    const double *ns, *base; /* base (may be NULL): the same rounds of the candidate it is compared with */
    const int *places;       /* of the buffers, by round; NULL: one */
    int count, family;       /* family: the number of rows whose ratio intervals must hold simultaneously */
    int paired;              /* how many first rounds the base took part in as well; 0: all */
};
/* The number of rounds, from the first on, that a candidate took part in. */
int rounds_taken(const struct sample_candidate *e, int rounds);
/* The rounds of a candidate; base: the candidate it is compared with (NULL: none), which may have left earlier. */
struct estimate_rounds estimate_rounds_of(const struct sample_candidate *e, const struct sample_candidate *base,
                                          const struct sample_result *result, int family);
/* Adds their estimate to a row; the returned time is valid until the next call. */
struct row_time *estimates_add(struct row *row, int step, enum time_mode mode, const struct estimate_rounds *rounds);
/* Sets the row's SM clock to the median clock at the start of its samples, if the row has none yet. */
void estimates_clock(struct row *row, const struct sample_candidate *e, int rounds);
