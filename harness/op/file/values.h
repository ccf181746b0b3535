/* op/file/values: values that come from files: a .npy, or a picture or video. */
#pragma once

#include "op/op.h"

/* Reads the values of a tensor: those of the file that the op names, or of the picture that the work's input is read from; `wide`:
 * unrounded, too (NULL: not wanted). */
bool op_file_values(const struct work *work, const struct tensor *t, float *to, double *wide, struct error *err);
/* True if the files that hold values or results of the work can be read and have its shape. */
bool op_file_values_fit(const struct work *work, struct error *err);
