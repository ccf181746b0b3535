/* measure/time/estimates: what the rounds of a row come to: its time, its ratio, their intervals. */
#ifndef BENCH_MEASURE_TIME_ESTIMATES_H
#define BENCH_MEASURE_TIME_ESTIMATES_H

#include "measure/time/sample.h"
#include "store/row.h"

/* Rounds of a row or a step, as they are estimated. */
struct estimate_rounds {
    const double *ns, *base; /* base (may be NULL): the same rounds of what it is compared with */
    const int *places;       /* of the buffers, by round; NULL: one */
    int count, family;       /* family: so many rows whose ratios are to hold together */
    int paired;              /* of what it is compared with, the first rounds are there alone; 0: all */
};
/* An candidate takes part in the first rounds: so many of them. */
int rounds_taken(const struct sample_candidate *e, int rounds);
/* The rounds of an candidate; base: of the candidate it is compared with (NULL: none), which may have left earlier. */
struct estimate_rounds estimate_rounds_of(const struct sample_candidate *e, const struct sample_candidate *base,
                                          const struct sample_result *result, int family);
/* Adds their estimate to a row; the time is valid until the next is added. */
struct row_time *estimates_add(struct row *row, int step, enum time_mode mode, const struct estimate_rounds *rounds);
/* The clock that the row's samples began at, unless it is known. */
void estimates_clock(struct row *row, const struct sample_candidate *e, int rounds);

#endif
