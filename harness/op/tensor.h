/* op/tensor: a named typed array with a layout, and the way between its storage and logical order.
 *
 * Logical order is N,C,H,W for activations and K,C/groups,R,S for filters, innermost last; all data and references are
 * made in logical order, and packed into the layout a variant asks for when they are uploaded. */
#ifndef BENCH_OP_TENSOR_H
#define BENCH_OP_TENSOR_H

#include "base/dtype.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tensor_role {
    ROLE_INPUT,
    ROLE_FILTER,
    ROLE_BIAS,
    ROLE_RESIDUAL,
    ROLE_MASK_IN,
    ROLE_MASK_OUT,
    ROLE_OUTPUT,
    ROLE_LINKS,
    ROLE_STORED,
    ROLE_SECOND,
    ROLE_MASK_SECOND,
    ROLE_COUNT
};
/* "input", "filter", "bias", "residual", "mask_in", "mask_out", "output", "links" (op chain: what its kernels must know of each link),
 * "stored" (values before the changes in `input`), "second" (the other tensor of add and concat), "mask_second": the names that heads use.
 */
const char *tensor_role_name(enum tensor_role role);

struct tensor {
    enum tensor_role role;
    enum dtype dtype;
    enum layout layout; /* of the storage; LAYOUT_LINEAR for bias, LAYOUT_BITS for masks */
    int64_t dim[4];     /* logical: n,c,h,w | k,c,r,s | bias: 1,1,1,k | masks: n,1,h,w */
    bool written;       /* the op writes it (output, mask_out) */
};

size_t tensor_elements(const struct tensor *t);
/* Bytes of the storage (LAYOUT_BITS: n*h*ceil(w/32) words of 4 bytes). */
size_t tensor_bytes(const struct tensor *t);
/* Storage index of logical element (a,b,c,d). Not for LAYOUT_BITS. */
size_t tensor_index(const struct tensor *t, int64_t a, int64_t b, int64_t c, int64_t d);
/* The logical coordinates of a logical linear index. */
void tensor_coordinates(const struct tensor *t, size_t logical, int64_t at[4]);
/* The typed elements (a, b, c, 0 .. dim[3]) of the storage, as they are. Not for LAYOUT_BITS. */
void tensor_row(const struct tensor *t, const void *storage, int64_t a, int64_t b, int64_t c, void *row);
/* Logical float array -> typed storage (rounding once), and back. Threaded. Masks: nonzero = active. */
void tensor_pack(const struct tensor *t, const float *logical, void *storage);
void tensor_unpack(const struct tensor *t, const void *storage, float *logical);

#endif
