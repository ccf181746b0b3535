/* op/formula: the formula of an op of images for one work: an expression over the output's coordinates, the values it reads and the taps of
 * a window (docs/OP.md, "Ops of images"). It is compiled to steps of a stack machine; kernels/reference/conv.cu runs the same steps. */
#pragma once

#include "op/op.h"

/* Names of a formula, besides its op's symbols: coordinates of the output, and the tap through which it reads. */
enum formula_name { FORMULA_CHANNEL, FORMULA_Z, FORMULA_Y, FORMULA_X, FORMULA_TAP, FORMULA_NAMES };
extern const char *const formula_names[]; /* NULL-terminated */
#define FORMULA_WEIGHT "weight"           /* weight of a tap: that of its row times that of its column */

/* kernels/reference/conv.cu has the same order. READ: `arg` is the tensor's slot, read at the output's channel; READ_AT: at the channel on
 * the stack. SUM, LARGEST and MEAN: the next `arg` steps are run for each tap inside the image. */
enum formula_step_kind {
    FORMULA_NUMBER,
    FORMULA_NAME,
    FORMULA_READ,
    FORMULA_READ_AT,
    FORMULA_TAP_WEIGHT,
    FORMULA_ADD,
    FORMULA_SUB,
    FORMULA_MUL,
    FORMULA_DIV,
    FORMULA_MOD,
    FORMULA_FLOOR,
    FORMULA_CEIL,
    FORMULA_MIN,
    FORMULA_MAX,
    FORMULA_LESS,
    FORMULA_AT_MOST,
    FORMULA_EQUAL,
    FORMULA_SELECT,
    FORMULA_SUM,
    FORMULA_LARGEST,
    FORMULA_MEAN
};
struct formula_step {
    int64_t kind, arg;
    double number;
};
#define FORMULA_STEPS 96
#define FORMULA_DEPTH 12 /* of the stack */
struct formula {
    struct formula_step steps[FORMULA_STEPS];
    int count;
};
/* What a formula computes, which decides the names it may use. Values of outputs: tensors, weights, sums and the output's coordinates (in a
 * volume only column and channel). Coordinates on an axis: the output's coordinate on it, and the tap. */
enum formula_of { FORMULA_OF_VALUES, FORMULA_OF_ROWS, FORMULA_OF_COLUMNS, FORMULA_OF_PLANES };
/* Compiles an expression. False + err at its place: the expression uses something that a formula cannot have, or is too long. */
bool formula_make(const struct expr *e, const struct work *work, enum formula_of of, struct formula *out, struct error *err);
/* Is there a step of this kind? */
bool formula_has(const struct formula *f, enum formula_step_kind kind);

/* Input of a run: `lanes` adjacent outputs; the value of a name in a lane is base + step * lane. */
#define FORMULA_LANES 64
struct formula_run {
    double base[FORMULA_NAMES], step[FORMULA_NAMES];
    const struct op_data *data; /* NULL: whatever is read is `all` */
    double all;
    int64_t image, channels[OP_MAX_TENSORS]; /* of the tensors, by slot */
    int64_t height, width;                   /* of what is read */
    bool of_channels;                        /* the second tensor has one value a channel */
    const struct op_reach *rows, *columns;
    int64_t row, column; /* the outputs of the first lane */
};
/* Runs the formula. a: sums of magnitudes; NULL: not wanted. */
void formula_lanes(const struct formula *f, const struct formula_run *run, int lanes, double *y, double *a);
