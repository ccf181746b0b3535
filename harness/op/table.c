/* The ops, in the order in which `bench list ops` tells them. To add one: its name here and a `struct op op_NAME` in a .c of its own. */
#include "op/op.h"

#define OPS(X) \
    X(conv2d) \
    X(conv3d) \
    X(conv_transpose2d) \
    X(depth_to_space) \
    X(upsample) \
    X(upsample_bilinear) \
    X(upsample_conv2d) \
    X(layout) \
    X(pointwise) \
    X(chain) \
    X(pool_max) \
    X(pool_average) \
    X(pool_max_change) \
    X(truncate) \
    X(add) \
    X(concat) \
    X(densify)
#define DECLARE(name) extern const struct op op_##name;
OPS(DECLARE)
#define ENTRY(name) &op_##name,
const struct op *const op_table[] = {OPS(ENTRY) NULL};
