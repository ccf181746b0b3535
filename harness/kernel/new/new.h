/* kernel/new/new: writes the files that `bench new` makes. */
#pragma once

#include "base/signature.h"
#include "op/op.h"

/* variant_new: the file's text with a head made from the signature of its first __global__ function (or of `kernel_name`), with an
 * explanation for every line. variant_new_op: a template of a file for an op that does not exist yet (docs/OP.md). */
char *variant_new_op(const char *op, const char *source_text, const char *kernel_name, struct error *err);
char *variant_new(const struct op *op, const char *source_text, const char *kernel_name, struct error *err);
/* How many threads a kernel of the op may have, as an expression: one per output; one per input if it adds into its outputs. */
const char *variant_new_threads(const struct op *op, bool adds);
/* The element type of a tensor that a C++ type points to, "f16" of half2; NULL: it does not say. */
const char *type_element(const struct signature_param *p);
/* True if neither C++, CUDA's headers nor this file has the type, so that the head must define it. */
bool type_is_macro(const struct signature_param *p, const char *code);
