/* run/child/cache: keeps results of rows on the interpreter from run to run. They are exact, so a row with the same code, launch and
 * data is not run again by the same build of bench. */
#pragma once

#include "base/hash.h"
#include "measure/job.h"

struct memory {
    const struct job *job;
    char self[HASH_TEXT]; /* of this build of bench; "": not known yet */
};
bool memory_has(struct memory *m, int index);
/* Sets what was found of the row. False: it is not in the cache. */
bool memory_recall(struct memory *m, int index, struct row *found);
/* Stores the result of a correct row of the interpreter, if the plan allows it. */
void memory_keep(struct memory *m, int index, const struct row *row);
