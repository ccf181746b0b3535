#include "measure/verify/verify.h"
#include "base/pool.h"
#include "measure/verify/verify_private.h"
#include "op/convert.h"
#include "op/mask/tiles.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wrong element with the largest error so far. */
struct candidate {
    double ratio, error, tolerance; /* ratio: error / tolerance; 0: no error so far */
    size_t index;
    double got, want;
    bool poison;
};
/* The result of one thread. */
struct tally {
    struct verdict v; /* counts only */
    struct candidate worst;
    int64_t *wrong_at[TENSOR_MAX_RANK];
    int64_t border;
    size_t first_wrong;
};
struct pass {
    struct verify_look *look;
    struct tally *tallies;
};

/* True if worse: larger error / tolerance, then larger error, then the earlier element, so that the result does not depend on the number
 * of threads. */
static void keep_worst(struct tally *t, struct candidate c)
{
    const struct candidate *w = &t->worst;
    if (c.ratio > w->ratio || (c.ratio == w->ratio && (c.error > w->error || (c.error == w->error && c.index < w->index))))
        t->worst = c;
}

static void count_wrong(struct verify_look *look, struct tally *t, const int64_t at[4], size_t index, double got)
{
    int64_t row = at[0] * look->fold[2] + at[2], place[TENSOR_MAX_RANK], border = INT64_MAX;
    tensor_coordinates(&look->t, index, place);
    size_t stored = tensor_index(&look->t, index);
    t->first_wrong = t->v.wrong++ && t->first_wrong < stored ? t->first_wrong : stored;
    for (int i = 0; i < look->t.rank; i++) {
        int64_t far = look->t.dim[i] - 1 - place[i], near = place[i] < far ? place[i] : far;
        t->wrong_at[i][place[i]]++;
        if (i >= look->t.rank - 2 && near < border)
            border = near;
    }
    if (border > t->border)
        t->border = border;
    /* Only this thread handles this row. Reservoir sampling: every wrong element of the row has the same chance to stay; the draws
     * differ between rows. */
    uint64_t seen = (uint64_t)look->row_wrong[row]++, drawn = (seen + ((uint64_t)row << 32)) * UINT64_C(0x9e3779b97f4a7c15),
             slot = seen < VERIFY_SAMPLES_PER_ROW ? seen : (drawn >> 20) % (seen + 1);
    if (slot < VERIFY_SAMPLES_PER_ROW)
        look->samples[row * VERIFY_SAMPLES_PER_ROW + (int64_t)slot] = (struct verify_sample){{at[0], at[1], at[2], at[3]}, got};
}

/* The success form: an element is right only if a comparison is true. A NaN is right where the op's file allows NaN and the reference has
 * one. */
static void check_element(struct verify_look *look, struct tally *t, const int64_t at[4], size_t index, double got, bool poison)
{
    double want = look->want->reference[index], tolerance = verify_tolerance(look, index);
    if (tolerance == 0)
        want = verify_rounded(look->t.dtype, want);
    double error = fabs(got - want);
    t->v.elements++;
    bool suspect = look->odd && verify_is_suspect(look, index, got);
    if (isnan(want) && isnan(got) && !poison)
        return;
    if (!suspect && (got == want || (error <= tolerance && verify_in_range(look, got)))) {
        if (got != want)
            keep_worst(t, (struct candidate){error / tolerance, error, tolerance, index, got, want, false});
        return;
    }
    t->v.unwritten += poison;
    t->v.nan += !poison && isnan(got);
    error = isnan(error) ? INFINITY : error;
    keep_worst(t,
               (struct candidate){verify_in_range(look, got) ? error / tolerance : INFINITY, error, tolerance, index, got, want, poison});
    count_wrong(look, t, at, index, got);
}

