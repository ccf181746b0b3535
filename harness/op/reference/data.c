#include "op/reference/data.h"
#include "base/large.h"
#include "base/pool.h"
#include "base/text.h"
#include "op/reference/bound.h"
#include "op/reference/epilogue_row.h"
#include "op/reference/generate.h"
#include "op/reference/image.h"
#include "op/mask/mask.h"
#include "op/convert.h"
#include "op/random.h"
#include "op/reach.h"
#include "op/shape.h"
#include "op/weights.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ROW_PRODUCTS 1e6 /* of a column */

void op_data_free(struct op_data *data)
{
    if (!data)
        return;
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        FREE_ALL(data->at[i].value, data->at[i].wide, data->at[i].reference, data->at[i].bound, data->at[i].carried);
    free(data->mask_out);
    for (int i = 0; i < data->link_count; i++)
        op_data_free(&data->links[i]);
    free(data->links);
    memset(data, 0, sizeof *data);
}

static bool out_of_memory(const struct work *work, struct error *err)
{
    SCOPED_TEXT t = {0};
    work_describe(work, &t);
    error_set(err, ERROR_ENVIRONMENT, "not enough memory for the data of %s", text_get(&t));
    return false;
}

/* Makes the second tensor's mask, which is part of the output's. */
static bool make_second(const struct work *work, bool full, struct op_data *out, struct error *err)
{
    struct tensor t;
    size_t pixels = (size_t)work->n * (size_t)work->h * (size_t)work->w;
    float *made = out->at[SLOT_MASK_SECOND].value = malloc(pixels * sizeof *made);
    if (!made)
        return out_of_memory(work, err);
    if (!mask_second(work, made, err))
        return false;
    for (size_t i = 0; i < pixels; i++)
        out->mask_out[i] = out->mask_out[i] != 0 || made[i] != 0;
    if (!full && work_tensor(work, "second", &t))
        mask_blank(&t, made, 0, out->at[SLOT_SECOND].value);
    return true;
}

static void reach_begin(const struct work *work, struct op_data *data)
{
    for (int axis = 0; work->op->image && axis < 2; axis++)
        data->reach[axis] = op_reach(work, (enum axis_of)axis);
}

static void reach_end(struct op_data *data)
{
    op_reach_free(&data->reach[AXIS_ROWS]);
    op_reach_free(&data->reach[AXIS_COLUMNS]);
}

/* Makes the masks, and sets the input to zero where the mask says that nothing changed. */
static bool make_masks(const struct work *work, bool full, bool reserved, struct op_data *out, struct error *err)
{
    if (work->mask.pattern == MASK_NONE)
        return true;
    size_t outputs = (size_t)work->n * (size_t)work->p * (size_t)work->q;
    size_t inputs = (size_t)work->n * (size_t)work->h * (size_t)work->w;
    out->mask_out = malloc(outputs * sizeof *out->mask_out);
    float *made = malloc((work->mask.marks_output ? outputs : inputs) * sizeof *made);
    if (!out->mask_out || !made) {
        free(made);
        return out_of_memory(work, err);
    }
    if (!mask_make(work, made, err)) {
        free(made);
        return false;
    }
    if (work->mask.marks_output) {
        out->at[SLOT_MASK_OUT].value = made;
        memcpy(out->mask_out, made, outputs * sizeof *made);
        return true;
    }
    out->at[SLOT_MASK_IN].value = made;
    mask_dilate(work, made, out->mask_out);
    struct tensor t;
    if (!full && !reserved && work_tensor(work, "input", &t))
        op_data_blank(work, out->exact ? DATA_PART_EXACT : DATA_PART_PRECISION, out, &t, 0, tensor_elements(&t));
    if (out->at[SLOT_SECOND].value && !make_second(work, full, out, err))
        return false;
    if (work->op->settle) {
        reach_begin(work, out);
        work->op->settle(work, out);
        reach_end(out);
    }
    return true;
}

