/* kernel/new/new: writes the files that `bench new` makes. */
#ifndef BENCH_KERNEL_NEW_H
#define BENCH_KERNEL_NEW_H

#include "op/op.h"

/* `bench new OP FILE.cu`: the file's text with a head filled in from its first __global__ function's signature, every line explained. */
/* And of an op that does not exist yet: a file for it (docs/OP.md), to be filled in. */
char *variant_new_op(const char *op, const char *source_text, const char *kernel_name, struct error *err);
char *variant_new(const struct op *op, const char *source_text, const char *kernel_name, struct error *err);

#endif
