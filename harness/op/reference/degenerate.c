/* Finds degenerate works from the reference of a small version of them. */
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 16

/* A small version of the work: a small image with few channels; if the op's rules forbid that, with its own channels, or its own size. */
static bool make_small(const struct work *work, struct work *out)
{
    for (int keep = 0; keep < 3; keep++) {
        struct error ignored = {0};
        int64_t size = SMALL << 2 * keep;
        *out = *work;
        out->n = 1;
        if (out->mask.pattern != MASK_NONE)
            out->mask = (struct mask){.pattern = MASK_FULL, .marks_output = work->mask.marks_output, .marks_both = work->mask.marks_both};
        for (const struct op_field *f = work->op->fields; f->name; f++) {
            int64_t *value = (int64_t *)((char *)out + f->offset);
            bool image = !strcmp(f->name, "h") || !strcmp(f->name, "w") || !strcmp(f->name, "d");
            bool channels = (!strcmp(f->name, "c") || !strcmp(f->name, "k")) && work->groups <= 1 && !keep;
            if (f->kind == FIELD_INT && (image || channels) && *value > size)
                *value = size;
        }
        if (work_finish(out, &ignored))
            return true;
    }
    return false;
}

/* Reverses the inputs, which keeps their distribution; weights stay. */
static void turn_inputs(const struct tensor *tensors, int count, struct op_data *data)
{
    for (int i = 0; i < count; i++) {
        const struct tensor *t = &tensors[i];
        float *v = data->at[t->role->slot].value;
        size_t elements = tensor_elements(t);
        for (size_t k = 0; v && !t->written && !t->role->constant && !tensor_role_is_mask(t->role) && k < elements / 2; k++) {
            float kept = v[k];
            v[k] = v[elements - 1 - k];
            v[elements - 1 - k] = kept;
        }
    }
}

/* Is another number no result that would pass for this one? */
static bool apart(const struct tensor *t, const struct op_values *v, size_t k, double other)
{
    double y = v->reference[k], bound = v->bound ? (double)v->bound[k] : 0;
    return y != other && !(fabs(y - other) <= bound + dtype_unit_roundoff(t->dtype) * (fabs(y) + bound));
}

/* Do the references of all outputs differ among themselves, and from the earlier ones? */
static void look(const struct tensor *tensors, int count, const struct op_data *data, const double *const *before, bool *differ,
                 bool *react, size_t *elements)
{
    for (int i = 0; i < count; i++) {
        const double *y = tensors[i].written ? data->at[tensors[i].role->slot].reference : NULL;
        size_t n = y ? tensor_elements(&tensors[i]) : 0;
        for (size_t k = 0; k < n; k++) {
            *differ |= apart(&tensors[i], &data->at[tensors[i].role->slot], k, y[0]);
            *react |= before && apart(&tensors[i], &data->at[tensors[i].role->slot], k, before[i][k]);
        }
        *elements += n;
    }
}

bool op_degenerate(const struct work *work, const char **why, struct error *err)
{
    struct work small;
    struct tensor tensors[OP_MAX_TENSORS];
    struct op_data data;
    double *before[OP_MAX_TENSORS] = {0};
    bool differ = false, react = false, ok = false;
    size_t elements = 0;
    *why = NULL;
    if (work->chain || work->op->file || !make_small(work, &small)) /* a file's reference is run on a device: measure/trust/degenerate.c */
        return true;
    int count = small.op->tensors(&small, tensors);
    if (!op_data_make(&small, DATA_PART_PRECISION, &data, err))
        return false;
    look(tensors, count, &data, NULL, &differ, &react, &elements);
    for (int i = 0; i < count; i++) { /* the second reference is allocated anew; both are freed below */
        struct op_values *v = &data.at[tensors[i].role->slot];
        before[i] = tensors[i].written ? v->reference : NULL;
        if (tensors[i].written)
            free(v->bound);
    }
    turn_inputs(tensors, count, &data);
    ok = op_data_reference(&small, &data, err);
    if (ok)
        look(tensors, count, &data, (const double *const *)before, &differ, &react, &elements);
    if (ok && elements > 2) /* each was looked at twice */
        *why = !differ  ? "every output has the same value: a kernel that writes a constant would pass"
               : !react ? "no output depends on the inputs: a kernel that never reads its inputs would pass"
                        : NULL;
    for (int i = 0; i < count; i++)
        free(before[i]);
    op_data_free(&data);
    return ok;
}
