/* op/reference/image: ops of images, whose result is a formula in their file: the reference, and how large results become. */
#pragma once

#include "op/op.h"

/* For an op of images without a filter: the number of values in its mean, of which whole inputs must be multiples so that means are whole;
 * 1 without a mean. */
int64_t op_means(const struct work *work);
/* True if an output is the largest of several inputs. */
bool op_compares(const struct work *work);
/* How much errors of the inputs may grow in an output: the sum of the magnitudes of its terms if all inputs are 1. */
double op_gain(const struct work *work);
/* op_largest: for an op of images without a filter, `most`, halved until an output of such inputs stays below `limit`, counted in the
 * fractions that the formula's constants need. op_grain: the fraction of 1 that the weights of its taps need. */
int64_t op_largest(const struct work *work, int64_t most, double limit);
double op_grain(const struct work *work);

/* Hooks of struct op (reference_row, settle). */
void op_image_row(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, double *y, double *a);
void op_image_settle(const struct work *work, struct op_data *data);
/* The norm of this name; TRUNCATE_COUNT: there is none. */
enum truncate op_image_norm(const char *name);
