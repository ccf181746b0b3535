/* op/chain/compose_private: what the files that compose programs share. */
#pragma once

#include "op/chain/compose.h"

/* Adds a part's units, scratch, maps and steps to the program of the whole; compose_part_end frees `r`. `prefix` is for the names of its
 * buffers. */
void compose_part(struct program *p, const struct program *part, const char *prefix, int link, struct program_move *r);
void compose_part_end(struct program_move *r);
/* Adds a buffer and returns its index or reference. */
int compose_scratch(struct program *p, const struct scratch *s, const char *prefix);
struct buffer_ref compose_constant(struct program *p, const char *prefix, int link, int span, const struct tensor *t);
