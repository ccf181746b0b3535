/* measure/trust/refuse: rejects configurations of a search that are not worth a run, by the compiler's facts. */
#pragma once

#include "measure/job.h"

struct tried {
    int row;
    char launches[HASH_TEXT];
};
struct tried_list { /* the configurations of the current case, each with different launches */
    struct tried *items;
    int count;
};
/* Refuses a configuration that spills, that does not fit on an SM, or whose launches and machine code equal those of another configuration:
 * marks `row`, which has the compiler's facts, as infeasible with the reason. False: the configuration is worth a run. */
bool tried_refuse(struct tried_list *tried, const struct job *job, int index, struct row *row);
