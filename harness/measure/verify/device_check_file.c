/* References of ops that are files, on the device that runs their kernel: inputs, results and bounds stay on the device. bench compares
 * them with a run of some blocks on emu (reference_cross_check), and the bounds of some rows with the CPU's. */
#include "base/text.h"
#include "measure/verify/device_check_private.h"
#include "measure/verify/reference_private.h"
#include "op/reference/bound.h"
#include "op/op_file.h"
#include "op/reference/generate.h"
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>

#define ROWS 6           /* whose bounds the CPU computes as well */
#define SCALED (1 << 18) /* elements from which the scale is determined */

bool card_file_able(const struct work *work)
{
    return work->op->file && work->op->file->from == REFERENCE_KERNEL;
}

static double scale_below(const struct scales *scales, int i)
{
    return i < scales->count ? scales->below[i] : INFINITY;
}

/* Determines the scales of a tensor from evenly spaced rows. */
static bool scales_there(const struct card_data *d, const struct tensor *t, struct scales *scales, struct error *err)
{
    struct device *dev = d->card->dev;
    const struct card_values *at = &d->at[t->role->slot];
    int64_t length = t->dim[t->rank - 1], rows = (int64_t)at->elements / length, most = SCALED / length > 0 ? SCALED / length : 1,
            step = rows > most ? (rows + most - 1) / most : 1;
    SCOPED double *y = xmalloc((size_t)((rows + step - 1) / step * length) * sizeof *y);
    int64_t taken = 0;
    bool ok = true;
    for (int64_t row = 0; ok && row < rows; row += step, taken++)
        ok = dev->ops->read(dev, at->reference + (uint64_t)(row * length) * sizeof *y, y + taken * length, (size_t)length * sizeof *y, err);
    if (ok)
        *scales = reference_scales(y, taken, length);
    return ok;
}

/* Computes the bounds of a result on the device. */
static bool settle(struct card_data *d, const struct reference_run *r, const struct op_bounds *is, const struct tensor *t,
                   const struct scales *scales, struct error *err)
{
    const struct work *w = r->work;
    struct device *dev = d->card->dev;
    struct card_values *at = &d->at[t->role->slot];
    double tolerance = op_file_tolerance(w->op, t->role), apart = work_is_exact(w) ? 1 : bound_one_sign(w->math, (double)is->terms),
           value = NAN;
    uint64_t sizes = r->extra[t->role->slot], wrong = UINT64_MAX;
    int64_t length = t->dim[t->rank - 1], rows = (int64_t)at->elements / length;
    double below, above;
    dtype_range(t->dtype, &below, &above);
    union card_arg args[] = {card_int((int64_t)at->reference),
                             card_int((int64_t)sizes),
                             card_int((int64_t)at->bound),
                             card_int(rows),
                             card_int(length),
                             card_real(is->sums || tolerance > 0 ? reference_terms(w, t, is) : 0),
                             card_int(r->bounds[t->role->slot]),
                             card_real(tolerance),
                             card_real(bound_share(w->math, (double)is->terms)),
                             card_int(w->math == MATH_TF32),
                             card_real((double)is->least),
                             card_int(w->math == MATH_I8_ACC32),
                             card_real(is->sums ? apart : 0),
                             card_real(reference_begun(w, t, is)),
                             card_real(below),
                             card_real(above),
                             card_int(!dtype_holds(t->dtype, INFINITY)),
                             card_real(scale_below(scales, 0)),
                             card_real(scale_below(scales, 1)),
                             card_real(scale_below(scales, 2)),
                             card_int((int64_t)d->card->counts)};
    if (!dev->ops->write(dev, d->card->counts, &wrong, sizeof wrong, err) ||
        !card_launch(d->card, CARD_SETTLE, rows * CARD_THREADS, args, sizeof args / sizeof *args, err) || !dev->ops->sync(dev, err) ||
        !dev->ops->read(dev, d->card->counts, &wrong, sizeof wrong, err))
        return false;
    if (wrong == UINT64_MAX)
        return true;
    return dev->ops->read(dev, at->reference + wrong * sizeof value, &value, sizeof value, err) &&
           reference_refuse(t, (int64_t)wrong, value, err);
}

