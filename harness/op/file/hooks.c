/* The hooks of the struct op of a file: sizes, tensors and FLOP from the file's expressions. */
#include "base/text.h"
#include "op/file/private.h"
#include "op/shape.h"
#include "op/sides.h"
#include "op/stage/stage.h"
#include <float.h>

static double file_real(const struct work *work, const struct expr *e)
{
    struct value v;
    if (!work_value(work, e, &v, NULL) || v.kind == VALUE_TEXT)
        return 0;
    return v.kind == VALUE_INT ? (double)v.i : v.d;
}

static bool file_needs(const struct op_file *f, struct work *work, struct error *err)
{
    const struct expr_env env = work_env(work);
    for (int i = 0; i < f->need_count; i++) {
        bool truth;
        char why[400];
        if (!expr_test(f->needs[i], &env, &truth, why, sizeof why, err))
            return false;
        SCOPED char *values = truth ? NULL : expr_failing_values(f->needs[i], &env);
        if (!truth)
            return f->need_says[i] ? error_set(err, ERROR_USAGE, *values ? "%s (%s)" : "%s", f->need_says[i], values)
                                   : error_set(err, ERROR_USAGE, "%s needs %s", f->op.name, why);
    }
    return true;
}

/* Puts the planes of a volume one below the other: its rows are those of all planes. */
static bool stack_planes(struct work *work, struct error *err)
{
    if (work->d * work->plane > SHAPE_MAX_ELEMENTS)
        return error_set(err, ERROR_USAGE, "%s: %ld planes of %ld rows are more than %ld", work->op->name, (long)work->d, (long)work->plane,
                         (long)SHAPE_MAX_ELEMENTS);
    work->h = work->d * work->plane;
    work->p = work->o * work->plane_out;
    return true;
}

/* Checks that the file's FLOP, bytes and terms are numbers from 0 on for this work; rows are judged by them. */
static bool counts_fit(const struct op_file *f, const struct work *work, struct error *err)
{
    const struct expr *const counts[] = {f->flop, f->bytes, f->terms};
    for (int i = 0; i < 3; i++) {
        struct value v = {.kind = VALUE_INT};
        if (counts[i] && !(i == 2 ? work_int(work, counts[i], &v.i, err) : work_value(work, counts[i], &v, err)))
            return false;
        double x = v.kind == VALUE_INT ? (double)v.i : v.kind == VALUE_TEXT ? -1 : v.d;
        if (!(x >= 0 && x <= DBL_MAX))
            return expr_fail(counts[i], err, "%s: %g is not a number of at least 0", i == 0 ? "flop" : i == 1 ? "bytes" : "terms", x);
    }
    return true;
}

bool op_file_finish(struct work *work, struct error *err)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    int64_t *const usual[] = {&work->stride, &work->dilation, &work->groups};
    for (int i = 0; i < 3 && work->op->has_filter; i++) /* default 1 */
        *usual[i] = *usual[i] ? *usual[i] : 1;
    if (work->op->whole_window)
        work->r = work->h, work->s = work->w;
    if (work->op->image && !sides_finish(work, err))
        return false;
    if (!ALL_OF(i, f->let_count, work_int(work, f->lets[i], (int64_t *)(void *)((char *)work + f->let_offsets[i]), err)))
        return false;
    if (!file_needs(f, work, err) || (work->op->volume && !stack_planes(work, err)))
        return false;
    for (int i = 0; i < f->tensor_count; i++) {
        const struct op_file_tensor *t = &f->tensors[i];
        int64_t size = 0;
        if (!ALL_OF(k, t->rank, work_int(work, t->shape[k], &size, err)))
            return false;
        bool pairs = (t->role.dtype != DTYPE_NONE ? t->role.dtype : work->dtype) == DTYPE_E2M1;
        if (pairs && (t->image || size % 2))
            return error_set(err, ERROR_USAGE,
                             "tensor '%s': two values of e2m1 share a byte, so its last size must be even and its layout linear",
                             t->role.name);
    }
    if (work->op->settle && (work->p != work->h || work->q != work->w))
        return error_set(err, ERROR_INTERNAL, "%s: a mask needs outputs at the places of their inputs", work->op->name);
    if (work->op->task == TASK_POINTWISE && !work->epilogue_count)
        return error_set(err, ERROR_USAGE, "%s: the op only applies its epilogue, which is empty", work->op->name);
    return counts_fit(f, work, err) && (!f->stages || stage_fits(work, err));
}

int op_file_tensors(const struct work *work, struct tensor out[OP_MAX_TENSORS])
{
    const struct op_file *f = work->op->file;
    int count = 0;
    for (int i = 0; i < f->tensor_count; i++) {
        const struct op_file_tensor *from = &f->tensors[i];
        if (from->when && file_real(work, from->when) == 0)
            continue;
        struct tensor *t = &out[count++];
        *t = (struct tensor){.role = &from->role,
                             .dtype = from->role.dtype != DTYPE_NONE ? from->role.dtype : work->dtype,
                             .layout = from->layout  ? from->layout
                                       : from->image ? work->layout
                                                     : LAYOUT_LINEAR,
                             .rank = from->rank,
                             .written = from->role.output};
        for (int k = 0; k < t->rank; k++)
            if (!work_int(work, from->shape[k], &t->dim[k], NULL))
                t->dim[k] = 0;
    }
    return count;
}

double op_file_flop(const struct work *work)
{
    const struct op_file *f = work->op->file ? work->op->file : work->op->image;
    return f->flop ? file_real(work, f->flop) : f->stages ? stage_flop(work) : 0;
}