/* An inactive output of a kernel that uses the mask must be what the variant declares. */
static void check_inactive(struct verify_look *look, struct tally *t, const int64_t at[4], size_t index, double got, bool poison)
{
    enum inactive declared = look->program->inactive;
    if (declared == INACTIVE_BIAS) {
        check_element(look, t, at, index, got, poison);
        return;
    }
    t->v.elements++;
    if (declared == INACTIVE_UNTOUCHED ? poison : got == 0)
        return;
    t->v.touched_inactive++;
    t->v.unwritten += declared == INACTIVE_ZERO && poison;
    double error = isnan(got) ? INFINITY : fabs(got);
    keep_worst(t, (struct candidate){INFINITY, error, 0, index, got, declared == INACTIVE_ZERO ? 0 : NAN, poison});
    count_wrong(look, t, at, index, got);
}

/* Checks a row of an image, all channels. Has a fast path for elements that match to the last bit, as most do. */
static void check_row(void *context, int64_t index, int thread)
{
    struct pass *pass = context;
    struct verify_look *look = pass->look;
    struct tally *t = &pass->tallies[thread];
    const struct tensor *o = &look->t;
    const int64_t *dim = look->fold;
    int64_t n = index / dim[2], h = index % dim[2], width = dim[3];
    SCOPED float *got = xmalloc((size_t)width * sizeof *got);
    SCOPED void *bits = xmalloc((size_t)width * dtype_bytes(o->dtype));
    int64_t row = (n * (dim[2] / look->block) + h / look->block) * (width / look->block);
    const float *mask = look->mask ? look->mask + row : NULL;
    bool wide = o->dtype == DTYPE_F64 || (dtype_is_whole(o->dtype) && dtype_bytes(o->dtype) >= 4); /* a float has fewer digits */
    for (int64_t c = 0; c < dim[1]; c++) {
        tensor_row(o, look->storage, n, c, h, bits);
        convert_to_float(o->dtype, bits, got, (size_t)width);
        size_t first = (size_t)(((n * dim[1] + c) * dim[2] + h) * width);
        const double *want = look->want->reference + first;
        for (int64_t w = 0; w < width; w++) {
            int64_t at[4] = {n, c, h, w};
            double value = wide ? dtype_get(o->dtype, bits, (size_t)w) : got[w];
            if (mask && mask[w / look->block] == 0) {
                if (look->spared && look->spared[row + w / look->block])
                    t->v.elements++;
                else if (look->program->uses_mask)
                    check_inactive(look, t, at, first + (size_t)w, value, verify_is_poison(o->dtype, bits, w));
            } else if (value == want[w]) {
                t->v.elements++;
            } else {
                check_element(look, t, at, first + (size_t)w, value, verify_is_poison(o->dtype, bits, w));
            }
        }
    }
}

static struct candidate merge(struct verify_look *look, struct tally *tallies, int threads, struct verdict *out)
{
    struct tally all = {0};
    for (int i = 0; i < threads; i++) {
        struct tally *t = &tallies[i];
        out->elements += t->v.elements;
        out->wrong += t->v.wrong;
        out->nan += t->v.nan;
        out->unwritten += t->v.unwritten;
        out->touched_inactive += t->v.touched_inactive;
        if (t->v.wrong && t->first_wrong < look->first_wrong)
            look->first_wrong = t->first_wrong;
        if (t->border > look->border)
            look->border = t->border;
        keep_worst(&all, t->worst);
        for (int d = 0; d < look->t.rank; d++)
            for (int64_t k = 0; k < look->t.dim[d]; k++)
                look->wrong_at[d][k] += t->wrong_at[d][k];
    }
    out->error_over_bound = all.worst.ratio;
    out->worst_error = all.worst.error;
    out->worst_bound = all.worst.tolerance;
    out->worst_got = all.worst.got;
    out->worst_want = all.worst.want;
    tensor_coordinates(&look->t, all.worst.index, out->worst_at);
    return all.worst;
}