/* reserve: allocates large inputs and leaves them unset */
static bool data_inputs(const struct work *work, enum data_part part, bool reserve, struct op_data *out, struct error *err)
{
    bool full = part & DATA_FULL;
    enum data_part which = (enum data_part)((int)part & ~(int)DATA_FULL);
    struct tensor list[OP_MAX_TENSORS];
    if (work->op->data_inputs && !work->op->data_inputs(work, reserve, out, err))
        return false;
    int count = work->op->data_inputs ? 0 : work->op->tensors(work, list);
    if (!work->op->data_inputs)
        *out = (struct op_data){.exact = which == DATA_PART_EXACT};
    for (int i = 0; i < count; i++) {
        const struct tensor *t = &list[i];
        if (t->written || tensor_role_is_mask(t->role))
            continue;
        float *value = out->at[t->role->slot].value = large_alloc(tensor_elements(t) * sizeof *value);
        double *wide = NULL;
        if (t->dtype == DTYPE_F64)
            wide = out->at[t->role->slot].wide = large_alloc(tensor_elements(t) * sizeof *wide);
        if (!value || (t->dtype == DTYPE_F64 && !wide)) {
            op_data_free(out);
            return out_of_memory(work, err);
        }
        bool whole = !reserve || (work->op->file ? !generate_by_index(work, t) : weights_tensor(t)), made = true, read = false;
        if (t->role->values == VALUES_FILE || (work->picture[0] && t->role->values == VALUES_INPUT))
            read = made = work->op->file_values(work, t, value, wide, err);
        else if (whole && which == DATA_PART_PRECISION)
            made = weights_read(work, t, generate_recipe(work, t, which).round_to, value, &read, err);
        if (made && whole && !read)
            generate_tensor(work, t, which, value);
        if (made && wide && !read)
            generate_wide(work, t, which, value, tensor_elements(t), wide);
        if (!made) {
            op_data_free(out);
            return false;
        }
    }
    if (!make_masks(work, full, reserve, out, err)) {
        op_data_free(out);
        return false;
    }
    return true;
}

bool op_data_inputs(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    return data_inputs(work, part, false, out, err);
}

bool op_data_reserve(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    return data_inputs(work, part, true, out, err);
}

struct reference {
    const struct work *work;
    struct op_data *data;
    struct op_values *to;
    struct epilogue_shape last;
    struct op_bounds is;
    const int64_t *rows;            /* NULL: all */
    atomic_bool no_number, no_size; /* somewhere a formula has none */
};

/* Rows without an active output are skipped: they would be cleared. */
static bool any_active(const struct reference *r, int64_t n_i, int64_t p_i)
{
    const float *mask = r->data->mask_out + (n_i * r->work->p + p_i) * r->work->q;
    for (int64_t q = 0; q < r->work->q; q++)
        if (mask[q] != 0)
            return true;
    return false;
}

/* An inactive output is the epilogue of nothing. */
static void clear_inactive(const struct reference *r, int64_t n_i, int64_t p_i, double *y, double *e)
{
    const struct work *w = r->work;
    const float *mask = r->data->mask_out + (n_i * w->p + p_i) * w->q;
    for (int64_t k = 0; k < w->k; k++)
        for (int64_t q = 0; q < w->q; q++)
            if (mask[q] == 0) {
                y[k * w->q + q] = 0;
                if (e)
                    e[k * w->q + q] = 0;
            }
}

static void store_row(const struct reference *r, int64_t n_i, int64_t p_i, const struct epilogue_row *row)
{
    int64_t rows = r->last.h / r->work->p, width = r->last.w;
    for (int64_t c = 0; c < r->last.c; c++) {
        size_t to = (size_t)(((n_i * r->last.c + c) * r->last.h + p_i * rows) * width), from = (size_t)(c * rows * width),
               count = (size_t)(rows * width);
        memcpy(r->to->reference + to, row->y + from, count * sizeof *row->y);
        for (size_t i = 0; row->e && i < count; i++)
            r->to->bound[to + i] = (float)(row->e[from + i] * (1 + 0x1p-23)); /* rounding to float must not make it smaller */
    }
}

/* True if exact data give results that the type cannot hold: the slope of truncate; or weights so fine that a kernel which stores before
 * the epilogue rounds twice. */
static bool data_round(const struct work *w)
{
    return (w->slope > 0 && w->slope < 1) ||
           (w->epilogue_count && op_grain(w) * (1 + w->epilogue_count) > dtype_exact_integer(work_result_dtype(w)));
}

