/* How results react to roundings of the inputs, measured with the reference itself: bench computes it again from slightly different inputs.
 * A kernel whose result is exact for inputs close to its own is right (backward stability), however ill-conditioned the op is there. */
#include "measure/verify/reference.h"
#include "op/random.h"
#include "op/reference/bound.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include <math.h>
#include <stdlib.h>

#define STEP 0x1p-20 /* relative change of an input: some units in the last place of f32 */
#define SHORT_LINE 8
#define LEAST 12.0 /* times the usual change: the largest of many errors, each of some roundings */
/* Which inputs grow, while the others shrink: every second column; every second pair of columns; random ones; all. A row of few columns
 * that is sensitive to any of their differences is sensitive to one of these. */
enum change { CHANGE_COLUMNS, CHANGE_PAIRS, CHANGE_SOME, CHANGE_ALL, CHANGES };

static bool grows(enum change how, uint64_t seed, size_t element, size_t column)
{
    return how == CHANGE_ALL || (how == CHANGE_COLUMNS ? column % 2
                                 : how == CHANGE_PAIRS ? column / 2 % 2
                                                       : random_bits(seed, 0x7369, element) % 2);
}

static void change(const struct work *work, struct op_data *data, const struct op_data *from, enum change how)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct tensor *t = &list[i];
        float *to = data->at[t->role->slot].value;
        for (size_t k = 0; to && generate_is_normal(t) && k < tensor_elements(t); k++) {
            bool up = grows(how, work->seed, k, k % (size_t)t->dim[t->rank - 1]);
            to[k] = (float)(from->at[t->role->slot].value[k] * (up ? 1 + STEP : 1 - STEP));
            if (data->at[t->role->slot].wide)
                data->at[t->role->slot].wide[k] = from->at[t->role->slot].wide[k] * (up ? 1 + STEP : 1 - STEP);
        }
    }
}

/* Keeps the largest root mean square of each row's changes; squares: by slot and row. */
static void keep_largest(const struct work *work, const struct op_data *data, const struct op_data *other, double *squares[OP_MAX_TENSORS])
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        int slot = list[i].role->slot;
        const double *want = data->at[slot].reference, *y = other->at[slot].reference;
        size_t length = (size_t)list[i].dim[list[i].rank - 1], rows = list[i].written ? data->at[slot].elements / length : 0;
        if (rows && !squares[slot])
            squares[slot] = xcalloc(rows, sizeof *squares[slot]);
        for (size_t row = 0; row < rows; row++) {
            double square = 0;
            for (size_t k = row * length; k < (row + 1) * length; k++)
                square += y[k] == want[k] ? 0 : (y[k] - want[k]) * (y[k] - want[k]); /* of equal infinities */
            squares[slot][row] = fmax(squares[slot][row], square / (double)length);
        }
    }
}

static double unit_roundoff(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    double u = work->math == MATH_F16_ACC16 || (work->larger != 0 && work->math == MATH_TF32) ? 0x1p-11 : 0x1p-24;
    for (int i = 0, count = work->op->tensors(work, list); i < count && work->larger != 0; i++)
        if (!list[i].written && generate_is_normal(&list[i]))
            u = fmax(u, dtype_unit_roundoff(list[i].dtype));
    return u;
}

/* Adds to the bound of each element the distance that its row, or a usual one, moves if inputs change by u, times the growth of roundings
 * in a sum. For larger values the question is whether the result overflows: half of the element is added. */
static void widen(const struct work *work, struct op_data *data, double *const squares[OP_MAX_TENSORS])
{
    struct tensor list[OP_MAX_TENSORS];
    double terms = (double)work_terms(work), u = unit_roundoff(work), loose = work->larger != 0 ? 0.5 : 0,
           share = fmax(LEAST * u, bound_share(work->math, terms) * bound_one_sign(work->math, terms)) / STEP;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        struct op_values *v = &data->at[list[i].role->slot];
        const double *square = squares[list[i].role->slot];
        size_t length = (size_t)list[i].dim[list[i].rank - 1];
        double usual = 0;
        v->guessed = v->guessed && !square; /* the reference tells what a guess must leave open */
        for (size_t row = 0; square && row < v->elements / length; row++)
            usual += square[row] * (double)length / (double)v->elements;
        for (size_t k = 0; square && v->bound && k < v->elements; k++)
            v->bound[k] += (float)(share * sqrt(fmax(usual, square[k / length])) + loose * fabs(v->reference[k]));
    }
}

/* False if some line is short. In short lines an error of the mean changes results in a way that no change of the values does: two
 * normalised values, for example, always stay opposite. */
static bool has_long_lines(const struct work *work)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++)
        if (!list[i].written && generate_is_normal(&list[i]) && list[i].dim[list[i].rank - 1] < SHORT_LINE)
            return false;
    return true;
}

bool reference_conditioned(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *out,
                           struct error *err)
{
    if (work->mean != 0 && !has_long_lines(work))
        return error_set(err, ERROR_USAGE, "its lines are too short for a mean");
    if (!reference_data_make(dev, compiler, work, part, out, err))
        return false;
    double *squares[OP_MAX_TENSORS] = {0};
    bool ok = true;
    for (int how = 0; ok && how < CHANGES; how++) {
        struct op_data other;
        ok = op_data_inputs(work, part, &other, err);
        if (!ok)
            break;
        change(work, &other, out, (enum change)how);
        ok = reference_make(dev, compiler, work, part, &other, err);
        if (ok)
            keep_largest(work, out, &other, squares);
        op_data_free(&other);
    }
    if (ok)
        widen(work, out, squares);
    else
        op_data_free(out);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free(squares[i]);
    return ok;
}
