/* op/stage/stage: ops that are stages one behind another, each of them an image to an image: crop, resize, times, minus, into planes
 * (docs/OP.md).
 *
 * A stage is one header, kernels/include/stage/NAME.cuh or one beside the op's file: what it does to a pixel, as a template of the type
 * that it computes in, below a head that says its parameters and what it makes of the image's size, channels and type. The variants of the
 * family `stages` are the ways to cut such a row into launches; their code is put together by the compiler from these headers, told which
 * by -D names (stage_defines). The reference is the same stages in double with running error bounds (kernels/ops/stages.cu). */
#ifndef BENCH_OP_STAGE_H
#define BENCH_OP_STAGE_H

#include "base/node.h"
#include "op/op_file.h"

#define STAGE_MOST 256 /* in one op, repetitions counted */
#define STAGE_PARAMS 8
#define STAGE_FILES 16 /* different ones: kernels/include/stage/files.cuh */
#define STAGE_BRANCHES 8
#define STAGE_LETS 8
#define STAGE_READS 2 /* rectangles of rows and columns that a stage reads for one pixel; and rows, or columns, of one */
/* POINT: a pixel of one; SAMPLE: of an image of another size, through any of its pixels; BOXES: of the rectangles in tensor `boxes`;
 * JOIN: behind branches, the end of that which an image took. */
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
    struct expr *channels, *batch, *size[2], *flop; /* NULL: as what comes in; flop of an element that it makes, 1 */
    int dtype;                                      /* enum dtype; 0: as what comes in; -1: its parameter of type dtype */
    struct {
        const char *name;
        struct expr *value;
    } lets[STAGE_LETS];
    /* What it reads for pixel y, x: each of these rows in each of these columns; of them all, or the first `channels`, channels. None
     * outside the image; NULL: not so many. No part at all: nobody knows. */
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
    int branch, branches; /* of every `branches` images the one with this number; 1: of all. A join: how many meet in it */
};
struct stage_image {
    const struct stage_use *use; /* NULL: the input */
    enum dtype dtype;
    int64_t n, c, h, w;       /* h, w: the largest */
    int before;               /* the image that it is made of; a join: where the branches part */
    int ends[STAGE_BRANCHES]; /* a join: the last of each branch */
};

/* Reads `stages:` of an op's file, whose fields and tensors are known; n NULL: it has none. */
bool stage_read(struct op_file *f, const struct node *n, struct error *err);
/* The reference is the stages themselves, in double (kernels/ops/stages.cu). */
bool stage_reference(struct op_file *f);
void stage_free_all(struct op_file *f);
/* What lies before the first stage and behind each: out[0] is the input. Returns how many, at most STAGE_MOST + 1; -1 on error. */
int stage_images(const struct work *work, struct stage_image out[STAGE_MOST + 1], struct error *err);
/* How many of its images stage i makes: all, or those of its branch. */
int64_t stage_count_of(const struct stage_image *image);
/* Do the stages end in what the op writes? */
bool stage_fits(const struct work *work, struct error *err);
double stage_flop(const struct work *work);
/* What of the tensors must be moved at least: all of what is written, and of the input the rows and columns that the stages read for it, or
 * nothing where a stage does not say (op/stage/reads.c). Boxes lie over one another as often as chance has it. */
double stage_bytes(const struct work *work);
/* The same of the input alone, elements; -1: an expression of a stage cannot be evaluated (err). */
double stage_source(const struct work *work, struct error *err);
/* Names in a stage's expressions: its parameters and lets, n c h w of what comes in, and x y of the pixel that is made. */
struct stage_env {
    const struct work *work;
    const struct stage_use *use;
    struct stage_image in;
    int64_t at[2];  /* y, x; by enum axis_of */
    bool *asked[2]; /* becomes true where an expression asks for y, x; NULL: there are none */
    int inside;     /* the value of a let is asked for, by its number from 1: it sees those before it */
};
/* Leaves *out as it is where there is no expression. */
bool stage_int(struct stage_env *e, const struct expr *x, int64_t *out, struct error *err);
/* -D names for kernels/include/stage/chain.cuh, malloc'd texts in a malloc'd array; -1 on error. */
int stage_defines(const struct work *work, char ***out, struct error *err);

#endif