/* True if an item of the epilogue gives values that a float does not hold. */
static bool epilogue_rounds(const struct work *w)
{
    enum epilogue_kind kind = work_activation(w);
    return work_scale(w) != 1 || kind == EPILOGUE_LEAKY_RELU || kind == EPILOGUE_PRELU || kind == EPILOGUE_CLIP || epilogue_curves(kind);
}

static void reference_row(void *context, int64_t index, int thread)
{
    struct reference *r = context;
    const struct work *w = r->work;
    int64_t row_i = r->rows ? r->rows[index] : index, n_i = row_i / w->p, p_i = row_i % w->p;
    size_t count = (size_t)(w->k * w->q);
    SCOPED double *space = xcalloc(count * (r->is.bounds ? 4 : 2), sizeof *space);
    struct epilogue_row row = {
        .y = space, .y2 = space + count, .e = r->is.bounds ? space + 2 * count : NULL, .e2 = r->is.bounds ? space + 3 * count : NULL};
    bool sums = r->is.sums;
    bool wanted = !r->data->mask_out || any_active(r, n_i, p_i);
    if (wanted)
        w->op->reference_row(w, r->data, n_i, p_i, row.y, sums ? row.e : NULL);
    const bool *asked = r->data->columns; /* around them lie values that nobody made */
    for (size_t i = 0; w->op->image && i < count; i++)
        if ((!asked || asked[i % (size_t)w->q]) && !isfinite(row.y[i]))
            atomic_store(&r->no_number, true);
    for (size_t i = 0; w->op->image && w->op->image->size && sums && wanted && i < count; i++)
        if ((!asked || asked[i % (size_t)w->q]) && !(row.e[i] >= 0 && isfinite(row.e[i])))
            atomic_store(&r->no_size, true);
    for (size_t i = 0; sums && i < count; i++)
        row.e[i] = row.e[i] > 0 ? bound_sum(w->math, (double)r->is.terms, (double)r->is.least, row.y[i], row.e[i]) : 0;
    if (r->data->mask_out)
        clear_inactive(r, n_i, p_i, row.y, row.e);
    epilogue_apply(w, r->data, n_i, p_i, &row);
    store_row(r, n_i, p_i, &row);
}

void op_data_drop_references(struct op_data *data)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        free(data->at[i].reference);
        free(data->at[i].bound);
        data->at[i].reference = NULL;
        data->at[i].bound = NULL;
    }
}

bool op_data_room(const struct work *work, struct op_data *data, bool bounds, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    bool ok = true;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        struct op_values *v = &data->at[list[i].role->slot];
        bool mask = tensor_role_is_mask(list[i].role);
        if (!list[i].written || (mask && !data->mask_out))
            continue;
        v->elements = tensor_elements(&list[i]);
        v->reference = malloc(v->elements * sizeof *v->reference);
        v->bound = bounds && !mask ? malloc(v->elements * sizeof *v->bound) : NULL;
        ok = ok && v->reference && (v->bound || !bounds || mask);
        for (size_t k = 0; v->reference && mask && k < v->elements; k++)
            v->reference[k] = data->mask_out[k];
    }
    if (!ok)
        op_data_drop_references(data);
    return ok || out_of_memory(work, err);
}

struct op_bounds op_data_bounds(const struct work *work, const struct op_data *data)
{
    struct op_bounds is = {0};
    is.terms = work_terms(work);
    is.least = data->at[SLOT_MASK_IN].value && work->op->has_filter ? work->c / work->groups : is.terms;
    is.bounds = !data->exact || !work_is_exact(work) || epilogue_rounds(work) || data_round(work);
    is.sums = is.terms > 0 && is.bounds && (!data->exact || work->op->file || !work_is_exact(work) || data_round(work));
    return is;
}

/* Few rows with much work each, as in a fully connected layer: each row then uses all threads (op/reference/sums.c). */
static bool one_by_one(const struct work *work, int64_t rows)
{
    return work->op->has_filter && 2 * rows <= pool_threads() && (double)work_terms(work) * (double)work->k > ROW_PRODUCTS;
}

