/* op/epilogue: what the ordered items after an op do to its shape. Private to op/. */
#pragma once

#include "op/op.h"

/* Shape and storage layout at one step of the epilogue. */
struct epilogue_shape {
    int64_t c, h, w;
    enum layout layout;
};
/* The shape that item `item` receives; item == epilogue_count: the final output. */
struct epilogue_shape epilogue_shape_at(const struct work *work, int item);
/* Checks that each item is allowed, occurs once and fits the shape. */
bool epilogue_check(const struct work *work, struct error *err);
