#include "measure/trust/unread.h"
#include "base/text.h"
#include "measure/verify/data.h"
#include "measure/verify/reference.h"
#include "measure/verify/verify_private.h"
#include "op/reference/data.h"
#include "op/reference/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1024 /* times the largest value: a sum of many elements shows one of them */
/* What unread elements become: the values of another draw, the largest value, the least. */
enum other { OTHER_DRAW, OTHER_MOST, OTHER_LEAST, OTHERS };

struct unread {
    const struct job *job;
    struct rig *rig;
    const struct work *work;
    enum data_part part;
    const struct op_data *data;
    bool *left[OP_MAX_TENSORS]; /* by slot: elements that nobody read and that may have another value */
    int64_t count, of;          /* of the first tensor that has some, of its elements */
    const struct tensor *first;
    size_t at;
};

static bool was_read(const struct tensor *t, const uint8_t *seen, size_t element)
{
    size_t bytes = dtype_bytes(t->dtype), at = dtype_offset(t->dtype, tensor_index(t, element));
    return ANY_OF(i, bytes, seen[at + i]);
}

/* Finds the inputs that may be changed: not indices, sorted values or values of files, whose order or meaning a random value may break. In
 * a masked tensor only nonzero values were marked. */
static void find_left(struct unread *u)
{
    const struct program *p = rig_program(u->rig);
    for (int i = 0; i < p->tensor_count; i++) {
        const struct tensor *t = &p->tensors[i];
        const uint8_t *seen = rig_seen(u->rig, i);
        const float *value = u->data->at[t->role->slot].value;
        bool masked = u->work->mask.pattern != MASK_NONE && t->role->marked_by;
        if (t->written || !seen || !value || tensor_role_is_mask(t->role) || t->role->contents || t->layout == LAYOUT_BITS ||
            !generate_by_index(u->work, t))
            continue;
        bool *left = u->left[t->role->slot] = xcalloc(tensor_elements(t), sizeof *left);
        int64_t count = 0;
        for (size_t k = 0; k < tensor_elements(t); k++) {
            left[k] = !was_read(t, seen, k) && (!masked || value[k] != 0);
            if (left[k] && !count++ && !u->first)
                u->first = t, u->at = k;
        }
        if (u->first == t)
            u->count = count, u->of = (int64_t)tensor_elements(t);
    }
}

static void replace(const struct unread *u, const struct tensor *t, enum other how, float *to)
{
    const float *from = u->data->at[t->role->slot].value;
    const bool *left = u->left[t->role->slot];
    float most = from[0], least = from[0];
    bool open =
        t->role->values != VALUES_UNIFORM && t->role->values != VALUES_MASK && t->role->values != VALUES_BYTES && !dtype_is_whole(t->dtype);
    for (size_t k = 0; k < tensor_elements(t); k++) {
        most = fmaxf(most, from[k]);
        least = fminf(least, from[k]);
    }
    for (size_t k = 0; k < tensor_elements(t); k++) {
        float far = how == OTHER_MOST ? most : least, drawn = t->role->constant ? most - from[k] + least : to[k];
        far = open && dtype_holds(t->dtype, (double)far * FAR) ? far * FAR : far;
        to[k] = !left || !left[k] ? from[k] : how == OTHER_DRAW ? drawn : far;
    }
}

/* The first active element that no result can satisfy both references for; -1: none. */
static int64_t unlike_result(const struct unread *u, int tensor, const struct op_data *other)
{
    struct verify_look a, b;
    const struct program *p = rig_program(u->rig);
    verify_begin(&a, p, tensor, u->data, NULL);
    verify_begin(&b, p, tensor, other, NULL);
    if (!a.want->reference || !b.want->reference || tensor_role_is_mask(a.t.role))
        return -1;
    for (size_t k = 0; k < tensor_elements(&a.t); k++) {
        int64_t row = ((int64_t)k / a.fold[3] % a.fold[2]) / a.block, column = (int64_t)k % a.fold[3] / a.block,
                image = (int64_t)k / (a.fold[1] * a.fold[2] * a.fold[3]);
        bool active = !a.mask || a.mask[(image * (a.fold[2] / a.block) + row) * (a.fold[3] / a.block) + column] != 0;
        double apart = fabs(a.want->reference[k] - b.want->reference[k]);
        if (active &&
            apart > verify_tolerance(&a, k) + verify_tolerance(&b, k) + dtype_unit_roundoff(a.t.dtype) * fabs(a.want->reference[k]))
            return (int64_t)k;
    }
    return -1;
}

