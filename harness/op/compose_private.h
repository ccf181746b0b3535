/* op/compose_private: what the files that compose programs share. */
#ifndef BENCH_OP_COMPOSE_PRIVATE_H
#define BENCH_OP_COMPOSE_PRIVATE_H

#include "op/compose.h"

/* Where a part's buffers, units and maps went. */
struct renaming {
    struct buffer_ref tensors[ROLE_COUNT]; /* by index of the part's list: set by the caller */
    int map;                               /* added to the part's indices */
    int *units, *scratch;
};
/* Adds a part's units, scratch, maps and steps to the program of the whole; compose_part_end frees what `r` then holds. `prefix` is for
 * the names of its buffers. */
void compose_part(struct program *p, const struct program *part, const char *prefix, int link, struct renaming *r);
void compose_part_end(struct renaming *r);
/* Each adds one and gives its place. A unit that is there already is taken, unless it must be the part's own. */
int compose_scratch(struct program *p, const struct scratch *s, const char *prefix);
int compose_unit(struct program *p, const struct unit *u, bool own);
struct buffer_ref compose_constant(struct program *p, const char *prefix, int link, int span, const struct tensor *t);
/* All prepare steps first; each kind keeps its order. */
void compose_prepare_first(struct program *p);

#endif
