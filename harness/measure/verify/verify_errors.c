/* The statistical look at an output whose elements are all within their tolerances: do its errors look like those of correct arithmetic?
 *
 * Two kinds of elements are suspects, on full-precision data:
 *
 * - In a type narrower than f32, a value other than those that results within the bound of the reference round to. A correct kernel rounds
 *   once, when it stores, so it has none. The tolerance of an element must allow a whole rounding more, which hides a bias of the sum.
 * - In f32, an error above LARGE times the usual one: a serial sum, which has the largest errors of all correct orders, stays below it,
 *   with SUM_RMS of the bound as its root mean square (op/reference/bound.h). An op's file states its own share (`error_rms`), or is an
 *   exact sum. Types for which tensor cores truncate are left out, because their errors have one sign, and so are transforms, which mix
 *   errors.
 *
 * Single suspects mean nothing. The output is wrong if they are 1 % of all and in half of the rows, or a fifth of a column or channel (in a
 * narrow type a twentieth). Where a suspect has a probability of 6e-5 (four standard deviations), 4 of 16 have 2e-14, and 1 % in half of
 * eight rows 1e-15, so that even 10^5 columns of 10^4 rows keep the error rate of all looks together below 1e-4
 * (tests/unit/test_verify_errors.c simulates it). Errors that all elements of a row share (that of softmax's sum) count once: hence the
 * rule of half of the rows, and at least three. */
#include "measure/verify/verify_private.h"
#include "op/convert.h"
#include "op/op_file.h"
#include "op/reference/bound.h"
#include <math.h>
#include <stdlib.h>

#define LARGE 4.0
#define SUM_RMS 0.045
#define SUM_TERMS 9        /* shorter sums: the roundings of the result are as large */
#define SUM_TERMS_MOST 256 /* for ops with roots and powers, whose own roundings count in shorter sums */
#define FLUSHED 0x1p-126   /* f32 may flush smaller values to 0 */
#define ROWS 3             /* least number of rows with suspects */
#define GROUP 16           /* least number of elements of a column or channel */
#define GROUP_SUSPECTS 4

/* Root mean square of the errors of a correct f32 kernel, as a share of the bound; 0: not known. */
static double usual_error(const struct work *w, bool guessed)
{
    const struct op_file *f = w->op->file;
    if (!f)
        return w->op->has_filter ? SUM_RMS : 0;
    bool sum = work_is_exact(w) && !f->stages && !(f->tolerance > 0) && !guessed;
    return f->error_rms > 0 ? f->error_rms : sum ? SUM_RMS : 0;
}

/* Sums of chosen elements (a table and indices): if fewer are read than results are written, results share terms, and so their errors. */
static bool results_share_terms(const struct verify_look *look)
{
    size_t read = 0;
    bool chosen = false;
    for (int i = 0; i < look->program->tensor_count; i++) {
        const struct tensor *t = &look->program->tensors[i];
        if (t->role->values == VALUES_INDICES)
            chosen = true;
        else if (!t->written)
            read += tensor_elements(t);
    }
    return chosen && read < tensor_elements(&look->t);
}

void verify_errors_begin(struct verify_look *look)
{
    const struct program *p = look->program;
    const struct work *w = &p->work;
    enum dtype t = look->t.dtype;
    look->large = INFINITY;
    if (!w->op || tensor_role_is_mask(look->t.role)) /* a mask of a sequence belongs to no op */
        return;
    bool none = look->data->exact || w->chain || !look->want->bound || look->roundings > 1,
         rounds = w->math == MATH_F32 || w->math == MATH_NONE, direct = bound_factor(p->algorithm, w) == 1;
    double rms = usual_error(w, look->want->guessed);
    look->narrow = !none && (t == DTYPE_F16 || t == DTYPE_BF16);
    if (!none && t == DTYPE_F32 && rounds && direct && rms > 0 && work_terms(w) >= (work_is_exact(w) ? SUM_TERMS : SUM_TERMS_MOST) &&
        !results_share_terms(look))
        look->large = LARGE * rms;
}

