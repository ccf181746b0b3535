/* op/epilogue: what the ordered items after an op do to its shape. Private to op/. */
#ifndef BENCH_OP_EPILOGUE_H
#define BENCH_OP_EPILOGUE_H

#include "op/op.h"

/* Shape and storage layout at one point of the epilogue. */
struct epilogue_shape {
    int64_t c, h, w;
    enum layout layout;
};
/* What item `item` receives; item == epilogue_count: the final output. */
struct epilogue_shape epilogue_shape_at(const struct work *work, int item);
/* Allowed, each kind once, and shapes that fit. */
bool epilogue_check(const struct work *work, struct error *err);

#endif
