/* op/reference/epilogue_row: what the items of an epilogue do to the values of a row, and to their error bounds. Private to op/. */
#pragma once

#include "op/epilogue.h"

/* One row of raw output on its way through the epilogue: values and error bounds, [c][h][w]. */
struct epilogue_row {
    double *y, *e;   /* e NULL: bounds are not wanted */
    double *y2, *e2; /* second buffers of the same size, for depth_to_space */
};
/* Takes raw row p_i of image n_i through every item; results are in y and e. A rounding counts only where a value is not representable. */
void epilogue_apply(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, struct epilogue_row *row);
/* The value of an activation other than relu, leaky_relu and prelu; and how much it can stretch an error. */
double activation_stretch(enum epilogue_kind kind);