bool verify_is_suspect(const struct verify_look *look, size_t i, double got)
{
    double want = look->want->reference[i], error = fabs(got - want);
    if (!isfinite(error) || (!look->narrow && isinf(look->large)))
        return false;
    double most = (double)look->want->bound[i] * look->factor;
    if (most == 0)
        return false;
    if (!look->narrow)
        return error > look->large * verify_tolerance(look, i) + FLUSHED;
    most += 0x1p-22 * fabs(want) + FLUSHED; /* f32 rounds before the store */
    if (error <= most + dtype_unit_roundoff(look->t.dtype) / 2 * fabs(want))
        return false;
    return got < verify_rounded(look->t.dtype, want - most) || got > verify_rounded(look->t.dtype, want + most);
}

/* Elements of a group, and suspects among them. */
struct share {
    int64_t all, suspects;
};
struct shares {
    struct share *columns, *channels, whole;
    int64_t rows, rows_suspect;
};

static void add(struct share *s, bool suspect)
{
    s->all++;
    s->suspects += suspect;
}

static void look_at_rows(const struct verify_look *look, struct shares *s)
{
    const int64_t *dim = look->fold, width = dim[3];
    SCOPED float *got = xmalloc((size_t)width * sizeof *got);
    SCOPED void *bits = xmalloc((size_t)width * dtype_bytes(look->t.dtype));
    for (int64_t line = 0; line < dim[0] * dim[1] * dim[2]; line++) {
        int64_t n = line / dim[2] / dim[1], c = line / dim[2] % dim[1], h = line % dim[2], hits = 0;
        const float *mask = look->mask ? look->mask + (n * (dim[2] / look->block) + h / look->block) * (width / look->block) : NULL;
        tensor_row(&look->t, look->storage, n, c, h, bits);
        convert_to_float(look->t.dtype, bits, got, (size_t)width);
        for (int64_t x = 0; x < width; x++) {
            if (mask && mask[x / look->block] == 0)
                continue;
            bool suspect = verify_is_suspect(look, (size_t)(line * width + x), got[x]);
            add(&s->whole, suspect);
            add(&s->columns[x], suspect);
            add(&s->channels[c], suspect);
            hits += suspect;
        }
        s->rows++;
        s->rows_suspect += hits > 0;
    }
    if (look->t.rank == 1) /* each element is a result by itself */
        s->rows = s->whole.all, s->rows_suspect = s->whole.suspects;
}

static bool is_many(const struct verify_look *look, const struct share *s)
{
    return s->all >= GROUP && s->suspects >= GROUP_SUSPECTS && (look->narrow ? 20 : 5) * s->suspects >= s->all;
}

/* In a narrow type a single row suffices: the look there needs no independent errors. */
static bool are_many(const struct verify_look *look, const struct shares *s)
{
    int64_t half = (s->rows + 1) / 2, least = half > ROWS ? half : ROWS;
    if (look->narrow && least > s->rows)
        least = s->rows;
    if (verify_suspects_matter(s->whole.suspects, s->whole.all, VERIFY_SUSPECTS) && s->rows_suspect >= least)
        return true;
    if (look->t.rank == 1) /* independent results */
        return s->whole.suspects >= ROWS && 5 * s->whole.suspects >= s->whole.all;
    for (int64_t i = 0; i < look->fold[3]; i++)
        if (is_many(look, &s->columns[i]))
            return true;
    for (int64_t i = 0; look->image && i < look->fold[1]; i++)
        if (is_many(look, &s->channels[i]))
            return true;
    return false;
}

bool verify_suspects_matter(int64_t suspects, int64_t all, double share)
{
    return suspects >= GROUP && (double)suspects >= share * (double)all;
}

bool verify_errors_are_odd(const struct verify_look *look)
{
    if (!look->narrow && isinf(look->large))
        return false;
    struct shares s = {.columns = xcalloc((size_t)look->fold[3], sizeof *s.columns),
                       .channels = xcalloc((size_t)look->fold[1], sizeof *s.channels)};
    look_at_rows(look, &s);
    bool odd = are_many(look, &s);
    free(s.columns);
    free(s.channels);
    return odd;
}

void verify_describe_odd(const struct verify_look *look, struct text *t)
{
    if (look->narrow)
        text_addf(t, "; within the tolerance, but not what a correct sum rounds to in %s: the error is systematic",
                  dtype_name(look->t.dtype));
    else
        text_addf(t, "; within the tolerance, but correct kernels rarely exceed %.2g of it", look->large);
}
