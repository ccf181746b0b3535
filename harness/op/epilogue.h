/* op/epilogue: what the ordered items after an op do to its shape and to its values. Private to op/. */
#ifndef BENCH_OP_EPILOGUE_H
#define BENCH_OP_EPILOGUE_H

#include "op/op.h"

/* Shape and storage layout at one point of the epilogue. */
struct stage {
    int64_t c, h, w;
    enum layout layout;
};
/* What item `item` receives; item == epilogue_count: the final output. */
struct stage epilogue_stage(const struct work *work, int item);
/* Allowed, each kind once, and shapes that fit. */
bool epilogue_check(const struct work *work, struct error *err);

/* One row of raw output on its way through the epilogue: values and error bounds, [c][h][w]. */
struct epilogue_row {
    double *y, *e;   /* e NULL: bounds are not wanted */
    double *y2, *e2; /* second buffers of the same size, for depth_to_space */
};
/* Takes raw row p_i of image n_i through every item; results are in y and e. A rounding counts only where a value is not representable. */
void epilogue_apply(const struct work *work, const struct op_data *data, int64_t n_i, int64_t p_i, struct epilogue_row *row);

#endif
