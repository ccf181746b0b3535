#include "op/reach.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>

const enum formula_of op_image_axes[] = {
    [IMAGE_ROWS] = FORMULA_OF_ROWS, [IMAGE_COLUMNS] = FORMULA_OF_COLUMNS, [IMAGE_PLANES] = FORMULA_OF_PLANES};

/* Evaluates one expression for all outputs and taps of an axis. A value that is not a whole number from 0 to size - 1 reads nothing. */
static void fill_table(const struct work *work, const struct expr *e, enum op_file_axis axis, struct op_reach *r, double *to)
{
    static const enum formula_name names[] = {[IMAGE_ROWS] = FORMULA_Y, [IMAGE_COLUMNS] = FORMULA_X, [IMAGE_PLANES] = FORMULA_Z};
    enum formula_name along = names[axis];
    struct formula f;
    struct formula_run run = {.data = NULL};
    double lanes[FORMULA_LANES];
    if (!formula_make(e, work, op_image_axes[axis], &f, NULL))
        return; /* the reader of the file has checked it */
    run.step[along] = 1;
    for (int64_t tap = 0; tap < r->taps; tap++)
        for (int64_t o = 0; o < r->outputs; o += FORMULA_LANES) {
            int count = r->outputs - o < FORMULA_LANES ? (int)(r->outputs - o) : FORMULA_LANES;
            run.base[FORMULA_TAP] = (double)tap;
            run.base[along] = (double)o;
            formula_lanes(&f, &run, count, lanes, NULL);
            for (int i = 0; i < count; i++)
                to[(o + i) * r->taps + tap] = lanes[i];
        }
}

static struct op_reach reach_along(const struct work *work, enum op_file_axis axis, int64_t outputs, int64_t taps, int64_t size)
{
    const struct op_file *f = work->op->image;
    struct op_reach r = {.outputs = outputs, .taps = taps};
    double *at = xcalloc((size_t)(outputs * taps) + 1, sizeof *at);
    r.at = xcalloc((size_t)(outputs * taps) + 1, sizeof *r.at);
    fill_table(work, f->reads[axis], axis, &r, at);
    for (int64_t i = 0; i < outputs * taps; i++)
        r.at[i] = at[i] >= 0 && at[i] < (double)size && at[i] == floor(at[i]) ? (int64_t)at[i] : -1;
    if (f->weight[axis])
        fill_table(work, f->weight[axis], axis, &r, at);
    r.weight = f->weight[axis] ? at : NULL;
    if (!r.weight)
        free(at);
    return r;
}

/* Joins planes and rows of a volume: its rows are those of all planes, its taps those of all planes of the filter. */
static struct op_reach join(const struct work *w, struct op_reach planes, struct op_reach rows)
{
    struct op_reach r = {.outputs = planes.outputs * rows.outputs, .taps = planes.taps * rows.taps};
    r.at = xcalloc((size_t)(r.outputs * r.taps) + 1, sizeof *r.at);
    for (int64_t o = 0; o < r.outputs; o++)
        for (int64_t tap = 0; tap < r.taps; tap++) {
            int64_t z = planes.at[o / rows.outputs * planes.taps + tap / rows.taps],
                    y = rows.at[o % rows.outputs * rows.taps + tap % rows.taps];
            r.at[o * r.taps + tap] = z >= 0 && y >= 0 ? z * w->plane + y : -1;
        }
    op_reach_free(&planes);
    op_reach_free(&rows);
    return r;
}

/* Taps of the filter or window, else those that the file gives. */
static int64_t taps_of(const struct work *w, int64_t own)
{
    return own > 0 ? own : w->op->taps > 0 ? w->op->taps : 1;
}

struct op_reach op_reach(const struct work *w, enum axis_of axis)
{
    int64_t taps = op_taps(w, axis);
    if (axis == AXIS_COLUMNS)
        return reach_along(w, IMAGE_COLUMNS, w->q, taps, w->w);
    if (!w->op->volume)
        return reach_along(w, IMAGE_ROWS, w->p, taps, w->h);
    int64_t deep = taps_of(w, w->t);
    return join(w, reach_along(w, IMAGE_PLANES, w->o, deep, w->d), reach_along(w, IMAGE_ROWS, w->plane_out, taps / deep, w->plane));
}

void op_reach_free(struct op_reach *r)
{
    free(r->at);
    free(r->weight);
    *r = (struct op_reach){0};
}

int64_t op_taps(const struct work *w, enum axis_of axis)
{
    return taps_of(w, axis == AXIS_COLUMNS ? w->s : w->r) * (axis == AXIS_ROWS && w->op->volume ? taps_of(w, w->t) : 1);
}