/* "1,234,567" */
static void verify_add_count(struct text *t, int64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)n);
    size_t len = strlen(digits);
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            text_add(t, ",");
        text_add_bytes(t, digits + i, 1);
    }
}

/* "output(0,719,1270,63)": coordinates in the order of the storage, as the kernel's author indexes it. */
static void add_place(struct text *t, const struct tensor *o, const int64_t *at)
{
    int axes[TENSOR_MAX_RANK];
    tensor_axes(o, axes);
    text_addf(t, "%s(", o->role->name);
    for (int i = 0, count = 0; i < o->rank; i++)
        if (o->layout != LAYOUT_BITS || i != 1 || o->dim[1] != 1) /* masks have no channels */
            text_addf(t, "%s%ld", count++ ? "," : "", (long)at[axes[i]]);
    text_add(t, ")");
}

/* "1.5, want 1.25": as many digits as distinguish the two. */
static void add_got_and_want(struct text *t, double got, double want)
{
    char a[40], b[40];
    for (int digits = 7; digits <= 17; digits += 2) {
        snprintf(a, sizeof a, "%.*g", digits, got);
        snprintf(b, sizeof b, "%.*g", digits, want);
        if (strcmp(a, b))
            break;
    }
    text_addf(t, " = %s, want %s", a, b);
}

#define NEAR_ULP 16 /* in units of the last place of the output's type: so small an error is a matter of rounding */

/* "; off by 3 ulp of bf16, 1.4 times the tolerance": of a worst element that is nearly right. */
static void add_near(const struct verify_look *look, const struct candidate *worst, struct text *t)
{
    const enum dtype type = look->t.dtype;
    if (worst->poison || !isfinite(worst->error) || !isfinite(worst->want) || dtype_is_whole(type) || !verify_in_range(look, worst->got))
        return;
    int exponent;
    double least = 2 * dtype_underflow(type), ulp = frexp(worst->want, &exponent) == 0 ? least : ldexp(dtype_unit_roundoff(type), exponent),
           off = worst->error / fmax(ulp, least);
    if (off > NEAR_ULP)
        return;
    text_addf(t, "; off by %.2g ulp of %s", off, dtype_name(type));
    if (worst->tolerance > 0)
        text_addf(t, ", %.2g times the tolerance", worst->ratio);
    else if (look->data->exact)
        text_add(t, ", on small integers, with which every right kernel gives the same bits");
}

static void describe_wrong(const struct verify_look *look, const struct candidate *worst, const struct verdict *v, struct text *t)
{
    add_place(t, &look->t, v->worst_at);
    if (isnan(worst->want) && look->mask)
        text_addf(t, " = %.7g, but its pixel is inactive and must not be written", worst->got);
    else if (worst->poison)
        text_addf(t, " was not written, want %.7g", worst->want);
    else
        add_got_and_want(t, worst->got, worst->want);
    if (worst->tolerance > 0)
        text_addf(t, " ±%.2g", worst->tolerance);
    if (!isnan(worst->got) && !worst->poison && !verify_in_range(look, worst->got))
        text_add(t, worst->got < look->least ? ", less than its activation can leave" : ", more than its activation can leave");
    text_add(t, "; ");
    verify_add_count(t, v->wrong);
    text_add(t, " of ");
    verify_add_count(t, v->elements);
    text_addf(t, " elements%s%s", v->pattern[0] ? ", " : "", v->pattern);
    if (look->odd)
        verify_describe_odd(look, t);
    else
        add_near(look, worst, t);
}

const char *verify_stored_as(const struct program *p, const struct verdict *v)
{
    for (int i = 0; i < p->tensor_count; i++) {
        enum dtype type = p->tensors[i].dtype;
        double rounding = dtype_is_whole(type) ? 0.5 : dtype_unit_roundoff(type) * fabs(v->worst_want) + dtype_underflow(type);
        if (p->tensors[i].role->slot == v->slot && rounding >= v->worst_bound / 2)
            return dtype_name(type);
    }
    return NULL;
}

