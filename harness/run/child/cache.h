/* run/child/cache: what the interpreter found out about a row, kept from run to run. It is exact, so the same code, launched the same
 * way on the same data by the same build of bench, is not run again. */
#ifndef BENCH_RUN_CHILD_CACHE_H
#define BENCH_RUN_CHILD_CACHE_H

#include "base/hash.h"
#include "measure/job.h"
#include <jansson.h>

struct memory {
    const struct job *job;
    char self[HASH_TEXT]; /* of this build of bench; "": not known yet */
};
bool memory_has(struct memory *m, int index);
/* The row's fields (run/message/wire.h), a new reference; NULL: it is not known. */
json_t *memory_recall(struct memory *m, int index);
/* Keeps a right row of the interpreter, if the plan says so. */
void memory_keep(struct memory *m, int index, const struct row *row);

#endif
