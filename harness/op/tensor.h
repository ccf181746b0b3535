/* op/tensor: a typed array of any rank with a layout, and the conversion between its storage and logical order.
 *
 * Logical order is N,C,H,W for activations (N,C,D,H,W for volumes) and K,C/groups,R,S for filters, innermost last. bench makes all data and
 * references in logical order, and packs them into a variant's layout when it uploads them. */
#pragma once

#include "base/dtype.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_MAX_RANK 8

/* How values of a tensor are drawn (op/reference/generate.h). */
enum tensor_values {
    VALUES_OPERAND,
    VALUES_INPUT,
    VALUES_WEIGHT,
    VALUES_BIAS,
    VALUES_ADDEND,
    VALUES_SLOPES, /* reals from -0.125 to 0.375 */
    /* of ops that are files: */
    VALUES_UNIFORM, /* reals between two bounds */
    VALUES_BYTES,   /* whole numbers 0 .. 255 */
    VALUES_INDICES, /* whole numbers below a bound, along the last axis each at most once */
    VALUES_SORTED,  /* normal ones, ascending along the last axis */
    VALUES_BOXES,   /* x, y, width, height of rectangles inside an image */
    VALUES_MASK,    /* 1 with a probability, else 0 */
    VALUES_FILE     /* those of a .npy */
};
/* The part of a tensor that a masked work must move: all; all if any output is active; its marked pixels; its active outputs. */
enum tensor_share { SHARE_WHOLE, SHARE_ANY, SHARE_INPUTS, SHARE_OUTPUTS };
/* Properties of one of an op's tensors. Code that loops over all tensors of a work uses these properties; code that needs a certain tensor
 * asks for its name. */
struct tensor_role {
    const char *name; /* its name in heads, messages and foreign functions */
    int slot;         /* distinct within an op, below OP_MAX_TENSORS: index in op_data, heads and steps */
    unsigned layouts; /* bit set of enum layout: what a head may ask for. BITS alone: it is a mask */
    enum dtype dtype; /* DTYPE_NONE: the work's own */
    enum tensor_values values;
    enum tensor_share share;
    const char *item;      /* the epilogue item that needs it; NULL: none */
    const char *marked_by; /* name of the mask that selects its pixels; NULL: all count */
    bool constant;         /* weights: the same in every launch */
    bool output;           /* the op can write it */
    const char *before;    /* of an output that kernels change in place: the input with its contents before each launch; else NULL */
    bool contents;         /* it is such an input */
    bool result;           /* the output that an epilogue continues from, and that further steps may store in another layout */
};
bool tensor_role_is_mask(const struct tensor_role *role);

struct tensor {
    const struct tensor_role *role;
    enum dtype dtype;
    enum layout layout; /* storage layout; LAYOUT_LINEAR: logical order; LAYOUT_BITS: a mask, one bit per element */
    int rank;
    int64_t dim[TENSOR_MAX_RANK]; /* logical: n,c,h,w | n,c,d,h,w | k,c,r,s | bias: k | masks: n,1,h,w */
    bool written;                 /* this work writes it */
};

size_t tensor_elements(const struct tensor *t);
/* Bytes of the storage (LAYOUT_BITS: for each row ceil(w/32) words of 4 bytes). */
size_t tensor_bytes(const struct tensor *t);
/* The tensor as images x channels x rows x columns, in logical order. Axes between channel and row are folded into the rows (the planes of
 * a volume); a tensor without channels (LINEAR, BITS) has one channel. */
void tensor_fold(const struct tensor *t, int64_t out[4]);
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
/* Index in the storage of a logical element. Not for LAYOUT_BITS. */
size_t tensor_index(const struct tensor *t, size_t logical);
/* The logical index of an element of the storage. Not for LAYOUT_BITS. */
size_t tensor_logical(const struct tensor *t, size_t stored);
/* The logical coordinates of a logical linear index, `rank` of them. */
void tensor_coordinates(const struct tensor *t, size_t logical, int64_t at[TENSOR_MAX_RANK]);
/* The axes in storage order, outermost first, `rank` of them. */
void tensor_axes(const struct tensor *t, int axes[TENSOR_MAX_RANK]);
/* Copies the stored elements (a, b, c, 0 ...) without conversion; coordinates of tensor_fold. Not for LAYOUT_BITS. */
void tensor_row(const struct tensor *t, const void *storage, int64_t a, int64_t b, int64_t c, void *row);
/* Logical float array -> typed storage (rounding once), and back. Threaded. Masks: nonzero = active. */
void tensor_pack(const struct tensor *t, const float *logical, void *storage);
void tensor_pack_wide(const struct tensor *t, const double *logical, void *storage); /* of f64 */
void tensor_unpack(const struct tensor *t, const void *storage, float *logical);