static void add_element(struct text *t, const struct tensor *of, size_t element)
{
    int64_t at[TENSOR_MAX_RANK];
    tensor_coordinates(of, element, at);
    text_addf(t, "%s(", of->role->name);
    for (int i = 0; i < of->rank; i++)
        text_addf(t, "%s%lld", i ? "," : "", (long long)at[i]);
    text_add(t, ")");
}

static void blame(const struct unread *u, int tensor, size_t element, const struct op_data *other, struct row *row)
{
    const struct tensor *t = &rig_program(u->rig)->tensors[tensor];
    struct text text = {0};
    text_addf(&text, "%lld of %lld elements of %s are never read, first ", (long long)u->count, (long long)u->of, u->first->role->name);
    add_element(&text, u->first, u->at);
    text_add(&text, "; with other values there ");
    add_element(&text, t, element);
    text_addf(&text, " must be %.7g instead of %.7g", other->at[t->role->slot].reference[element],
              u->data->at[t->role->slot].reference[element]);
    row->status = ROW_WRONG;
    row_set(&row->reason, text_get(&text));
    text_free(&text);
}

static bool is_proof(const struct unread *u, enum other how, struct row *row)
{
    struct work work = *u->work;
    struct op_data other = {0};
    struct tensor list[OP_MAX_TENSORS];
    struct error ignored = {0};
    bool proof = false;
    work.set_seed = random_bits(work.seed, 0x756e72656164, 1) | 1ull << 40; /* other values; nothing keeps its results */
    if (!op_data_inputs(&work, u->part, &other, &ignored))
        return false;
    for (int i = 0, count = work.op->tensors(&work, list); i < count; i++)
        if (!list[i].written && !tensor_role_is_mask(list[i].role) && other.at[list[i].role->slot].value) {
            if (u->left[list[i].role->slot])
                replace(u, &list[i], how, other.at[list[i].role->slot].value);
            else
                memcpy(other.at[list[i].role->slot].value, u->data->at[list[i].role->slot].value,
                       tensor_elements(&list[i]) * sizeof(float));
        }
    if (reference_make(u->job->dev, u->job->options.compiler, &work, u->part, &other, &ignored))
        for (int i = 0; i < rig_program(u->rig)->tensor_count && !proof; i++) {
            int64_t element = rig_program(u->rig)->tensors[i].written ? unlike_result(u, i, &other) : -1;
            proof = element >= 0;
            if (proof)
                blame(u, i, (size_t)element, &other, row);
        }
    op_data_free(&other);
    return proof;
}

/* Not for steps of a library, which may read anything, and not if the reference is no function of single elements: for a chain, or for an
 * op whose values decide what is active. */
static bool applies(const struct rig *rig, const struct work *work)
{
    const struct program *p = rig_program(rig);
    return ALL_OF(i, p->step_count, p->steps[i].kind != STEP_CUDNN && p->steps[i].kind != STEP_CALL) && !work->chain && !work->op->settle &&
           !work->op->data_inputs && p->checked;
}

bool unread_check(const struct job *job, int index, struct rig *rig, const struct op_data *data, struct row *row)
{
    enum data_part part = job_verified_part(job, index, DATA_PART_PRECISION);
    struct work work = data_work(job, job->plan.rows[index].case_index, &part, 0);
    struct unread u = {.job = job, .rig = rig, .work = &work, .part = part, .data = data};
    bool proof = false;
    if (!applies(rig, &work))
        return true;
    find_left(&u);
    for (int how = 0; how < OTHERS && u.first && !proof; how++)
        proof = is_proof(&u, (enum other)how, row);
    if (!proof && u.first)
        row_add_metric(row, -1, 0, "verify.unread", "", "verify", (double)u.count);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free(u.left[i]);
    return !proof;
}
