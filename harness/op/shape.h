/* op/shape: helpers that the ops share. Private to op/. */
#ifndef BENCH_OP_SHAPE_H
#define BENCH_OP_SHAPE_H

#include "op/op.h"

#define SHAPE_MAX_ELEMENTS INT64_C(0x7fffffff)
/* All four positive and their product at most SHAPE_MAX_ELEMENTS; the error names `what`. */
bool shape_check(const char *what, const int64_t dim[4], struct error *err);
struct tensor shape_activation(const struct work *w, enum tensor_role role, int64_t c, int64_t h, int64_t width, enum layout layout);
/* Appends bias, residual, masks and the final output to a tensor list. */
int shape_epilogue_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS], int count);
/* All tensors of an op with a filter: k, c / groups, r, s. */
int shape_conv_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS]);

#define FIELD(yaml, member, least, most, text) \
    { \
        .name = yaml, .kind = FIELD_INT, .offset = offsetof(struct work, member), .fallback = OP_REQUIRED, .min = least, .max = most, \
        .what = text \
    }
#define FIELD_OR(yaml, member, value, least, most, text) \
    { \
        .name = yaml, .kind = FIELD_INT, .offset = offsetof(struct work, member), .fallback = value, .min = least, .max = most, \
        .what = text \
    }
#define SYMBOL(member, text) \
    { \
#member, offsetof(struct work, member), text \
    }
/* n, c, h, w, which every op has. */
#define FIELDS_NCHW \
    FIELD_OR("n", n, 1, 1, 65535, "images"), FIELD("c", c, 1, 1 << 20, "input channels"), \
        FIELD("h", h, 1, 1 << 20, "input height, pixels"), FIELD("w", w, 1, 1 << 20, "input width, pixels")
#define SYMBOLS_SHAPE \
    SYMBOL(n, "images"), SYMBOL(c, "input channels"), SYMBOL(h, "input height"), SYMBOL(w, "input width"), SYMBOL(k, "output channels"), \
        SYMBOL(p, "output height, before any epilogue"), SYMBOL(q, "output width, before any epilogue")
#define BIT(value) (1u << (value))
#define EPILOGUES_ALL (BIT(EPILOGUE_COUNT) - 1)
#define DTYPES_ALL (BIT(DTYPE_F32) | BIT(DTYPE_F16) | BIT(DTYPE_BF16))
#define LAYOUTS_ALL (BIT(LAYOUT_NCHW) | BIT(LAYOUT_NHWC))

#endif
