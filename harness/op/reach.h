/* op/reach: which lines and columns of its input an output of an op of images reads, from the expressions of the op's file. */
#pragma once

#include "op/formula.h"
#include "op/op_file.h"

extern const enum formula_of op_image_axes[]; /* what the expressions of `reads` are, by enum op_file_axis */
/* Taps of an output along an axis: r (of volumes t * r) along h, s along w; the file's `taps` where there is neither filter nor window. */
int64_t op_taps(const struct work *work, enum axis_of axis);
/* What outputs (before any epilogue) read along an axis. Free with op_reach_free. */
struct op_reach op_reach(const struct work *work, enum axis_of axis);
void op_reach_free(struct op_reach *reach);
