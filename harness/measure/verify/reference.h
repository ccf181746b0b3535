/* measure/verify/reference: data and reference results of a work, including those that need a device or another program.
 *
 * The reference of an op that is a file (op/op_file.h) comes from a kernel in double, which this module runs, from a Python function or
 * from .npy files. Ops in C make their own. bench checks a reference as strictly as a row: a kernel that reads or writes where it must
 * not (according to emu), or leaves an element of a result unwritten, is an error that names it. Results of Python are kept in the
 * compiler's cache, by the hash of the work, its data and the file. */
#pragma once

#include "device/device.h"
#include "op/op.h"

/* Input sets with a set_seed below this are the same in every run; results of Python on them are cached as well. */
#define REFERENCE_SETS 8

/* Makes references and bounds from existing inputs. compiler: as in compile_request. */
bool reference_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *data,
                    struct error *err);
/* Makes inputs and references: op_data_make, for every op. Free with op_data_free. */
bool reference_data_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *out,
                         struct error *err);
/* The same for values with a mean (work->mean) or larger values (work->larger). Bounds grow by what a rounding of the inputs changes in
 * the results; bench computes that with the reference. For larger values, the inputs are rounded to their own type, because a kernel may
 * scale and round them. */
bool reference_conditioned(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *out,
                           struct error *err);
/* References and bounds of a few elements around those at `wanted` of each written tensor, from blocks of the op's reference kernel on emu,
 * into `data`, which has the inputs. *found: for each slot the logical indices, ascending; free them. False (err): also if the op has no
 * such kernel, or gives no magnitude that bounds need. */
#define REFERENCE_WANTED 8
struct reference_found {
    size_t *at, count;
};
bool reference_some(struct device *dev, const char *compiler, const struct work *work, struct op_data *data,
                    size_t wanted[OP_MAX_TENSORS][REFERENCE_WANTED], struct reference_found found[OP_MAX_TENSORS], struct error *err);
/* The .cu file of the kernel that makes an op's reference; NULL: the op has no such kernel. */
const char *reference_source(const struct op *op);
/* Compiles its code into the cache, for emu without machine code; does nothing if the op has none. */
void reference_compile(const struct work *work, const char *arch, const char *compiler, bool ptx_only);
/* The -D names that it is compiled with for a work, malloc'd texts in a malloc'd array; -1 on error. */
int reference_defines(const struct work *work, char ***defines, struct error *err);
