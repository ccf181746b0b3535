/* op/file/ops: the ops that there are: one in C (op/chain/chain.c), all others files, the installation's and the user's (--ops). */
#pragma once

#include "op/op.h"

/* Reads every op of this installation, and those of `extra` (files, or folders of them; NULL-terminated; may be NULL). Does not read an op
 * again that it has read before. Fails at the first bad file, with FILE:LINE:COLUMN. */
bool op_load(const char *const *extra, struct error *err);
/* The ops in C, NULL-terminated. */
extern const struct op *const op_table[];
/* Op i of all of them: those in C first; NULL behind the last. */
const struct op *op_at(int i);
/* By name; NULL: unknown. */
const struct op *op_find(const char *name);
const char *const *op_names(void);
/* The op that a name means that is none: by another name of the field ("pixel_shuffle"), or the nearest word; NULL: none. */
const char *op_nearest(const char *name);
/* Adds that op to the hint, then what op_unknown adds. Returns false. */
bool op_unknown_name(const char *name, struct error *err);
/* Adds to the hint that is already in `err` how an op of the user's own is found. Returns false. */
bool op_unknown(struct error *err);
/* The op for a task of bench itself. */
const struct op *op_for(enum op_task task);
/* True if the op of this name (may be NULL) is the one for the task. */
bool op_is_for(const char *name, enum op_task task);
/* The op of a variant by the variant's name, "layout/convert"; NULL: no op has the name of that folder. */
const struct op *op_of_variant(const char *name);
/* The op that computes changes of the output from changes of the input. */
const struct op *op_of_changes(const struct op *op);
