#include "measure/trust/degenerate.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/verify/reference.h"
#include "op/reference/generate.h"
#include "op/op_file.h"
#include "op/reference/data.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SOME (1 << 16) /* elements that are compared first, before all of a result is copied from a device */

/* Which inputs of a work differ between input sets. Weights and files do not; masks and indices alone do not count as values. */
enum turned { TURNED_NONE, TURNED_FILES, TURNED_VALUES };

static enum turned what_turns(const struct work *work, const struct op_data *one, const struct op_data *other)
{
    struct tensor list[OP_MAX_TENSORS];
    enum turned turned = TURNED_NONE;
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct tensor *t = &list[i];
        enum tensor_values values = t->role->values;
        const float *a = one->at[t->role->slot].value, *b = other->at[t->role->slot].value;
        if (t->written || t->role->constant || values == VALUES_MASK || values == VALUES_INDICES)
            continue;
        bool there = one->card && generate_by_index(work, t); /* drawn on the device: other bits from another key */
        bool file = values == VALUES_FILE || (values == VALUES_INPUT && work->picture[0]);
        if (there || (a && b && memcmp(a, b, tensor_elements(t) * sizeof *a)))
            return TURNED_VALUES;
        turned = file ? TURNED_FILES : turned;
    }
    return turned;
}

/* The largest distance from the reference that a correct kernel's element may have. */
static double allowed(const struct tensor *t, const struct op_values *v, size_t k)
{
    double y = v->reference[k], bound = v->bound ? (double)v->bound[k] : 0;
    if (dtype_is_whole(t->dtype))
        return bound + (y == rint(y) ? 0 : 0.5);
    return bound + dtype_unit_roundoff(t->dtype) * (fabs(y) + bound);
}

/* True if each of the first `most` elements of every result passes for both sets. */
static bool same_results(const struct work *work, const struct op_data *one, const struct op_data *other, size_t most)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct op_values *a = &one->at[list[i].role->slot], *b = &other->at[list[i].role->slot];
        size_t elements = list[i].written ? tensor_elements(&list[i]) : 0;
        for (size_t k = 0; k < elements && k < most; k++)
            if (a->reference[k] != b->reference[k] &&
                !(fabs(a->reference[k] - b->reference[k]) <= fmin(allowed(&list[i], a, k), allowed(&list[i], b, k))))
                return false;
    }
    return true;
}

/* True if one constant passes for all elements of each result, and each result has at least `least` elements. */
static bool one_number(const struct work *work, const struct op_data *data, size_t least)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct op_values *v = &data->at[list[i].role->slot];
        const double *y = v->reference;
        double low = -INFINITY, high = INFINITY; /* every number in between would pass for each */
        size_t elements = list[i].written ? tensor_elements(&list[i]) : 0;
        if (list[i].written && elements < least)
            return false;
        for (size_t k = 0; k < elements; k++) {
            double off = allowed(&list[i], v, k);
            low = fmax(low, isinf(y[k]) ? y[k] : y[k] - off);
            high = fmin(high, isinf(y[k]) ? y[k] : y[k] + off);
            if (!(low <= high))
                return false;
        }
    }
    return true;
}

static bool come(struct op_data *data, size_t most, struct error *err)
{
    return !data->card || card_fetch_some(data->card, most, err);
}

/* True if both sets give equal results as a whole. False also if bench cannot find out. */
static bool same(const struct work *work, struct op_data *one, struct op_data *other)
{
    struct error ignored = {0};
    return come(one, SOME, &ignored) && come(other, SOME, &ignored) && same_results(work, one, other, SOME) &&
           come(one, SIZE_MAX, &ignored) && come(other, SIZE_MAX, &ignored) && same_results(work, one, other, SIZE_MAX);
}

/* Makes input set `set` of the case: a set that the row is timed on stays in the store, another one goes to `own` and is the same in
 * every run. False: bench cannot make it, so the check has no answer; timing the row will report the error. */
static bool other_set(struct data_store *d, bool kept, int index, int set, struct op_data *own, struct op_data **data)
{
    struct error ignored = {0};
    const struct job *job = d->job;
    struct work work = *plan_verified_work(&job->plan, job->plan.rows[index].case_index);
    job_stage(job, index, "data", DATA_LIMIT_S);
    if (kept && set < DATA_SETS)
        return data_get(d, index, DATA_PART_PRECISION, set, data, &ignored);
    struct card *card = data_card(d);
    work.set_seed = (uint64_t)set;
    *data = own;
    return card ? card_data_make(card, &work, DATA_PART_PRECISION, own, &ignored)
                : reference_data_make(job->dev, job->options.compiler, &work, DATA_PART_PRECISION, own, &ignored);
}

