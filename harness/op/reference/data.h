/* op/reference/data: the inputs of a work and its reference results, with their error bounds. */
#pragma once

#include "op/op.h"

/* Makes inputs and reference of one part of the verification, from work->seed; the same on every machine and for every thread count. Exact:
 * small integers, scaled so that every partial sum in any order, and every rounding of an unfused epilogue, is representable in the work's
 * dtype and accumulator. Precision: the work->data distribution, full mantissa, filters scaled by 1/sqrt(reduction). False when out of
 * memory (err). Free with op_data_free. */
bool op_data_make(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_free(struct op_data *data);
/* Finds works on which a wrong kernel passes: all outputs are equal, or they do not depend on the inputs (METR found 45 such tasks among
 * the 270 of KernelBench, 2025). Sets `why` to a sentence, else to NULL. Uses a small version of the work, and takes milliseconds. False:
 * err. */
bool op_degenerate(const struct work *work, const char **why, struct error *err);
/* For a work whose epilogue begins with a bias and an activation: chooses the bias of each channel so that one value before the activation
 * is close to 0. There a kernel with another threshold for the sign or the slope is wrong. Does nothing for other works. */
bool op_data_near_zero(const struct work *work, struct op_data *data, struct error *err);
/* Makes references and bounds from existing inputs. */
bool op_data_reference(const struct work *work, struct op_data *data, struct error *err);
/* Allocates references, and bounds if `bounds`, of all tensors that the work writes; frees them. */
bool op_data_room(const struct work *work, struct op_data *data, bool bounds, struct error *err);
void op_data_drop_references(struct op_data *data);
/* References of a few rows (n * p + p_i, before the epilogue; only data->columns of them), for an op that has reference_row. The rest of
 * reference and bound is undefined. */
bool op_data_reference_rows(const struct work *work, struct op_data *data, const int64_t *rows, int count, struct error *err);
/* The error bounds of a reference, on the CPU and on the device. bounds: it has bounds; sums: the op's own sum has one; terms: products of
 * one output; least: the fewest of them that are not zero. */
struct op_bounds {
    bool bounds, sums;
    int64_t terms, least;
};
struct op_bounds op_data_bounds(const struct work *work, const struct op_data *data);
/* Makes inputs without references, for a timed run that another process has verified. */
bool op_data_inputs(const struct work *work, enum data_part part, struct op_data *out, struct error *err);

/* Inputs for a caller that makes the values on a device and needs few of them here: the input and the residual are allocated and left
 * unset. op_data_fill_rows then sets what the reference of some rows (data->columns of them) reads; op_data_fill sets `count` values of a
 * tensor from `first` on. For works with an on_card reference, and for chains, where only the input is left unset and has the first link's
 * values. */
bool op_data_reserve(const struct work *work, enum data_part part, struct op_data *out, struct error *err);
void op_data_fill(const struct work *work, enum data_part part, struct op_data *data, const struct tensor *t, size_t first, size_t count);
/* Sets `count` values of the input from `first` on to zero where its mask says that nothing changed, and where mask_holds_still. */
void op_data_blank(const struct work *work, enum data_part part, const struct op_data *data, const struct tensor *t, size_t first,
                   size_t count);
void op_data_fill_rows(const struct work *work, enum data_part part, struct op_data *data, const int64_t *rows, int count);

/* Lists the lines of the input (image * h + line; room for n * h) that the rows read. Returns how many. */
int64_t op_lines_read(const struct work *work, const int64_t *rows, int count, int64_t *lines);
/* Lists the columns that the wanted columns (op_data.columns; NULL: all) need: of the input (`read`), or of a tensor that is added to the
 * result; `width` is the length of its lines, and room for as many is needed. */
int64_t op_columns_read(const struct work *work, const bool *asked, bool read, int64_t width, int64_t *columns);
