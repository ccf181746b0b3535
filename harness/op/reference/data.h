/* op/reference/data: the inputs of a work and its reference results, with their error bounds. */
#ifndef BENCH_OP_DATA_H
#define BENCH_OP_DATA_H

#include "op/op.h"

/* Makes inputs and the reference of one part of the verification; seeded by work->seed, same on every machine and thread
 * count. Exact: small integers scaled so that every partial sum in any order, and every intermediate rounding of an unfused epilogue, is
 * representable in the work's dtype and accumulator. Precision: work->data distribution, full mantissa, filters scaled by
 * 1/sqrt(reduction). False when out of memory (err). Free with op_data_free. */
bool op_data_make(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_free(struct op_data *data);
/* Does the work let kernels pass that do not do it? `why` becomes the sentence: its outputs are all the same, or do not depend on its
 * inputs (METR found 45 such tasks among the 270 of KernelBench, 2025); else NULL. Made small, so that it costs milliseconds. False: err.
 */
bool op_degenerate(const struct work *work, const char **why, struct error *err);
/* References and bounds from inputs that are there. */
bool op_data_reference(const struct work *work, struct op_data *data, struct error *err);
/* Room for the references, and where `bounds` says so the bounds, of all that the work writes. */
bool op_data_room(const struct work *work, struct op_data *data, bool bounds, struct error *err);
/* The same of a few rows (n * p + p_i, before the epilogue; data->columns of them) of an op that has reference_row; the rest of reference
 * and bound is undefined. */
bool op_data_reference_rows(const struct work *work, struct op_data *data, const int64_t *rows, int count, struct error *err);
/* How a reference is bounded: shared by the CPU's and the device's. `bounds`: there are any; `sums`: of the op's own sum too; terms, least:
 * products of an output, and how many of them are not zero at least. */
struct op_bounds {
    bool bounds, sums;
    int64_t terms, least;
};
struct op_bounds op_data_bounds(const struct work *work, const struct op_data *data);
/* Inputs alone (no reference): what a timed run is fed when verification already happened in another process. */
bool op_data_inputs(const struct work *work, enum data_part part, struct op_data *out, struct error *err);

/* The same for whoever has the values elsewhere and looks at some of them here: the input and the residual are room only, in which
 * op_data_fill_rows makes what the reference of some rows (data->columns of them) reads, and op_data_fill `count` values of a tensor from
 * `first` on. Of works whose reference a device makes (on_card), and of chains, where the input alone is room and has the first link's
 * values. */
bool op_data_reserve(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_fill(const struct work *work, enum data_part part, struct op_data *data, const struct tensor *t, size_t first, size_t count);
/* Zeros in `count` values of the input from `first` on: where its mask says that nothing changed, and mask_holds_still. */
void op_data_blank(const struct work *work, enum data_part part, const struct op_data *data, const struct tensor *t, size_t first,
                   size_t count);
void op_data_fill_rows(const struct work *work, enum data_part part, struct op_data *data, const int64_t *rows, int count);

/* Those lines of the input (image * h + line; room for n * h) that any tap of the rows reads. Returns how many. */
int64_t op_lines_read(const struct work *work, const int64_t *rows, int count, int64_t *lines);
/* Those columns of the input (`read`), or of what is added to what these have become, of lines that are `width` long, that the columns
 * asked for need (op_data.columns; NULL: all). Room for `width`. */
int64_t op_columns_read(const struct work *work, const bool *asked, bool read, int64_t width, int64_t *columns);

#endif