_Static_assert(REFERENCE_SETS == 8, "said in words");
static const char *judge(struct data_store *d, bool kept, int index, struct op_data *first)
{
    const struct work *work = plan_verified_work(&d->job->plan, d->job->plan.rows[index].case_index);
    struct error ignored = {0};
    for (int set = 1; set < REFERENCE_SETS; set++) {
        struct op_data own = {0}, *other;
        if (!other_set(d, kept, index, set, &own, &other))
            return NULL;
        enum turned turned = what_turns(work, first, other);
        bool alike = turned == TURNED_VALUES ? same(work, first, other) : turned == TURNED_FILES && come(first, SIZE_MAX, &ignored);
        if (other == &own) {
            card_data_free(own.card);
            op_data_free(&own);
        }
        if (turned == TURNED_FILES) /* no other set exists */
            return alike && one_number(work, first, 2) ? "every output has the same value: a kernel that writes a constant would pass"
                                                       : NULL;
        if (!alike)
            return NULL;
    }
    return one_number(work, first, 1) ? "for 8 input sets every output has the same value: a kernel that writes a constant would pass"
                                      : "for 8 input sets the outputs are the same: a kernel that never reads its inputs would pass";
}

/* The largest magnitude of a tensor of floats; 0 for other types. */
static double largest(const struct tensor *t, const struct op_values *v, size_t count)
{
    double most = 0;
    bool number = t->role->values != VALUES_MASK && t->role->values != VALUES_INDICES && !dtype_is_whole(t->dtype);
    bool there = number && (t->written ? v->reference != NULL : v->value != NULL);
    for (size_t k = 0, elements = there ? tensor_elements(t) : 0; k < elements && k < count; k++)
        most = fmax(most, t->written ? fabs(v->reference[k]) : fabs((double)v->value[k]));
    return most;
}

#define NOTHING 0x1p-44 /* of the inputs: some hundred roundings of double */

bool degenerate_cancels(const struct work *work, struct op_data *data)
{
    struct error ignored = {0};
    size_t count = data->card ? SOME : SIZE_MAX;
    struct tensor list[OP_MAX_TENSORS];
    double inputs = INFINITY, results = 0;
    if (!come(data, count, &ignored))
        return false;
    for (int i = 0, tensors = work->op->tensors(work, list); i < tensors; i++) {
        size_t elements = tensor_elements(&list[i]);
        bool input = !list[i].written && !tensor_role_is_mask(list[i].role);
        if (data->card && input && generate_by_index(work, &list[i])) /* the device drew it; here it is unset */
            op_data_fill(work, DATA_PART_PRECISION, data, &list[i], 0, elements < count ? elements : count);
        double most = largest(&list[i], &data->at[list[i].role->slot], count);
        if (list[i].written)
            results = dtype_is_whole(list[i].dtype) ? INFINITY : fmax(results, most);
        else if (most > 0)
            inputs = fmin(inputs, most);
    }
    return results > 0 && isfinite(inputs) && results < inputs * NOTHING;
}

static void refuse_row(struct row *row, const char *reason)
{
    row->status = ROW_BROKEN;
    row_set(&row->reason, reason);
}

/* The work of an op in C, which needs no data. */
static bool check_work(struct degenerate *known, const struct work *work, struct row *row, struct error *err)
{
    if (!known->is_known && !op_degenerate(work, &known->why, err))
        return false;
    known->is_known = true;
    if (!known->why)
        return true;
    char *reason = text_format("the layer cannot be verified: %s", known->why);
    refuse_row(row, reason);
    free(reason);
    return true;
}

static void open_case(struct degenerate *known, int in_case)
{
    if (known->in_case != in_case)
        *known = (struct degenerate){.in_case = in_case};
}

bool degenerate_check(struct degenerate *known, const struct job *job, int index, struct row *row, struct error *err)
{
    const struct plan_row *p = &job->plan.rows[index];
    const struct work *work = plan_verified_work(&job->plan, p->case_index);
    if (p->kind != PLAN_LAYER || work->op->file)
        return true;
    open_case(known, p->case_index);
    return check_work(known, work, row, err);
}

bool degenerate_check_file(struct degenerate *known, struct data_store *d, bool kept, int index, struct row *row, struct error *err)
{
    const struct plan_row *p = &d->job->plan.rows[index];
    const struct work *work = plan_verified_work(&d->job->plan, p->case_index);
    const struct op_file *f = work->op->file;
    struct op_data *first;
    if (p->kind != PLAN_LAYER || work->chain || !f)
        return true;
    job_stage(d->job, index, "data", DATA_LIMIT_S);
    if (!data_get(d, index, DATA_PART_PRECISION, 0, &first, err))
        return false;
    open_case(known, p->case_index);
    if (!known->is_known)
        known->why = degenerate_cancels(work, first)
                         ? "its results cancel to nothing: what the reference leaves are its own rounding errors"
                         : judge(d, kept, index, first);
    known->is_known = true;
    if (!known->why)
        return true;
    const char *key = node_get(f->root, "reference") ? "reference" : "stages";
    const struct node *at = node_get(f->root, key);
    /* bench's own ops can be verified in other sizes (a softmax of one column is 1) */
    char *reason = f->installed ? text_format("the layer cannot be verified: %s; give it other sizes", known->why)
                                : text_format("the layer cannot be verified: %s; give it other sizes, or, if that holds "
                                              "for all sizes, change `%s:` (%s:%d) or the `data:` of its inputs",
                                              known->why, key, file_base(f->path), at ? at->line : 1);
    refuse_row(row, reason);
    if (!f->installed) {
        row_set(&row->reason_file, f->path);
        row->reason_line = at ? at->line : 1;
    }
    free(reason);
    return true;
}
