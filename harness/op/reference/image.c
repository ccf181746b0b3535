/* Hooks of struct op for an op of images whose file gives a formula for an output (docs/OP.md, "Ops of images"). */
#include "op/reference/image.h"
#include "base/text.h"
#include "op/formula.h"
#include "op/op_file.h"
#include "op/reach.h"
#include "op/reference/sums.h"
#include "op/shape.h"
#include <math.h>
#include <string.h>

/* Input of the work's formula for one image. */
static struct formula_run run_of(const struct work *w, const struct op_data *data, int64_t image)
{
    return (struct formula_run){.data = data,
                                .image = image,
                                .channels = {[SLOT_INPUT] = w->c, [SLOT_STORED] = w->c, [SLOT_SECOND] = w->k > w->c ? w->k - w->c : w->c},
                                .height = w->h,
                                .width = w->w,
                                .of_channels = w->op->of_channels,
                                .rows = &data->reach[AXIS_ROWS],
                                .columns = &data->reach[AXIS_COLUMNS],
                                .step[FORMULA_X] = 1};
}

static bool any_wanted(const struct op_data *data, int64_t first, int lanes)
{
    for (int i = 0; data->columns && i < lanes; i++)
        if (data->columns[first + i])
            return true;
    return !data->columns;
}

void op_image_row(const struct work *w, const struct op_data *data, int64_t n, int64_t p, double *y, double *a)
{
    const struct op_file *file = w->op->image;
    struct formula f, size;
    struct formula_run run = run_of(w, data, n);
    if (w->op->has_filter) {
        reference_sums_row(w, data, n, p, y, a);
        return;
    }
    if (!formula_make(file->output, w, FORMULA_OF_VALUES, &f, NULL) ||
        (file->size && !formula_make(file->size, w, FORMULA_OF_VALUES, &size, NULL)))
        return;
    run.row = p;
    run.base[FORMULA_Y] = (double)p;
    for (int64_t k = 0; k < w->k; k++)
        for (int64_t q = 0; q < w->q; q += FORMULA_LANES) {
            int lanes = w->q - q < FORMULA_LANES ? (int)(w->q - q) : FORMULA_LANES;
            run.base[FORMULA_CHANNEL] = (double)k;
            run.base[FORMULA_X] = (double)(run.column = q);
            double *sizes = a ? a + k * w->q + q : NULL;
            if (!any_wanted(data, q, lanes))
                continue;
            formula_lanes(&f, &run, lanes, y + k * w->q + q, file->size ? NULL : sizes);
            if (file->size && sizes)
                formula_lanes(&size, &run, lanes, sizes, NULL);
        }
}

static bool output_has(const struct work *w, enum formula_step_kind kind)
{
    struct formula f;
    return w->op->image && formula_make(w->op->image->output, w, FORMULA_OF_VALUES, &f, NULL) && formula_has(&f, kind);
}

int64_t op_means(const struct work *w)
{
    return output_has(w, FORMULA_MEAN) ? op_taps(w, AXIS_ROWS) * op_taps(w, AXIS_COLUMNS) : 1;
}

bool op_compares(const struct work *w)
{
    return output_has(w, FORMULA_LARGEST);
}

/* The largest magnitude of an output if all inputs are `in`: in the middle, and at the ends of channels, rows and columns. */
static double magnitude_of(const struct work *w, const struct formula *f, const struct op_data *reach, double in)
{
    double y[FORMULA_LANES], a[FORMULA_LANES], most = 0;
    struct formula_run run = run_of(w, reach, 0);
    int lanes = w->q < FORMULA_LANES ? (int)w->q : FORMULA_LANES;
    run.data = NULL;
    run.all = in;
    for (int i = 0; i < 3 * 3 * 3; i++) {
        run.row = i % 3 * (w->p - 1) / 2;
        run.column = i / 3 % 3 * (w->q - lanes) / 2;
        run.base[FORMULA_CHANNEL] = (double)(i / 9 * (w->k - 1) / 2);
        run.base[FORMULA_Y] = (double)run.row;
        run.base[FORMULA_X] = (double)run.column;
        formula_lanes(f, &run, lanes, y, a);
        for (int k = 0; k < lanes; k++)
            most = fmax(most, a[k]);
    }
    return most;
}

/* Compiles the formula of an op of images without a filter, and makes its reach; false: the op is none. */
static bool formula_of(const struct work *w, struct formula *f, struct op_data *reach)
{
    if (!w->op->image || w->op->has_filter || !formula_make(w->op->image->output, w, FORMULA_OF_VALUES, f, NULL))
        return false;
    for (int axis = 0; axis < 2; axis++)
        reach->reach[axis] = op_reach(w, (enum axis_of)axis);
    return true;
}

