/* op/op_file: an op that is a file, kernels/ops/NAME.yaml or one of the user's (grammar: docs/OP.md).
 *
 * The file fills a struct op like any other: its fields, and the whole numbers it names, live in work->value; shapes, FLOP and the like are
 * expressions of them. Its reference is made by measure/verify/reference, which has a device to run it on. An op of images (its file says
 * `output:`) has the sizes of struct work and the tensors of op/shape.h instead, and op/formula makes its reference. */
#pragma once

#include "op/op.h"

/* The axis of an expression of `reads`. */
enum op_file_axis { IMAGE_ROWS, IMAGE_COLUMNS, IMAGE_PLANES, IMAGE_AXES };
/* How reference results are made: by a kernel in double, by a Python function, or read from files. */
enum reference_from { REFERENCE_KERNEL, REFERENCE_PYTHON, REFERENCE_NPY };
enum special { SPECIAL_INFINITY = 1, SPECIAL_NEGATIVE = 2, SPECIAL_NAN = 4 };
/* What the file says of one tensor, beyond its role. */
struct op_file_tensor {
    struct tensor_role role;
    const struct node *node;
    char *name;                /* NAME_before, of contents; NULL: the node's */
    const char *what;          /* NULL: nothing said */
    struct expr **shape;       /* rank of them, outermost first */
    struct expr *when, *below; /* when: the tensor exists only if true (NULL: always); below: limit of indices (NULL: none) */
    struct expr *within[2];    /* VALUES_BOXES: height and width of the image */
    int64_t (*sizes)[2];       /* VALUES_BOXES: widths and heights, taken in turn */
    int size_count;
    enum layout layout; /* fixed layout; LAYOUT_NONE: linear, or for an image the work's */
    double low, high, step,
        level; /* VALUES_UNIFORM: from low to high; some lines of a tensor add step or level (draw_real in kernels/reference/draw.h) */
    unsigned specials;                             /* enum special, bits: values that it may have among its drawn ones, on nearby shapes */
    char *values_file, *reference_npy, *sizes_npy; /* absolute paths; values_file: a .npy, or a picture; NULL: none */
    double tolerance;                              /* of a result: relative to its magnitude; 0: a sum of `terms` is bounded */
    int rank;
    bool bounds; /* sizes_npy are bounds of the reference, not magnitudes */
    bool image;  /* four axes n, c, h, w, stored in the case's layout */
};
#define STAGE_FAMILY "stages" /* the op whose variants every op with stages has */
#define OP_IMAGE_KERNEL 255   /* largest value of a field `kernel` of an op of images */
/* Arguments of a reference that makes bounds (op/reference/bound.h). */
#define OP_FILE_ROUNDOFF "roundoff"
#define OP_FILE_SUM_ERROR "sum_error"
struct stage_use;
struct op_file {
    struct op op; /* first: what everybody else sees */
    char *path;
    char *hash;     /* HASH_TEXT bytes for op_file_hash(); empty: not asked for yet */
    bool installed; /* one of bench's own */
    struct node *root;
    struct op_file_tensor tensors[OP_MAX_TENSORS];
    int tensor_count;
    struct expr **lets; /* of whole numbers */
    const char **let_names;
    int let_count, field_count;
    size_t *let_offsets; /* where in struct work */
    struct expr **needs;
    const char **need_says; /* message if the condition is false; NULL: the condition itself */
    int need_count;
    struct expr *flop, *bytes, *terms; /* NULL: 0; each tensor once; 0 */
    struct stage_use *stages;          /* op/stage/stage.h; NULL: none */
    int stage_count, stage_kinds;
    double tolerance;      /* the largest of the results; 0: none has one */
    double error_rms;      /* root mean square of a correct kernel's errors, as a share of the bound; 0: not known */
    bool exact;            /* every correct kernel gives the same bits on small whole numbers */
    struct expr *exact_if; /* ... of works where this is true; NULL: of all */
    enum reference_from from;
    char *source, *function; /* absolute path of the .cu or .py, and the name in it */
    struct expr *threads;    /* REFERENCE_KERNEL */
    char **args;
    int arg_count;
    const char **symbol_names; /* NULL-terminated */
    /* An op of images: the formula of an output; the magnitude that its errors are relative to (NULL: from its terms); the input that it
     * reads along each axis; the weight of a tap (NULL: 1); the threshold from which an output is sent on (NULL: all are)
     */
    struct expr *output, *size, *reads[IMAGE_AXES], *weight[IMAGE_AXES], *sent_above;
    const struct op_field *sent_field; /* the field that names the norm; NULL: it is `sent_norm` */
    enum truncate sent_norm;
};

/* Path of the op's file; NULL: the op is in C. */
const char *op_path(const struct op *op);
/* Hash of the file and of the sources of its reference, with all headers of kernels/include if it includes one by a macro. Computed at the
 * first call. */
const char *op_file_hash(const struct op_file *f);
/* Parses an expression over the op's fields and lets; NULL on error. */
struct expr *op_file_expr(struct op_file *f, const struct node *n, struct error *err);
/* True if the name, of a field, occurs in the expression, or in a let that it depends on. */
bool op_file_uses(const struct op_file *f, const struct expr *e, const char *name);
/* Width and height of rectangle i of a tensor of VALUES_BOXES. */
void op_file_box(const struct work *work, const struct op_file_tensor *of, size_t i, int64_t size[2]);
/* True if the work's input can be read from a picture: it is an image of u8 or u16. */
bool op_file_takes_picture(const struct op *op);
/* What the file says of a tensor of its own; NULL for an op of images. */
const struct op_file_tensor *op_file_tensor(const struct op *op, const struct tensor_role *role);
/* The tolerance that the file gives a result; 0: none. */
double op_file_tolerance(const struct op *op, const struct tensor_role *role);
/* Appends "rows 1024 cols 1000". */
void op_file_describe(const struct work *work, struct text *t);
/* Of an op of images: appends the fields that are its own and not at their default, " ceil_mode 1". */
void op_image_describe(const struct work *work, struct text *t);
/* Appends `name=value;` for each of the op's own fields, and the hash of its file: for an op of images only if the file is not bench's. */
void op_file_key(const struct work *work, struct text *t);