void verify_describe_right(struct verdict *v)
{
    if (!v->elements)
        snprintf(v->text, sizeof v->text, "nothing to compare: no output is active");
    else if (v->error_over_bound == 0)
        snprintf(v->text, sizeof v->text, "exact");
    else
        snprintf(v->text, sizeof v->text, "%.2g of the tolerance", v->error_over_bound);
}

static void verify_describe(const struct verify_look *look, const struct candidate *worst, struct verdict *v)
{
    struct text t = {0};
    if (v->ok) {
        verify_describe_right(v);
        return;
    }
    describe_wrong(look, worst, v, &t);
    snprintf(v->text, sizeof v->text, "%s", text_get(&t));
    text_free(&t);
}

static void *histograms(int64_t *at[], const struct tensor *t)
{
    int64_t total = 0;
    for (int d = 0; d < t->rank; d++)
        total += t->dim[d];
    int64_t *all = xcalloc((size_t)total, sizeof *all), *next = all;
    for (int d = 0; d < t->rank; d++) {
        at[d] = next;
        next += t->dim[d];
    }
    return all;
}

static void compare_numbers(struct verify_look *look, struct verdict *out)
{
    int64_t rows = look->fold[0] * look->fold[2];
    int threads = pool_threads_for((int64_t)tensor_elements(&look->t), 25000);
    SCOPED void *histogram = histograms(look->wrong_at, &look->t);
    look->samples = xcalloc((size_t)rows * VERIFY_SAMPLES_PER_ROW, sizeof *look->samples);
    look->row_wrong = xcalloc((size_t)rows, sizeof *look->row_wrong);
    struct pass pass = {.look = look, .tallies = xcalloc((size_t)threads, sizeof *pass.tallies)};
    SCOPED void **own = xcalloc((size_t)threads, sizeof *own);
    for (int i = 0; i < threads; i++)
        own[i] = histograms(pass.tallies[i].wrong_at, &look->t);
    pool_for(rows, threads, check_row, &pass);
    struct candidate worst = merge(look, pass.tallies, threads, out);
    out->ok = out->wrong == 0 && (out->elements > 0 || look->mask);
    if (out->wrong)
        verify_pattern(look, out, out->pattern, sizeof out->pattern);
    verify_describe(look, &worst, out);
    for (int i = 0; i < threads; i++)
        free(own[i]);
    FREE_ALL(pass.tallies, look->samples, look->row_wrong);
}

static void verify_numbers(struct verify_look *look, struct verdict *out)
{
    const struct program *p = look->program;
    struct tile tile;
    bool skipped;
    if (look->mask && p->uses_mask && p->spared.h) {
        look->spared = xcalloc((size_t)p->work.n * (size_t)(p->work.p * p->work.q), 1);
        tiles_mark(&p->work, look->mask, &p->spared, look->spared);
    }
    compare_numbers(look, out);
    look->odd = out->ok && verify_errors_are_odd(look);
    if (look->odd) {
        *out = (struct verdict){0};
        compare_numbers(look, out);
    }
    if (out->wrong && out->wrong == out->touched_inactive && p->finds_tile && (look->spared = verify_find_tile(look, &tile, &skipped))) {
        *out = (struct verdict){0};
        compare_numbers(look, out);
        snprintf(out->note, sizeof out->note, "inactive outputs are skipped by tiles of %ldx%ld, not one by one%s", (long)tile.h,
                 (long)tile.w, skipped ? "" : ": none to skip here");
    }
    free(look->spared);
}

/* 32 columns as one word, which past the last are 0. */
static uint32_t bits_wanted(const double *row, int64_t first, int64_t width)
{
    uint32_t word = 0;
    for (int64_t x = first; x < first + 32 && x < width; x++)
        word |= (uint32_t)(row[x] != 0) << (x - first);
    return word;
}