/* Checks that the device's bounds of a row equal those that the CPU computes. */
static bool row_agrees(const struct card_data *d, const struct reference_run *r, const struct op_bounds *is, const struct tensor *t,
                       const struct scales *scales, int64_t row, double *loose, struct error *err)
{
    struct device *dev = d->card->dev;
    const struct card_values *at = &d->at[t->role->slot];
    size_t length = (size_t)t->dim[t->rank - 1], first = (size_t)row * length;
    int slot = t->role->slot;
    uint64_t sizes_at = r->extra[slot];
    double *y = xmalloc(length * 2 * sizeof *y), *sizes = sizes_at ? y + length : NULL;
    SCOPED float *bound = xmalloc(length * 2 * sizeof *bound);
    struct reference_rows rows = {r->work, is, t, y, sizes, bound + length, r->bounds[slot], 1, *scales};
    int64_t wrong;
    bool ok = dev->ops->read(dev, at->reference + first * sizeof *y, y, length * sizeof *y, err) &&
              (!sizes || dev->ops->read(dev, sizes_at + first * sizeof *y, sizes, length * sizeof *y, err)) &&
              dev->ops->read(dev, at->bound + first * sizeof *bound, bound, length * sizeof *bound, err);
    if (ok && !reference_settle_rows(&rows, &wrong, loose))
        ok = reference_refuse(t, (int64_t)first + wrong, y[wrong], err);
    for (size_t i = 0; ok && i < length; i++)
        if (!(fabs((double)bound[i] - (double)rows.bound[i]) <= 0x1p-20 * (double)rows.bound[i]))
            ok = error_set(err, ERROR_INTERNAL, "tolerance of element %zu of %s: the device computes %.9g, the CPU %.9g", first + i,
                           t->role->name, (double)bound[i], (double)rows.bound[i]);
    free(y);
    return ok;
}

static bool rows_agree(const struct card_data *d, const struct reference_run *r, const struct op_bounds *is, const struct tensor *t,
                       const struct scales *scales, double *loose, struct error *err)
{
    int64_t rows = (int64_t)d->at[t->role->slot].elements / t->dim[t->rank - 1], count = rows < ROWS ? rows : ROWS;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = i < 1 ? 0 : i < 2 ? rows - 1 : (int64_t)(random_bits(r->work->seed, 0x5a3f20, (uint64_t)i) % (uint64_t)rows);
        double of_row;
        if (!row_agrees(d, r, is, t, scales, row, &of_row, err))
            return false;
        *loose += of_row / (double)count;
    }
    return true;
}

static bool make(struct card_data *d, const struct work *w, struct reference_run *r, const struct op_bounds *is, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    struct device *dev = d->card->dev;
    int count = w->op->tensors(w, list);
    for (int i = 0; i < count; i++) {
        struct card_values *at = &d->at[list[i].role->slot];
        size_t elements = tensor_elements(&list[i]);
        if (list[i].written && (!card_room_reference(d, elements, is->bounds, at, err) ||
                                !dev->ops->fill(dev, at->reference, UINT32_MAX, elements * sizeof(double), err)))
            return false;
        at->elements = list[i].written ? elements : 0;
        r->at[list[i].role->slot] = list[i].written ? at->reference : at->value;
    }
    if (!reference_run(r, d->card->compiler, err))
        return false;
    for (int i = 0; i < count; i++) {
        if (!list[i].written)
            continue;
        struct op_values *host = &d->host->at[list[i].role->slot];
        struct scales scales = {0};
        host->guessed = is->sums && !r->extra[list[i].role->slot] && !(op_file_tolerance(w->op, list[i].role) > 0);
        if ((!r->extra[list[i].role->slot] && !scales_there(d, &list[i], &scales, err)) || !settle(d, r, is, &list[i], &scales, err) ||
            (is->bounds && !rows_agree(d, r, is, &list[i], &scales, &host->loose, err)))
            return false;
    }
    return true;
}

bool card_file(struct card_data *d, const struct work *work, enum data_part part, struct error *err)
{
    struct op_bounds is = op_data_bounds(work, d->host);
    struct reference_run r = {.dev = d->card->dev, .work = work, .data = d->host, .file = work->op->file, .lent = true};
    phase_part(d->card->dev->clock, "reference");
    bool ok = card_inputs_agree(d, work, err) && op_data_room(work, d->host, is.bounds, err) && make(d, work, &r, &is, err);
    reference_run_close(&r);
    phase_pop(d->card->dev->clock);
    return ok || error_where(err, "the reference of %s", work->op->name);
}
