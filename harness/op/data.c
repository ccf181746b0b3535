#include "base/pool.h"
#include "base/text.h"
#include "op/bound.h"
#include "op/chain.h"
#include "op/epilogue.h"
#include "op/generate.h"
#include "op/op.h"
#include <stdlib.h>
#include <string.h>

void op_data_free(struct op_data *data)
{
    if (!data)
        return;
    for (int i = 0; i < ROLE_COUNT; i++)
        free(data->array[i]);
    free(data->reference);
    free(data->bound);
    free(data->mask_out);
    free(data->carried);
    for (int i = 0; i < data->link_count; i++)
        op_data_free(&data->links[i]);
    free(data->links);
    memset(data, 0, sizeof *data);
}

static bool out_of_memory(const struct work *work, struct error *err)
{
    struct text t = {0};
    work_describe(work, &t);
    error_set(err, ERROR_ENVIRONMENT, "not enough memory for the data of %s", text_get(&t));
    text_free(&t);
    return false;
}

struct blank {
    float *input;
    const float *mask;
    size_t plane, channels;
};

static void blank_plane(void *context, int64_t index, int thread)
{
    struct blank *b = context;
    float *plane = b->input + (size_t)index * b->plane;
    const float *mask = b->mask + (size_t)index / b->channels * b->plane;
    for (size_t i = 0; i < b->plane; i++)
        if (mask[i] == 0)
            plane[i] = 0;
}

static void blank_inactive(const struct work *work, float *values, const float *mask, int64_t channels)
{
    struct blank b = {values, mask, (size_t)work->h * (size_t)work->w, (size_t)channels};
    pool_for(work->n * channels, b.plane * b.channels < 100000 ? 1 : 0, blank_plane, &b);
}

/* The second tensor's mask, which is part of the output's. */
static bool make_second(const struct work *work, bool full, struct op_data *out, struct error *err)
{
    struct tensor t;
    size_t pixels = (size_t)work->n * (size_t)work->h * (size_t)work->w;
    float *made = out->array[ROLE_MASK_SECOND] = malloc(pixels * sizeof *made);
    if (!made)
        return out_of_memory(work, err);
    if (!mask_second(work, made, err))
        return false;
    for (size_t i = 0; i < pixels; i++)
        out->mask_out[i] = out->mask_out[i] != 0 || made[i] != 0;
    if (!full && work_tensor(work, ROLE_SECOND, &t))
        blank_inactive(work, out->array[ROLE_SECOND], made, t.dim[1]);
    return true;
}

/* Masks, and zeros in the input where the mask says that nothing changed. */
static bool make_masks(const struct work *work, bool full, struct op_data *out, struct error *err)
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
        out->array[ROLE_MASK_OUT] = made;
        memcpy(out->mask_out, made, outputs * sizeof *made);
        return true;
    }
    out->array[ROLE_MASK_IN] = made;
    mask_dilate(work, made, out->mask_out);
    if (!full)
        blank_inactive(work, out->array[ROLE_INPUT], made, work->c);
    if (out->array[ROLE_SECOND] && !make_second(work, full, out, err))
        return false;
    if (work->op->settle)
        work->op->settle(work, out);
    return true;
}

bool op_data_inputs(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    bool full = part & DATA_FULL;
    enum data_part which = (enum data_part)((int)part & ~(int)DATA_FULL);
    struct tensor list[OP_MAX_TENSORS];
    if (work->chain && !chain_data_inputs(work, part, out, err))
        return false;
    int count = work->chain ? 0 : work->op->tensors(work, list);
    if (!work->chain)
        *out = (struct op_data){.exact = which == DATA_PART_EXACT};
    for (int i = 0; i < count; i++) {
        const struct tensor *t = &list[i];
        if (t->written || t->layout == LAYOUT_BITS)
            continue;
        out->array[t->role] = malloc(tensor_elements(t) * sizeof(float));
        if (!out->array[t->role]) {
            op_data_free(out);
            return out_of_memory(work, err);
        }
        generate_tensor(work, t, which, out->array[t->role]);
    }
    if (!make_masks(work, full, out, err)) {
        op_data_free(out);
        return false;
    }
    return true;
}

struct reference {
    const struct work *work;
    struct op_data *data;
    struct stage last;
    bool bounds;
    int64_t terms, least; /* products of an output; of them those that are not zero, at least */
};

/* A row without any is not computed: it would be cleared. */
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
        memcpy(r->data->reference + to, row->y + from, count * sizeof *row->y);
        for (size_t i = 0; row->e && i < count; i++)
            r->data->bound[to + i] = (float)(row->e[from + i] * (1 + 0x1p-23)); /* rounding to float must not make it smaller */
    }
}

/* truncate: a slope that makes whole numbers inexact. */
static bool slope_rounds(const struct work *w)
{
    return w->slope > 0 && w->slope < 1;
}

static void reference_row(void *context, int64_t index, int thread)
{
    struct reference *r = context;
    const struct work *w = r->work;
    int64_t n_i = index / w->p, p_i = index % w->p;
    size_t count = (size_t)(w->k * w->q);
    double *space = xcalloc(count * (r->bounds ? 4 : 2), sizeof *space);
    struct epilogue_row row = {
        .y = space, .y2 = space + count, .e = r->bounds ? space + 2 * count : NULL, .e2 = r->bounds ? space + 3 * count : NULL};
    bool sums = r->terms > 0 && r->bounds && (!r->data->exact || slope_rounds(w));
    bool wanted = !r->data->mask_out || any_active(r, n_i, p_i);
    if (wanted)
        w->op->reference_row(w, r->data, n_i, p_i, row.y, sums ? row.e : NULL);
    for (size_t i = 0; sums && i < count; i++)
        row.e[i] = row.e[i] > 0 ? bound_sum(w->math, (double)r->terms, (double)r->least, row.y[i], row.e[i]) : 0;
    if (r->data->mask_out)
        clear_inactive(r, n_i, p_i, row.y, row.e);
    epilogue_apply(w, r->data, n_i, p_i, &row);
    store_row(r, n_i, p_i, &row);
    free(space);
}

bool op_data_reference(const struct work *work, struct op_data *data, struct error *err)
{
    struct reference r = {.work = work, .data = data, .last = epilogue_stage(work, work->epilogue_count)};
    r.terms = work->op->has_filter ? work->c / work->groups * work_filter_taps(work) : work->op->terms * work_filter_taps(work);
    r.least = data->array[ROLE_MASK_IN] && work->op->has_filter ? work->c / work->groups : r.terms;
    r.bounds = !data->exact || work_epilogue_find(work, EPILOGUE_LEAKY_RELU) >= 0 || slope_rounds(work);
    data->output_elements = (size_t)work->n * (size_t)r.last.c * (size_t)r.last.h * (size_t)r.last.w;
    data->reference = malloc(data->output_elements * sizeof *data->reference);
    data->bound = r.bounds ? malloc(data->output_elements * sizeof *data->bound) : NULL;
    if (!data->reference || (r.bounds && !data->bound)) {
        free(data->reference);
        free(data->bound);
        data->reference = NULL;
        data->bound = NULL;
        return out_of_memory(work, err);
    }
    pool_for(work->n * work->p, 0, reference_row, &r);
    return true;
}

bool op_data_make(const struct work *work, enum data_part part, struct op_data *out, struct error *err)
{
    if (work->chain)
        return chain_data_make(work, part, out, err);
    if (!op_data_inputs(work, part, out, err))
        return false;
    if (op_data_reference(work, out, err))
        return true;
    op_data_free(out);
    return false;
}
