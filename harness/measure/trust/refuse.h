/* measure/trust/refuse: the configurations of a search that are not worth a run, by what the compiler made of them. */
#ifndef BENCH_MEASURE_TRUST_REFUSE_H
#define BENCH_MEASURE_TRUST_REFUSE_H

#include "measure/job.h"

struct tried {
    int row;
    char launches[HASH_TEXT];
};
struct tried_list { /* the configurations of the case in hand, each with launches of its own */
    struct tried *items;
    int count;
};
/* Refuses a configuration that spills, of which no block fits on an SM, or that has the same launches of the same machine code as another
 * one: makes `row`, which has the compiler's facts, infeasible with the reason. False: it is worth a run. */
bool tried_refuse(struct tried_list *tried, const struct job *job, int index, struct row *row);

#endif
