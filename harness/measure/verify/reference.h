/* measure/verify/reference: data and reference results of a work, also where these need a device or another program: of an op that is a
 * file (op/op_file.h) they come from a kernel in double, which runs here, from a function of Python or from .npy files. Ops in C make their
 * own.
 *
 * A reference is held to what a row is: a kernel that reads or writes where it must not (emu says so), or leaves an element of a result
 * unwritten, is an error that names it. What Python made is kept in the compiler's cache, by the hash of the work, its data and the file.
 */
#ifndef BENCH_MEASURE_VERIFY_REFERENCE_H
#define BENCH_MEASURE_VERIFY_REFERENCE_H

#include "device/device.h"
#include "op/op.h"

/* Sets of inputs with a set_seed below this are the same in every run: what Python made of them is kept, too. */
#define REFERENCE_SETS 8

/* References and bounds from inputs that are there. compiler: as in compile_request. */
bool reference_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *data,
                    struct error *err);
/* Inputs and references; op_data_make, for every op. Free with op_data_free. */
bool reference_data_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *out,
                         struct error *err);
/* The .cu with the kernel that makes an op's reference; NULL: no kernel does. */
const char *reference_source(const struct op *op);
/* Its code is compiled into the cache; without one nothing is. */
void reference_compile(const struct work *work, const char *arch, const char *compiler);
/* And the -D names that it is compiled with for a work, malloc'd texts in a malloc'd array; -1 on error. */
int reference_defines(const struct work *work, char ***defines, struct error *err);

#endif
