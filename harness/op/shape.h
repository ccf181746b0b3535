/* op/shape: the tensors of ops of images, and checks of shapes. Private to op/. */
#pragma once

#include "op/op.h"

/* Tensors of ops of images and volumes. The number is also the stream of the tensor's seeded values. */
enum shape_slot {
    SLOT_INPUT,
    SLOT_FILTER,
    SLOT_BIAS,
    SLOT_RESIDUAL,
    SLOT_MASK_IN,
    SLOT_MASK_OUT,
    SLOT_OUTPUT,
    SLOT_LINKS,  /* op chain: a table of the links for its kernels */
    SLOT_STORED, /* values before the changes in `input` */
    SLOT_SECOND, /* the other tensor of add and concat */
    SLOT_MASK_SECOND,
    SLOT_SLOPES, /* prelu: of each channel */
    SLOT_COUNT
};
extern const struct tensor_role shape_roles[SLOT_COUNT];
#define SHAPE_WEIGHTS(drawn) .values = drawn, .share = SHARE_ANY, .constant = true
#define ROLE(slot) (&shape_roles[SLOT_##slot])

#define SHAPE_MAX_ELEMENTS INT64_C(0x7fffffff) /* with a mask, or of an op with tensors of its own, whose reference may index with int */
#define SHAPE_MAX_IMAGE (INT64_C(1) << 40)     /* of an op of images: every index of ours has 64 bits */
/* Checks: rank 1 to TENSOR_MAX_RANK, positive sizes, product at most SHAPE_MAX_ELEMENTS or SHAPE_MAX_IMAGE. The error names `what`. */
bool shape_check(const char *what, const struct tensor *t, int64_t most, struct error *err);
/* n, c, h, width; for a volume, whose rows h are those of all planes: n, c, d, h / d, width. */
struct tensor shape_activation(const struct work *w, enum shape_slot slot, int64_t c, int64_t h, int64_t width, enum layout layout);
/* Lists the tensors of a work in the order of its op's roles. */
int shape_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS]);
/* n, k, p, q in the input's layout, or in `to` if set. */
void shape_raw_output(const struct work *work, struct tensor *out);

/* Element i of the input (logical order). */
static inline double op_data_input(const struct op_data *data, size_t i)
{
    return data->wide_input ? data->wide_input[i] : (double)data->at[SLOT_INPUT].value[i];
}

#define BIT(value) (1u << (value))
#define EPILOGUES_ALL (BIT(EPILOGUE_COUNT) - 1)
#define DTYPES_ALL (BIT(DTYPE_F32) | BIT(DTYPE_F16) | BIT(DTYPE_BF16))
#define LAYOUTS_ALL (BIT(LAYOUT_NCHW) | BIT(LAYOUT_NHWC))
