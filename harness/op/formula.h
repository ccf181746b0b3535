/* op/formula: what an op of images computes, as its file says it, for one work: an expression over the output's place, what is read there
 * and the taps of a window (docs/OP.md, "Ops of images"). Compiled to a row of steps on a stack; kernels/reference/conv.cu runs the same
 * steps. Private to op/ and the check on the device. */
#ifndef BENCH_OP_FORMULA_H
#define BENCH_OP_FORMULA_H

#include "op/op.h"

/* Names that a formula has beside its op's symbols: where the output is, and through which tap it reads. */
enum formula_name { FORMULA_CHANNEL, FORMULA_Z, FORMULA_Y, FORMULA_X, FORMULA_TAP, FORMULA_NAMES };
extern const char *const formula_names[]; /* NULL-terminated */
#define FORMULA_WEIGHT "weight"           /* of a tap: that of its row times that of its column */

/* conv.cu has the same order. READ: `arg` is the tensor's slot, of the output's channel; READ_AT: of the channel on the stack. SUM, LARGEST
 * and MEAN have `arg` steps behind them, which they do for each tap inside the image. */
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
/* What a formula says, and so which names it has: of the outputs' values tensors, weights, sums and the place of the output (of a volume
 * only its column and channel); of an axis the place along it and the tap. */
enum formula_of { FORMULA_OF_VALUES, FORMULA_OF_ROWS, FORMULA_OF_COLUMNS, FORMULA_OF_PLANES };
/* False + err at its place: what a formula cannot have, or too much of it. */
bool formula_make(const struct expr *e, const struct work *work, enum formula_of of, struct formula *out, struct error *err);
/* Is there a step of this kind? */
bool formula_has(const struct formula *f, enum formula_step_kind kind);

/* What it is run on: `lanes` neighbours, of which each name is base + step * lane. */
#define FORMULA_LANES 64
struct formula_run {
    double base[FORMULA_NAMES], step[FORMULA_NAMES];
    const struct op_data *data; /* NULL: whatever is read is `all` */
    double all;
    int64_t image, channels[OP_MAX_TENSORS]; /* of the tensors, by slot */
    int64_t height, width;                   /* of what is read */
    const struct op_reach *rows, *columns;
    int64_t row, column; /* which outputs of these the first lane is */
};
/* a: the sums of magnitudes; NULL: not asked for. */
void formula_lanes(const struct formula *f, const struct formula_run *run, int lanes, double *y, double *a);

#endif
