/* op/reference/image: ops of images, whose result is a formula in their file: the reference, and how large results become. */
#ifndef BENCH_OP_IMAGE_H
#define BENCH_OP_IMAGE_H

#include "op/op.h"

/* Of an op of images without a filter: what whole numbers must be multiples of to have whole means, and how many parts of 1 its results
 * may lie between them; 1 where there is neither. */
int64_t op_means(const struct work *work);
/* And how much larger errors of its inputs may become in an output: the sum of its terms' magnitudes where all inputs are 1. */
double op_gain(const struct work *work);
/* Whole numbers of an op of images without a filter: `most`, halved until an output of inputs so large has magnitudes up to `limit`, in the
 * parts of 1 that the formula's own numbers leave. */
int64_t op_largest(const struct work *work, int64_t most, double limit);
double op_grain(const struct work *work);

/* Hooks of struct op (reference_row, settle). */
void op_image_row(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a);
void op_image_settle(const struct work *work, struct op_data *data);
/* The norm of this name; TRUNCATE_COUNT: there is none. */
enum truncate op_image_norm(const char *name);

#endif
