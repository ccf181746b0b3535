/* run/child/cache: keeps results of rows on the interpreter from run to run. They are exact, so a row with the same code, launch and
 * data is not run again by the same build of bench. */
#pragma once

#include "base/hash.h"
#include "measure/job.h"
#include <jansson.h>

struct memory {
    const struct job *job;
    char self[HASH_TEXT]; /* of this build of bench; "": not known yet */
};
bool memory_has(struct memory *m, int index);
/* The row's fields (run/message/wire.h), a new reference; NULL: not in the cache. */
json_t *memory_recall(struct memory *m, int index);
/* Stores the result of a correct row of the interpreter, if the plan allows it. */
void memory_keep(struct memory *m, int index, const struct row *row);