bool op_data_reference_rows(const struct work *work, struct op_data *data, const int64_t *rows, int count, struct error *err)
{
    struct reference r = {.work = work, .data = data, .to = &data->at[SLOT_OUTPUT], .rows = rows};
    r.last = epilogue_shape_at(work, work->epilogue_count);
    r.is = op_data_bounds(work, data);
    if (!op_data_room(work, data, r.is.bounds, err))
        return false;
    reach_begin(work, data);
    int64_t all = rows ? count : work->n * work->p;
    bool alone = one_by_one(work, all);
    for (int64_t i = 0; alone && i < all; i++)
        reference_row(&r, i, 0);
    if (!alone)
        pool_for(all, 0, reference_row, &r);
    reach_end(data);
    if (atomic_load(&r.no_number))
        return expr_fail(work->op->image->output, err, "%s: `output:` is not a number for some elements", work->op->name);
    return !atomic_load(&r.no_size) ||
           expr_fail(work->op->image->size, err, "%s: `magnitude:` is not a number of at least 0 for some elements", work->op->name);
}

bool op_data_reference(const struct work *work, struct op_data *data, struct error *err)
{
    if (work->op->reference)
        return op_data_room(work, data, !data->exact, err) && work->op->reference(work, data, err);
    return op_data_reference_rows(work, data, NULL, 0, err);
}

#define PLACES 4096 /* of a channel that are looked at */

/* The bias, as its type holds it, that brings one active sum of the channel closest to `wanted` times its bound. */
static float bias_for(const struct work *w, const struct op_data *data, const struct op_values *sums, int64_t channel, double wanted)
{
    size_t plane = (size_t)(w->p * w->q), all = (size_t)w->n * plane, at = random_bits(w->seed, 0x7a65726f, (uint64_t)channel) % all;
    float best = data->at[SLOT_BIAS].value[channel];
    double apart = INFINITY;
    for (size_t tried = 0; tried < all && tried < PLACES; tried++, at = (at + 1) % all) {
        size_t i = (at / plane * (size_t)w->k + (size_t)channel) * plane + at % plane;
        double sum = sums->reference[i], target = wanted * (double)sums->bound[i];
        float bias = (float)(target - sum);
        convert_round(work_result_dtype(w), &bias, 1);
        if ((data->mask_out && data->mask_out[at] == 0) || !(fabs(sum + bias - target) < apart * fabs(target)))
            continue;
        apart = fabs(sum + bias - target) / fabs(target);
        best = bias;
    }
    return best;
}

bool op_data_near_zero(const struct work *work, struct op_data *data, struct error *err)
{
    struct work bare = *work;
    struct op_data sums = *data;
    float *bias = data->at[SLOT_BIAS].value;
    if (work->op->file || work->chain || !work->op->image || work->epilogue_count < 2 || work->epilogue[0].kind != EPILOGUE_BIAS ||
        !epilogue_activates(work->epilogue[1].kind) || !bias)
        return true;
    bare.epilogue_count = 0;
    memset(&sums.at[SLOT_OUTPUT], 0, sizeof sums.at[SLOT_OUTPUT]);
    bool ok = op_data_reference(&bare, &sums, err);
    static const double wanted[] = {-0.25, 2, -2}; /* a sign shows at once; another error once it is beyond the bound */
    for (int64_t k = 0; ok && sums.at[SLOT_OUTPUT].bound && k < work->k; k++)
        bias[k] = bias_for(work, data, &sums.at[SLOT_OUTPUT], k, wanted[k % 3]);
    for (int i = 0; i < OP_MAX_TENSORS; i++) { /* what op_data_room made: the output's, and a mask's that is written */
        if (sums.at[i].reference != data->at[i].reference)
            free(sums.at[i].reference);
        if (sums.at[i].bound != data->at[i].bound)
            free(sums.at[i].bound);
    }
    return ok;
}

bool op_data_make(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    if (work->op->data_make)
        return work->op->data_make(work, part, out, err);
    if (!op_data_inputs(work, part, out, err))
        return false;
    if (op_data_reference(work, out, err))
        return true;
    op_data_free(out);
    return false;
}