static void verify_bits(const struct verify_look *look, struct verdict *out)
{
    const struct tensor *t = &look->t;
    const uint32_t *words = look->storage;
    int64_t width = look->fold[3], across = (width + 31) / 32, rows = look->fold[2], behind = 0; /* of all images */
    for (int64_t word = 0; word < rows * across; word++) {
        int64_t row = word / across, first = word % across * 32;
        if (words[word] == bits_wanted(&look->want->reference[row * width], first, width))
            continue;
        for (int64_t x = first; x < first + 32 && (x < width || !look->program->any_padding); x++) {
            bool got = words[row * across + x / 32] >> x % 32 & 1, want = x < width && look->want->reference[row * width + x] != 0;
            if (got == want)
                continue;
            uint32_t unlike = (words[row * across + x / 32] ^ VERIFY_POISON) >> x % 32 / 8 * 8 & 0xff;
            if (look->program->finds_padding && x >= (width + 7) / 8 * 8 && !unlike) {
                snprintf(out->note, sizeof out->note, "bytes of %s after the last column are not written", t->role->name);
                continue;
            }
            behind += x >= width;
            if (!out->wrong++) {
                tensor_coordinates(t, (size_t)(row * width), out->worst_at);
                out->worst_at[t->rank - 1] = x;
                out->worst_got = got;
                out->worst_want = want;
            }
        }
    }
    out->elements = rows * width;
    out->ok = out->wrong == 0 && out->elements > 0;
    if (out->ok)
        return;
    SCOPED_TEXT text = {0};
    add_place(&text, t, out->worst_at);
    text_addf(&text, " = %g, want %g%s; %lld of %lld pixels", out->worst_got, out->worst_want,
              out->worst_at[t->rank - 1] < width ? "" : " (past the last column)", (long long)(out->wrong - behind),
              (long long)out->elements);
    if (behind)
        text_addf(&text, " and %lld bits after the last column", (long long)behind);
    snprintf(out->text, sizeof out->text, "%s", text_get(&text));
}

void verify_tensor(const struct program *program, int tensor, const struct op_data *data, const void *storage, struct verdict *out)
{
    struct verify_look look;
    verify_begin(&look, program, tensor, data, storage);
    *out = (struct verdict){0};
    if (!look.want->reference)
        snprintf(out->text, sizeof out->text, "%s is missing for the comparison", look.t.role->name);
    else if (look.t.layout == LAYOUT_BITS)
        verify_bits(&look, out);
    else
        verify_numbers(&look, out);
}

void verify_places(const struct program *program, int tensor, const struct op_data *data, const struct verify_place *places, size_t count,
                   struct verdict *out)
{
    struct verify_look look;
    struct tally t = {0};
    verify_begin(&look, program, tensor, data, NULL);
    const size_t width = (size_t)look.fold[3], plane = (size_t)look.fold[2] * width, image = (size_t)look.fold[1] * plane;
    for (const struct verify_place *p = places; p < places + count; p++) {
        size_t block = (size_t)look.block, y = p->logical % plane / width, x = p->logical % width;
        if (look.mask && look.mask[(p->logical / image * (plane / width / block) + y / block) * (width / block) + x / block] == 0)
            continue;
        t.v.elements++;
        if (verify_right(&look, p->logical, p->got))
            continue;
        double want = look.want->reference[p->logical], error = fabs(p->got - want), tolerance = verify_tolerance(&look, p->logical);
        error = isnan(error) ? INFINITY : error;
        t.v.wrong++;
        t.v.nan += isnan(p->got);
        keep_worst(&t, (struct candidate){tolerance > 0 ? error / tolerance : INFINITY, error, tolerance, p->logical, p->got, want, false});
    }
    *out = t.v;
    out->ok = !t.v.wrong;
    tensor_coordinates(&look.t, t.worst.index, out->worst_at);
    verify_describe(&look, &t.worst, out);
}