double op_gain(const struct work *w)
{
    struct formula f;
    struct op_data none = {0};
    if (!formula_of(w, &f, &none))
        return 1;
    double gain = magnitude_of(w, &f, &none, 1);
    op_reach_free(&none.reach[AXIS_ROWS]);
    op_reach_free(&none.reach[AXIS_COLUMNS]);
    return gain;
}

/* The smallest power of two that makes the number whole; 1 if there is none below the limit. */
static double parts_of(double number)
{
    double parts = 1;
    while (parts < 0x1p12 && number * parts != floor(number * parts))
        parts *= 2;
    return parts < 0x1p12 ? parts : 1;
}

int64_t op_largest(const struct work *w, int64_t most, double limit)
{
    struct formula f;
    struct op_data none = {0};
    double parts = 1;
    if (!formula_of(w, &f, &none))
        return most;
    for (int i = 0; i < f.count; i++)
        parts = f.steps[i].kind == FORMULA_NUMBER ? fmax(parts, parts_of(f.steps[i].number)) : parts;
    while (most > 1 && !(fmax(magnitude_of(w, &f, &none, (double)most), magnitude_of(w, &f, &none, -(double)most)) * parts <= limit))
        most /= 2;
    op_reach_free(&none.reach[AXIS_ROWS]);
    op_reach_free(&none.reach[AXIS_COLUMNS]);
    return most;
}

double op_grain(const struct work *w)
{
    double parts = 1;
    for (int axis = 0; w->op->image && axis < 2; axis++) {
        SCOPED_BY(op_reach_free) struct op_reach r = op_reach(w, (enum axis_of)axis);
        double own = 1;
        for (int64_t i = 0; r.weight && i < r.outputs * r.taps; i++)
            while (own < 0x1p20 && r.weight[i] * own != floor(r.weight[i] * own))
                own *= 2;
        parts *= own;
    }
    return parts;
}

/* ---- settle: values decide which outputs are sent on ---- */

/* The norm of a pixel's outputs over its channels. */
static void norms_of(const struct work *w, struct formula_run *run, const struct formula *f, enum truncate norm, int lanes, double *out)
{
    double y[FORMULA_LANES];
    for (int i = 0; i < lanes; i++)
        out[i] = 0;
    for (int64_t c = 0; c < w->k; c++) {
        run->base[FORMULA_CHANNEL] = (double)c;
        formula_lanes(f, run, lanes, y, NULL);
        for (int i = 0; i < lanes; i++)
            out[i] = norm == TRUNCATE_MAX ? fmax(out[i], fabs(y[i])) : out[i] + y[i] * y[i];
    }
    for (int i = 0; i < lanes && norm != TRUNCATE_MAX; i++)
        out[i] = sqrt(norm == TRUNCATE_RMS ? out[i] / (double)w->k : out[i]);
}

enum truncate op_image_norm(const char *name)
{
    int i = 0;
    while (i < TRUNCATE_COUNT && strcmp(truncate_names[i], name) != 0)
        i++;
    return (enum truncate)i;
}

void op_image_settle(const struct work *w, struct op_data *data)
{
    const struct op_file *file = w->op->image;
    enum truncate norm = file->sent_norm;
    struct value above;
    struct formula f;
    if (!formula_make(file->output, w, FORMULA_OF_VALUES, &f, NULL) || !work_value(w, file->sent_above, &above, NULL))
        return;
    if (file->sent_field)
        norm = op_image_norm(file->sent_field->words[*(const int64_t *)(const void *)((const char *)w + file->sent_field->offset)]);
    double least = above.kind == VALUE_INT ? (double)above.i : above.d, norms[FORMULA_LANES];
    for (int64_t i = 0; i < w->n * w->p; i++)
        for (int64_t q = 0; q < w->q; q += FORMULA_LANES) {
            struct formula_run run = run_of(w, data, i / w->p);
            int lanes = w->q - q < FORMULA_LANES ? (int)(w->q - q) : FORMULA_LANES;
            run.base[FORMULA_Y] = (double)(run.row = i % w->p);
            run.base[FORMULA_X] = (double)(run.column = q);
            norms_of(w, &run, &f, norm, lanes, norms);
            for (int k = 0; k < lanes; k++) {
                int64_t pixel = i % w->p * w->q + q + k;
                float *active = &data->mask_out[i * w->q + q + k];
                bool close = fabs(norms[k] - least) < 1e-3 * least;
                for (int64_t c = 0; *active != 0 && c < w->c && close; c++)
                    data->at[SLOT_INPUT].value[(i / w->p * w->c + c) * w->h * w->w + pixel] = 0;
                *active = *active != 0 && norms[k] - least >= 1e-3 * least && norms[k] > 0;
            }
        }
}
