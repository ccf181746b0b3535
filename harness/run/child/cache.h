/* run/child/cache: keeps results of rows on the interpreter from run to run. They are exact, so a row with the same code, launch and
 * data is not run again by the same build of bench. */
#pragma once

#include "base/hash.h"
#include "measure/trust/layer_counts.h"

struct memory {
    const struct job *job;
    char self[HASH_TEXT]; /* of this build of bench; "": not known yet */
};
bool memory_has(struct memory *m, int index);
/* Sets what was found of the row. False: it is not in the cache. */
bool memory_recall(struct memory *m, int index, struct row *found);
/* Stores the result of a correct row of the interpreter, if the plan allows it. */
void memory_keep(struct memory *m, int index, const struct row *row);
/* The counts of a whole layer, for rows whose verification runs anew. They do not depend on the seed. memory_counts adds those that an
 * earlier run kept, if there are any, to the known ones. */
bool memory_counts(struct memory *m, int index, struct counted_layers *known);
void memory_keep_counts(struct memory *m, int index, const struct counted_layers *known, const struct row *row);
