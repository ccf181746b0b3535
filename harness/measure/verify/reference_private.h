/* measure/verify/reference_private: what the files of measure/reference share. */
#ifndef BENCH_MEASURE_VERIFY_REFERENCE_PRIVATE_H
#define BENCH_MEASURE_VERIFY_REFERENCE_PRIVATE_H

#include "base/scales.h"
#include "device/compile/compile.h"
#include "measure/verify/reference.h"
#include "op/op_file.h"
#include "op/reference/data.h"

#define REFERENCE_LIMIT_MOST_S 540 /* less than what making data may take */
/* How long a reference may take: what BENCH_REFERENCE_LIMIT says, else `otherwise`; 0 + err where that is no such time. */
double reference_limit_s(double otherwise, struct error *err);

/* The reference kernel of a work, on its way. */
struct reference_run {
    struct device *dev;
    const struct work *work;
    struct op_data *data;
    const struct op_file *file;
    uint64_t at[OP_MAX_TENSORS], extra[OP_MAX_TENSORS]; /* by slot; extra: its magnitudes or bounds; 0: none */
    struct tensor tensors[OP_MAX_TENSORS];
    int count;
    bool bounds;                      /* it writes bounds, not magnitudes */
    bool lent;                        /* `at` is there already, inputs in it, and whoever made it releases it */
    bool known;                       /* of a witness: results are not NaN at first where the device knows what nobody wrote */
    const struct reference_run *like; /* of a witness: the run whose inputs it takes, where it lies */
    struct device_module *module;
    struct device_function *function;
};
/* Buffers with the inputs, and the code. reference_run_close also when it fails. */
bool reference_run_open(struct reference_run *run, const struct compiled *code, struct error *err);
void reference_run_close(struct reference_run *run);
/* Of a result of such a run: device_ops.known. NULL: what nobody wrote is NaN. */
const uint8_t *reference_run_known(const struct reference_run *run, uint64_t address);
/* only: NULL, or these blocks. */
bool reference_run_launch(struct reference_run *run, const uint64_t *only, int only_count, struct error *err);
/* How many blocks that is, all together; 0 + err. */
uint64_t reference_run_blocks(const struct reference_run *run, struct error *err);
/* The whole way: compiled, opened, launched, and held to the device's witness where there is one and the inputs are the work's own. */
bool reference_run(struct reference_run *run, const char *compiler, struct error *err);
/* Some blocks of what is to run there, interpreted on its device's witness from the same code and inputs: before it runs, so that one that
 * never ends is told at its line and leaves no GPU behind that nobody can have back. The caller closes `here`, also when it fails. What the
 * blocks wrote must then be what is there. */
bool reference_cross_check(const struct reference_run *there, const struct compiled *code, struct reference_run *here, struct error *err);
bool reference_cross_compare(const struct reference_run *there, const struct reference_run *here, struct error *err);
/* Bounds of `rows` rows of a tensor's reference, from row `first` on, of what its errors are relative to (the sizes of those rows; NULL:
 * the reference does not say); sizes_are_bounds: these are the bounds. False: an element without a number, *wrong is the first. */
struct reference_rows {
    const struct work *work;
    const struct op_bounds *is;
    const struct tensor *t;
    const double *reference, *sizes;
    float *bound; /* NULL: none are wanted */
    bool sizes_are_bounds;
    int64_t rows;
    struct scales scales; /* of the tensor, where there are no sizes */
};
struct scales reference_scales(const double *reference, int64_t rows, int64_t length);
/* loose: op_values.loose, of these rows. */
bool reference_settle_rows(const struct reference_rows *rows, int64_t *wrong, double *loose);
/* The error of an element without a number. */
bool reference_refuse(const struct tensor *t, int64_t element, double value, struct error *err);
/* What a sum may lose of its result where the op's file adds a bias or an addend, with which it may begin (bound_begun); else 0. */
double reference_begun(const struct work *work, const struct op_bounds *is);
/* What of a reference's terms a bound takes into account: see kernels/reference/settle.cu. */
double reference_terms(const struct work *work, const struct op_bounds *is);

/* Fills the references that are there from the op's function of Python; a magnitude that it returns is malloc'd. */
bool reference_python(const struct work *work, enum data_part part, struct op_data *data, double *magnitudes[OP_MAX_TENSORS],
                      struct error *err);

#endif
