/* The ops: their declarations and their order. */
#include "op/op.h"

extern const struct op op_conv2d, op_conv3d, op_conv_transpose2d, op_depth_to_space, op_upsample, op_upsample_bilinear, op_upsample_conv2d,
    op_layout, op_pointwise, op_chain, op_pool_max, op_pool_average, op_pool_max_change, op_truncate, op_add, op_concat, op_densify;
/* clang-format off */
const struct op *const op_table[] = {
    &op_conv2d, &op_conv3d, &op_conv_transpose2d, &op_depth_to_space, &op_upsample, &op_upsample_bilinear,
    &op_upsample_conv2d, &op_layout, &op_pointwise, &op_chain, &op_pool_max, &op_pool_average, &op_pool_max_change, &op_truncate, &op_add,
    &op_concat, &op_densify, NULL,
};
