#include "measure/trust/failure.h"
#include "base/file.h"
#include "base/text.h"
#include "op/op_file.h"
#include <math.h>
#include <string.h>

/* A kernel of bench's own that finds a buffer unwritten is not the cause. (PTX of another compiler names its own sources.) */
static void add_remedy(const struct device_report *report, const struct row *row, struct text *t)
{
    const struct row_step *first = NULL;
    for (int i = 0; i < row->step_count && !first; i++)
        first = row->steps[i].file[0] && !row->steps[i].prepare ? &row->steps[i] : NULL;
    if (!strcmp(report->kind, "uninitialised") && report->file[0] && first && strcmp(first->file, report->file) &&
        !text_ends(first->file, ".ptx"))
        text_addf(t, "; %s of %s, which runs before, left it unwritten: check its grid and its last blocks", first->name,
                  file_base(first->file));
}

void failure_take_reports(struct device *dev, struct row *row)
{
    const struct device_report *reports;
    int count = dev->ops->reports ? dev->ops->reports(dev, &reports) : 0;
    if (!count)
        return;
    static const struct {
        const char *kind;
        enum row_status status;
    } meanings[] = {
        {"time_limit", ROW_HUNG}, {"deadlock", ROW_HUNG}, {"trap", ROW_CRASHED}, {"assert", ROW_CRASHED}, {"unsupported", ROW_SKIPPED}};
    enum row_status status = ROW_UNSAFE;
    const struct device_report *first = &reports[0];
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof meanings / sizeof *meanings; k++)
            if (!strcmp(reports[i].kind, meanings[k].kind)) {
                status = meanings[k].status;
                first = &reports[i];
            }
    for (int i = 1; i < count && status == ROW_UNSAFE; i++) /* a missing __syncwarp is rarely the cause of a race between warps */
        if (first->one_warp && !strcmp(reports[i].kind, first->kind) && !reports[i].one_warp)
            first = &reports[i];
    row->status = status;
    struct text reason = {0};
    text_addf(&reason, "%s: ", first->kind);
    if (first->line > 0)
        text_addf(&reason, "%s%s%d: ", file_base(first->file), first->file[0] ? ":" : "line ", first->line);
    text_add(&reason, first->text);
    if (count > 1)
        text_addf(&reason, " (and %d more report%s)", count - 1, count > 2 ? "s" : "");
    add_remedy(first, row, &reason);
    row_set(&row->reason, text_get(&reason));
    bool placed = first->line > 0 && first->file[0];
    row_set(&row->reason_file, placed ? first->file : NULL);
    row->reason_line = placed ? first->line : -1;
    text_free(&reason);
}

void failure_blame(struct device *dev, struct row *row, const struct error *why, enum row_status otherwise)
{
    row->status = otherwise;
    row_set_reason(row, why);
    failure_take_reports(dev, row);
    if (why->kind == ERROR_ENVIRONMENT && row->status == otherwise)
        row->status = ROW_SKIPPED;
    else if (why->kind == ERROR_MACHINE && row->status == otherwise)
        row->status = ROW_PLANNED; /* --resume tries it again */
    else if (why->kind == ERROR_USAGE && row->status == otherwise)
        row->status = ROW_BROKEN;
}

#define GUESSED_MOST 1e4   /* bounds: cancellation does not explain a larger error */
#define GUESSED_MANY 64    /* the same, if half of the elements are off */
#define NO_TERMS_MOST 1e-3 /* of the value: rounding does not explain a larger error */
#define ODD_SHARE 1e-2     /* of the elements: rounding to whole numbers does not explain a larger share */

static enum dtype dtype_of(const struct program *p, int slot)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].role->slot == slot)
            return p->tensors[i].dtype;
    return p->work.dtype;
}

/* Adds a few integers, each beside the value that the reference rounded to it. */
static bool is_off_by_rounding(const struct program *p, const struct verdict *v)
{
    return dtype_is_whole(dtype_of(p, v->slot)) && v->worst_bound > 0 && fabs(v->worst_got - v->worst_want) == 1 &&
           (double)v->wrong <= (double)v->elements * ODD_SHARE;
}

const char *failure_hint(const struct program *p, const struct op_data *data, const struct verdict *v)
{
    const struct work *work = &p->work;
    const struct op_file *file = work->op->file ? work->op->file : work->op->image;
    double off = fabs(v->worst_got - v->worst_want);
    bool near = off > 0 && isfinite(v->worst_want) && off <= NO_TERMS_MOST * fabs(v->worst_want),
         bounded = work->op->file && work->op->file->tensors[v->slot].tolerance > 0;
    double want = fabs(v->worst_want);
    if (file && near && data->exact && work_is_exact(work) && (want > dtype_exact_integer(DTYPE_F32) || (double)(float)want != want))
        return "; with small integers the results of the op are rounded in f32, so a right kernel may differ in bits: set `exact: no` "
               "(docs/OP.md)";
    if (file && !work->op->has_filter && work_terms(work) == 1 && !bounded && near)
        return "; the op says that a result has 1 term: if more are summed, set `terms` to their number (docs/OP.md)";
    bool cancels = off <= (2 * v->wrong >= v->elements ? GUESSED_MANY : GUESSED_MOST) * v->worst_bound &&
                   !(dtype_is_whole(dtype_of(p, v->slot)) && off > 1); /* bounds of whole numbers are half a unit at least */
    if (data->at[v->slot].guessed && isfinite(v->worst_want) && cancels)
        return "; the reference gives no magnitude, so the tolerance may be too small for sums that cancel (docs/OP.md, Tolerance)";
    if (file && !file->stages && is_off_by_rounding(p, v))
        return "; the reference rounds its result: without rounding, both adjacent values near a tie would pass (docs/OP.md, Tolerance)";
    if (file && !file->stages && work_terms(work) == 0 && !bounded && near)
        return "; the op has no `terms`, so values must match bit for bit: set it to 1 or more if they are computed (docs/OP.md)";
    return "";
}
