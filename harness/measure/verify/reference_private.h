/* measure/verify/reference_private: declarations shared by the files of measure/reference. */
#pragma once

#include "base/scales.h"
#include "device/compile/compile.h"
#include "measure/verify/reference.h"
#include "op/op_file.h"
#include "op/reference/data.h"

#define REFERENCE_LIMIT_MOST_S 540 /* less than the time limit for making data */
/* The time limit of a reference: BENCH_REFERENCE_LIMIT if set, else `otherwise`; 0 + err if that is not a valid time. */
double reference_limit_s(double otherwise, struct error *err);

/* A launch of a reference kernel. */
struct reference_run {
    struct device *dev;
    const struct work *work;
    struct op_data *data;
    const struct op_file *file;
    uint64_t at[OP_MAX_TENSORS], extra[OP_MAX_TENSORS]; /* by slot; extra: its magnitudes or bounds; 0: none */
    struct tensor tensors[OP_MAX_TENSORS];
    int count;
    bool bounds[OP_MAX_TENSORS];      /* by slot: `extra` has bounds, not magnitudes */
    bool lent;                        /* the caller owns the buffers `at`, which already contain the inputs */
    bool known;                       /* of a cross-check: the device tracks unwritten bytes, so results need not start as NaN */
    const struct reference_run *like; /* of a cross-check: the run whose inputs it uses, in place */
    struct device_module *module;
    struct device_function *function;
};
/* Allocates buffers with the inputs, and loads the code. Call reference_run_close even if it fails. */
bool reference_run_open(struct reference_run *run, const struct compiled *code, struct error *err);
void reference_run_close(struct reference_run *run);
/* Written bytes of a result of such a run: device_ops.known. NULL: not tracked, and unwritten elements are NaN. */
const uint8_t *reference_run_known(const struct reference_run *run, uint64_t address);
/* only: these blocks; NULL: all. */
bool reference_run_launch(struct reference_run *run, const uint64_t *only, int only_count, struct error *err);
/* The total number of blocks; 0 + err. */
uint64_t reference_run_blocks(const struct reference_run *run, struct error *err);
/* Compiles, opens and launches, and cross-checks if the device has a cross-check and the inputs are the work's own, not a sweep.
 */
bool reference_run(struct reference_run *run, const char *compiler, struct error *err);
/* Interprets some blocks of the kernel on the device's emu device, from the same code and inputs. It does so before the GPU runs the
 * kernel: emu reports an endless loop with its line, while on the GPU the loop would make the GPU unusable. The blocks' results must
 * then equal the GPU's. The caller closes `here`, even if it fails. */
bool reference_cross_check(const struct reference_run *there, const struct compiled *code, struct reference_run *here, struct error *err);
bool reference_cross_compare(const struct reference_run *there, const struct reference_run *here, struct error *err);
/* Computes the bounds of `rows` rows of a tensor's reference, from row `first` on, from the magnitudes that errors are relative to
 * (sizes of those rows; NULL: the reference gives none); sizes_are_bounds: the sizes are the bounds. False: an element is not a number;
 * *wrong is the first one. */
struct reference_rows {
    const struct work *work;
    const struct op_bounds *is;
    const struct tensor *t;
    const double *reference, *sizes;
    float *bound; /* NULL: none are wanted */
    bool sizes_are_bounds;
    int64_t rows;
    struct scales scales; /* of the tensor, if there are no sizes */
};
struct scales reference_scales(const double *reference, int64_t rows, int64_t length);
/* loose: op_values.loose, of these rows. */
bool reference_settle_rows(const struct reference_rows *rows, int64_t *wrong, double *loose);
/* Sets the error for an element that is not a number. */
bool reference_refuse(const struct tensor *t, int64_t element, double value, struct error *err);
/* How much of its result a sum may lose if the op's file adds a bias or an addend, with which the sum may begin (bound_begun); else 0. */
double reference_begun(const struct work *work, const struct tensor *t, const struct op_bounds *is);
/* The number of a reference's terms that a bound takes into account: see kernels/reference/settle.cu. */
double reference_terms(const struct work *work, const struct tensor *t, const struct op_bounds *is);

/* Takes a reference from a .npy, and its magnitudes or bounds (malloc'd) from another; NULL: it has none. */
bool reference_take(const struct tensor *t, const char *result, const char *sizes, struct op_data *data, double **magnitudes,
                    struct error *err);
/* Fills the references that are present by calling the op's Python function; what it returns of magnitudes and bounds is malloc'd. */
bool reference_python(const struct work *work, enum data_part part, struct op_data *data, double *magnitudes[OP_MAX_TENSORS],
                      bool bounds[OP_MAX_TENSORS], struct error *err);
