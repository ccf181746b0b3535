/* op/stage/stage: ops that are a sequence of stages, each from an image to an image: crop, resize, multiply, subtract, split into planes
 * (docs/OP.md).
 *
 * A stage is one header, kernels/include/stage/NAME.cuh or one beside the op's file: a template of what it does to a pixel, for the type in
 * which it computes, below a head with its parameters and the resulting size, channels and type. The variants of the family `stages` are
 * the ways to cut such a sequence into launches. The compiler builds their code from these headers, selected by -D names (stage_defines).
 * The reference is the same stages in double with running error bounds (kernels/ops/stages.cu). */
#pragma once

#include "base/node.h"
#include "op/op_file.h"

#define STAGE_MOST 256 /* in one op, repetitions counted */
#define STAGE_PARAMS 8
#define STAGE_FILES 16 /* different stages in one op: kernels/include/stage/files.cuh has as many */
#define STAGE_BRANCHES 8
#define STAGE_LETS 8
#define STAGE_READS 2 /* rectangles of rows and columns that a stage reads for one pixel; and rows, or columns, of each */
/* POINT: a pixel from a pixel; SAMPLE: an image of another size, from any pixels of the input; BOXES: the rectangles in tensor `boxes`;
 * JOIN: the end of branches. */
enum stage_kind { STAGE_POINT, STAGE_SAMPLE, STAGE_BOXES, STAGE_JOIN };
enum stage_type { STAGE_WHOLE, STAGE_REAL, STAGE_REALS, STAGE_DTYPE };
struct stage_param {
    const char *name;
    enum stage_type type;
    const struct node *fallback; /* NULL: it must be given */
};
struct stage_head {
    char *name, *include; /* include: as the compiler finds it */
    const char *what;
    struct node *root;
    enum stage_kind kind;
    struct stage_param params[STAGE_PARAMS];
    int param_count;
    struct expr *channels, *batch, *size[2], *flop; /* NULL: as the input image; flop: per element, default 1 */
    int dtype;                                      /* enum dtype; 0: as the input image; -1: from its parameter of type dtype */
    struct {
        const char *name;
        struct expr *value;
    } lets[STAGE_LETS];
    /* The pixels that it reads for pixel y, x: each of these rows in each of these columns, in all channels or the first `channels`; none
     * outside the image. NULL: fewer rows or columns. No part at all: unknown. */
    struct {
        struct expr *lines[2][STAGE_READS]; /* by enum axis_of */
    } reads[STAGE_READS];
    int let_count, read_count, channels_read;
};
/* A stage as an op uses it. */
struct stage_use {
    const struct stage_head *stage;
    const struct node *node;
    struct expr *values[STAGE_PARAMS][4]; /* of the op's expressions; REALS: up to four */
    int counts[STAGE_PARAMS];
    enum dtype dtype;     /* that its parameter of type dtype names */
    struct expr *times;   /* NULL: once */
    int branch, branches; /* runs on every `branches`-th image, from number `branch` on; 1: on all. A join: how many branches end in it */
};
struct stage_image {
    const struct stage_use *use; /* NULL: the input */
    enum dtype dtype;
    int64_t n, c, h, w;       /* h, w: the largest */
    int before;               /* index of the image it is made from; a join: where the branches begin */
    int ends[STAGE_BRANCHES]; /* a join: the last of each branch */
};

/* Reads `stages:` of an op's file, whose fields and tensors are known; n NULL: it has none. */
bool stage_read(struct op_file *f, const struct node *n, struct error *err);
/* Sets the reference: the stages themselves, in double (kernels/ops/stages.cu). */
bool stage_reference(struct op_file *f);
void stage_free_all(struct op_file *f);
/* The images before the first stage (out[0], the input) and after each. Returns how many, at most STAGE_MOST + 1; -1 on error. */
int stage_images(const struct work *work, struct stage_image out[STAGE_MOST + 1], struct error *err);
/* How many of its images stage i makes: all, or those of its branch. */
int64_t stage_count_of(const struct stage_image *image);
/* Checks that the last image is what the op writes. */
bool stage_fits(const struct work *work, struct error *err);
double stage_flop(const struct work *work);
/* Compulsory bytes: all of the outputs, and of the input the rows and columns that the stages read, or nothing if a stage does not say
 * (reads.c). Counts the expected overlap of boxes once. */
double stage_bytes(const struct work *work);
/* The same for the input alone, in elements; -1: an expression of a stage cannot be evaluated (err). */
double stage_source(const struct work *work, struct error *err);
/* Names in a stage's expressions: its parameters and lets, n c h w of the input image, x y of the output pixel. */
struct stage_env {
    const struct work *work;
    const struct stage_use *use;
    struct stage_image in;
    int64_t at[2];  /* y, x; by enum axis_of */
    bool *asked[2]; /* set to true if an expression asks for y, x; NULL: these names do not exist */
    int inside;     /* number, from 1, of the let that is being evaluated: it sees those before it */
};
/* Evaluates a whole number; leaves *out if there is no expression. */
bool stage_int(struct stage_env *e, const struct expr *x, int64_t *out, struct error *err);
/* -D names for kernels/include/stage/chain.cuh, malloc'd texts in a malloc'd array; -1 on error. */
int stage_defines(const struct work *work, char ***out, struct error *err);
