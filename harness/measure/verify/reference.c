#include "measure/verify/reference.h"
#include "base/npy.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/reference_private.h"
#include "op/reference/bound.h"
#include "op/chain/chain.h"
#include "op/op_file.h"
#include "op/reference/data.h"
#include "op/stage/stage.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *reference_source(const struct op *op)
{
    return op->file && op->file->from == REFERENCE_KERNEL ? op->file->source : NULL;
}

int reference_defines(const struct work *work, char ***defines, struct error *err)
{
    if (work->op->file->stages)
        return stage_defines(work, defines, err);
    if (!(work->op->dtypes >> DTYPE_F64 & 1))
        return 0;
    *defines = xcalloc(1, sizeof **defines);
    (*defines)[0] = text_format("REAL=%s", work->dtype == DTYPE_F64 ? "double" : "float");
    return 1;
}

/* An emu copy of another device's buffer, for the cross-check. */
/* Checks the kernel's results: no element may be NaN, which is also the value of unwritten elements. */
static bool run_results(struct reference_run *r, double *magnitudes[OP_MAX_TENSORS], struct error *err)
{
    for (int i = 0; i < r->count; i++) {
        const struct tensor *t = &r->tensors[i];
        int slot = t->role->slot;
        size_t bytes = tensor_elements(t) * sizeof(double);
        if (!t->written)
            continue;
        if (!r->dev->ops->read(r->dev, r->at[slot], r->data->at[slot].reference, bytes, err))
            return false;
        if (!r->extra[slot])
            continue;
        magnitudes[slot] = xmalloc(bytes + 1);
        if (!r->dev->ops->read(r->dev, r->extra[slot], magnitudes[slot], bytes, err))
            return false;
    }
    return true;
}

static bool compile_reference(const struct work *work, const char *arch, const char *compiler, bool ptx_only, struct compiled *c,
                              struct error *err)
{
    SCOPED char **defines = NULL;
    int define_count = reference_defines(work, &defines, err);
    struct compile_request request = {.path = work->op->file->source,
                                      .label = "reference",
                                      .defines = (const char *const *)defines,
                                      .define_count = define_count,
                                      .arch = arch,
                                      .compiler = compiler,
                                      .ptx_only = ptx_only};
    bool ok = define_count >= 0 && compile(&request, c, err);
    for (int i = 0; i < define_count; i++)
        free(defines[i]);
    return ok;
}

void reference_compile(const struct work *work, const char *arch, const char *compiler, bool ptx_only)
{
    struct compiled c = {0};
    struct error ignored = {0}; /* reported when the reference is made */
    if (reference_source(work->op) && compile_reference(work, arch, compiler, ptx_only, &c, &ignored))
        compiled_free(&c);
}

bool reference_run(struct reference_run *r, const char *compiler, struct error *err)
{
    SCOPED_BY(compiled_free) struct compiled c = {0};
    bool ok = compile_reference(r->work, r->dev->chip.arch, compiler, !r->dev->ops->keeps_time, &c, err);
    /* a sweep may have 64 parts, and a block of a long line is long; the other shapes were held */
    bool held = r->dev->witness && !r->work->set_seed && !r->work->sweep.of && !r->work->few;
    struct reference_run here = {.dev = r->dev->witness};
    ok = ok && reference_run_open(r, &c, err) && (!held || reference_cross_check(r, &c, &here, err)) &&
         reference_run_launch(r, NULL, 0, err) && (!held || reference_cross_compare(r, &here, err));
    if (held)
        reference_run_close(&here);
    return ok;
}

static bool reference_kernel(struct device *dev, const char *compiler, const struct work *work, struct op_data *data,
                             double *magnitudes[OP_MAX_TENSORS], bool bounds[OP_MAX_TENSORS], struct error *err)
{
    struct reference_run r = {.dev = dev, .work = work, .data = data, .file = work->op->file};
    bool ok = reference_run(&r, compiler, err) && run_results(&r, magnitudes, err);
    reference_run_close(&r);
    memcpy(bounds, r.bounds, sizeof r.bounds);
    return ok;
}

bool reference_take(const struct tensor *t, const char *result, const char *sizes, struct op_data *data, double **magnitudes,
                    struct error *err)
{
    struct npy a;
    if (!npy_read_shape(result, t->dim, t->rank, &a, err))
        return false;
    memcpy(data->at[t->role->slot].reference, a.value, a.count * sizeof *a.value);
    npy_free(&a);
    if (sizes && !npy_read_shape(sizes, t->dim, t->rank, &a, err))
        return false;
    *magnitudes = sizes ? a.value : NULL;
    return true;
}

static bool reference_files(const struct work *work, struct op_data *data, double *magnitudes[OP_MAX_TENSORS], bool bounds[OP_MAX_TENSORS],
                            struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        const struct op_file_tensor *of = op_file_tensor(work->op, list[i].role);
        int slot = list[i].role->slot;
        if (list[i].written && !reference_take(&list[i], of->reference_npy, of->sizes_npy, data, &magnitudes[slot], err))
            return false;
        bounds[slot] = of->bounds;
    }
    return true;
}

bool reference_refuse(const struct tensor *t, int64_t element, double value, struct error *err)
{
    if (!isnan(value) && !dtype_holds(t->dtype, value)) {
        error_set(err, ERROR_USAGE, "element %lld of %s is %.6g, beyond the range of %s: any overflow there would pass", (long long)element,
                  t->role->name, value, dtype_name(t->dtype));
        return error_hint(err, "use smaller values (`data: weight` for a factor, `{uniform: [-2, 2]}`, or a .npy), or another type");
    }
    return error_set(err, ERROR_USAGE, "it leaves element %lld of %s %s", (long long)element, t->role->name,
                     isnan(value) ? "unwritten, or NaN" : "without a finite magnitude of at least 0");
}

/* How results are summed: of f64 as those of f32 are, but for bound_finer. */
static enum math reference_math(const struct work *work, const struct tensor *t)
{
    return t->dtype == DTYPE_F64 ? MATH_F32 : work->math;
}

double reference_begun(const struct work *work, const struct tensor *t, const struct op_bounds *is)
{
    bool begun = false; /* for an op that is never exact, the bound already assumes terms of one sign */
    for (int i = 0; is->sums && work_is_exact(work) && work->op->roles[i]; i++)
        begun |= work->op->roles[i]->values == VALUES_BIAS || work->op->roles[i]->values == VALUES_ADDEND;
    return begun ? bound_begun(reference_math(work, t), (double)is->terms) : 0;
}

double reference_terms(const struct work *work, const struct tensor *t, const struct op_bounds *is)
{
    return work_is_exact(work) && !(op_file_tolerance(work->op, t->role) > 0) ? (double)is->terms : 1;
}

#define LOOSE 0.01 /* a kernel with errors of this share of a result is wrong */

struct settling {
    const struct reference_rows *of;
    enum math math;
    double tolerance, apart, begun, finer;
    atomic_llong wrong;       /* the first element whose value its type cannot represent; -1: none */
    atomic_llong near, loose; /* elements that are not 0; and those among them whose bound includes 0, or of a guess LOOSE of the element */
};

static void keep_first(struct settling *s, size_t k)
{
    long long at = (long long)k, was = atomic_load(&s->wrong);
    while ((was < 0 || at < was) && !atomic_compare_exchange_weak(&s->wrong, &was, at))
        continue;
}

/* The fill of a reference (reference_run_open): a NaN that no arithmetic gives. */
static bool is_unwritten(const double *v)
{
    uint64_t bits;
    memcpy(&bits, v, sizeof bits);
    return bits == UINT64_MAX;
}

#define WIDE 2 /* of f64: the reference rounds as the kernel does */

/* Infinity has no adjacent values, so its bound is 0. */
static double settle_bound(const struct settling *s, double y, double size)
{
    const struct reference_rows *of = s->of;
    const struct op_bounds *is = of->is;
    const double terms = (double)is->terms;
    return isinf(y)               ? 0
           : of->sizes_are_bounds ? size
           : s->tolerance > 0     ? s->tolerance * size
           : is->sums             ? s->finer * (bound_sum(s->math, terms, (double)is->least, y, size) * s->apart + s->begun * fabs(y))
                                  : 0;
}

/* Computes the bounds of a tensor's row. If the reference gives no magnitude for the errors, bench uses the element itself; for sums and
 * differences, which may cancel to almost 0, it uses the usual size of the row (at the element's scale). Terms of random signs add up to
 * 1 / sqrt(n) of their magnitudes; the bound of an op that is never exact has that factor already. */
static void settle_row(void *context, int64_t row, int thread)
{
    struct settling *s = context;
    const struct reference_rows *of = s->of;
    size_t length = (size_t)of->t->dim[of->t->rank - 1], first = (size_t)row * length;
    bool guesses = !of->sizes && (of->is->sums || s->tolerance > 0);
    double usual[SCALES_MOST] = {0}, terms = sqrt(reference_terms(of->work, of->t, of->is));
    long long near = 0, loose = 0;
    if (guesses)
        scales_usual(&of->scales, of->reference + first, length, usual);
    for (size_t k = first; k < first + length; k++) {
        double y = of->reference[k], size = of->sizes ? of->sizes[k] : fmax(fabs(y), usual[scale_of(&of->scales, y)] * terms);
        if (of->work->specials && (isinf(y) || (isnan(y) && !is_unwritten(&of->reference[k])))) {
            if (of->bound)
                of->bound[k] = 0;
            continue;
        }
        if (!dtype_holds(of->t->dtype, y) || !(size >= 0) || (isinf(size) && !isinf(y))) {
            keep_first(s, k);
            return;
        }
        double bound = settle_bound(s, y, size);
        near += y != 0;
        loose += y != 0 && bound >= (guesses && !(s->tolerance > 0) ? LOOSE : 1) * fabs(y);
        if (of->bound) /* rounding to float must not make it smaller */
            of->bound[k] = (float)(bound * (1 + 0x1p-23));
    }
    atomic_fetch_add(&s->near, near);
    atomic_fetch_add(&s->loose, loose);
}

#define COUNTED (1 << 24) /* elements, of evenly spaced rows */

struct scales reference_scales(const double *reference, int64_t rows, int64_t length)
{
    SCOPED struct scale_counts *counts = xcalloc(1, sizeof *counts);
    int64_t most = COUNTED / length > 0 ? COUNTED / length : 1, step = rows > most ? (rows + most - 1) / most : 1;
    for (int64_t row = 0; row < rows; row += step)
        scale_count(counts, reference + row * length, (size_t)length);
    struct scales scales = scales_of(counts);
    return scales;
}

bool reference_settle_rows(const struct reference_rows *of, int64_t *wrong, double *loose)
{
    enum math math = reference_math(of->work, of->t);
    struct settling s = {.of = of,
                         .tolerance = op_file_tolerance(of->work->op, of->t->role),
                         .math = math,
                         .apart = work_is_exact(of->work) ? 1 : bound_one_sign(math, (double)of->is->terms),
                         .begun = reference_begun(of->work, of->t, of->is),
                         .finer = of->t->dtype == DTYPE_F64 ? WIDE * bound_finer(of->t->dtype) : 1,
                         .wrong = -1};
    pool_for(of->rows, pool_threads_for(of->rows * of->t->dim[of->t->rank - 1], 25000), settle_row, &s);
    *wrong = atomic_load(&s.wrong);
    *loose = (double)atomic_load(&s.loose) / fmax(1, (double)atomic_load(&s.near));
    return *wrong < 0;
}

/* Computes the bound of each element from the factor of its errors, and checks that every element is a number. */
static bool reference_settle(const struct work *work, struct op_data *data, const struct op_bounds *is,
                             double *const magnitudes[OP_MAX_TENSORS], const bool bounds[OP_MAX_TENSORS], struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        int slot = list[i].role->slot;
        struct op_values *v = &data->at[slot];
        const double *sizes = magnitudes[slot];
        struct reference_rows rows = {work, is, &list[i], v->reference, sizes, v->bound, bounds[slot], 0, {{0}, 0}};
        int64_t wrong;
        v->own_bound = bounds[slot];
        v->guessed = list[i].written && is->sums && !sizes && !(op_file_tolerance(work->op, list[i].role) > 0);
        rows.rows = list[i].written ? (int64_t)v->elements / list[i].dim[list[i].rank - 1] : 0;
        if (list[i].written && !sizes)
            rows.scales = reference_scales(v->reference, rows.rows, list[i].dim[list[i].rank - 1]);
        if (!reference_settle_rows(&rows, &wrong, &v->loose))
            return reference_refuse(&list[i], wrong, v->reference[wrong], err);
    }
    return true;
}

bool reference_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *data,
                    struct error *err)
{
    const struct op_file *f = work->op->file;
    if (!f)
        return op_data_reference(work, data, err);
    struct op_bounds is = op_data_bounds(work, data);
    double *magnitudes[OP_MAX_TENSORS] = {0};
    bool bounds[OP_MAX_TENSORS] = {0}; /* by slot: the magnitudes are bounds themselves */
    bool ok = op_data_room(work, data, is.bounds, err);
    switch (f->from) {
    case REFERENCE_KERNEL: ok = ok && reference_kernel(dev, compiler, work, data, magnitudes, bounds, err); break;
    case REFERENCE_PYTHON: ok = ok && reference_python(work, part, data, magnitudes, bounds, err); break;
    case REFERENCE_NPY: ok = ok && reference_files(work, data, magnitudes, bounds, err); break;
    }
    ok = ok && reference_settle(work, data, &is, magnitudes, bounds, err);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free(magnitudes[i]);
    return ok || error_where(err, "the reference of %s", work->op->name);
}

#define SOME_FLOP 3e8   /* of one block of a reference, of which only some run, */
#define SOME_ALL 1e7    /* of all of them, */
#define EACH_MOST 16    /* elements that a thread of a reference makes */
#define SOME_MOST 50000 /* and elements of a tensor */

/* Blocks in whose middle an element lies if threads make elements in order; each once. */
static int blocks_around(const struct reference_run *r, uint64_t blocks, size_t wanted[OP_MAX_TENSORS][REFERENCE_WANTED], int most,
                         uint64_t *only)
{
    int count = 0;
    for (int w = 0; w < REFERENCE_WANTED; w++)
        for (int i = 0; i < r->count; i++) {
            const struct tensor *t = &r->tensors[i];
            if (!t->written || count == most)
                continue;
            uint64_t block = (uint64_t)((double)wanted[t->role->slot][w] / (double)tensor_elements(t) * (double)blocks);
            bool there = block >= blocks;
            for (int k = 0; k < count; k++)
                there = there || only[k] == block;
            if (!there)
                only[count++] = block;
        }
    return count;
}

/* Some element of a tensor that is written has been made. */
static bool made_some(const struct reference_run *r)
{
    for (int i = 0; i < r->count; i++) {
        const struct tensor *t = &r->tensors[i];
        const uint8_t *known = t->written && !tensor_role_is_mask(t->role) ? reference_run_known(r, r->at[t->role->slot]) : NULL;
        for (size_t e = 0, elements = known ? tensor_elements(t) : 0; e < elements; e++)
            if (known[e] == 0xff)
                return true;
    }
    return false;
}

/* Runs some blocks of the reference. If a thread makes several elements, the last blocks of its grid make none: then bench looks for the
 * elements in the first half of the grid, its first third, ... */
static bool run_some(struct reference_run *r, size_t wanted[OP_MAX_TENSORS][REFERENCE_WANTED], uint64_t blocks, int most, struct error *err)
{
    bool ok = true, made = false;
    for (uint64_t each = 1; ok && !made && each <= EACH_MOST && each <= blocks; each++) {
        uint64_t only[REFERENCE_WANTED];
        ok = reference_run_launch(r, only, blocks_around(r, (blocks + each - 1) / each, wanted, most, only), err);
        made = ok && made_some(r);
    }
    return ok;
}

/* Takes what the blocks made of a tensor. */
static bool take_some(const struct reference_run *r, const struct op_bounds *is, const struct tensor *t, struct reference_found *found,
                      struct error *err)
{
    const int slot = t->role->slot;
    struct op_values *v = &r->data->at[slot];
    const uint8_t *known = reference_run_known(r, r->at[slot]);
    const size_t elements = tensor_elements(t);
    size_t all = 0, step, seen = 0;
    for (size_t i = 0; known && i < elements; i++)
        all += known[i] == 0xff;
    step = all / SOME_MOST + 1;
    found->at = xcalloc(all / step + 1, sizeof *found->at);
    SCOPED double *y = xcalloc(all / step + 1, sizeof *y), *size = xcalloc(all / step + 1, sizeof *size);
    SCOPED float *bound = xcalloc(all / step + 1, sizeof *bound);
    for (size_t i = 0; i < elements && all; i++) {
        if (known[i] != 0xff || seen++ % step)
            continue;
        if (!r->dev->ops->read(r->dev, r->at[slot] + i * sizeof *y, &y[found->count], sizeof *y, err) ||
            (r->extra[slot] && !r->dev->ops->read(r->dev, r->extra[slot] + i * sizeof *y, &size[found->count], sizeof *y, err)))
            return false;
        found->at[found->count++] = i;
    }
    struct tensor flat = {.role = t->role, .dtype = t->dtype, .layout = LAYOUT_LINEAR, .rank = 2, .dim = {(int64_t)found->count, 1}};
    struct reference_rows rows = {
        r->work, is, &flat, y, r->extra[slot] ? size : NULL, is->bounds ? bound : NULL, r->bounds[slot], (int64_t)found->count, {{0}, 0}};
    int64_t wrong;
    double loose;
    if (!r->extra[slot] && (is->sums || op_file_tolerance(r->work->op, t->role) > 0))
        return error_set(err, ERROR_USAGE, "its reference gives no magnitude");
    if (found->count && !reference_settle_rows(&rows, &wrong, &loose))
        return reference_refuse(t, (int64_t)found->at[wrong], y[wrong], err);
    for (size_t i = 0; i < found->count; i++) {
        v->reference[found->at[i]] = y[i];
        if (v->bound)
            v->bound[found->at[i]] = bound[i];
    }
    return true;
}

bool reference_some(struct device *dev, const char *compiler, const struct work *work, struct op_data *data,
                    size_t wanted[OP_MAX_TENSORS][REFERENCE_WANTED], struct reference_found found[OP_MAX_TENSORS], struct error *err)
{
    const struct op_bounds is = op_data_bounds(work, data);
    struct reference_run r = {.dev = dev, .work = work, .data = data, .file = work->op->file, .known = true};
    SCOPED_BY(compiled_free) struct compiled c = {0};
    if (!reference_source(work->op))
        return error_set(err, ERROR_USAGE, "its reference is no kernel");
    bool ok = op_data_room(work, data, is.bounds, err) &&
              compile_reference(work, dev->chip.arch, compiler, !dev->ops->keeps_time, &c, err) && reference_run_open(&r, &c, err);
    const uint64_t blocks = ok ? reference_run_blocks(&r, err) : 0;
    const double flop = fmax(work_flop(work), (double)work_terms(work)) / fmax(1, (double)blocks);
    ok = blocks && (flop <= SOME_FLOP || error_set(err, ERROR_USAGE, "its reference takes too long"));
    ok = ok && run_some(&r, wanted, blocks, (int)fmin(REFERENCE_WANTED, 1 + SOME_ALL / fmax(1, flop)), err);
    ok = ok && ALL_OF(i, r.count,
                      !r.tensors[i].written || tensor_role_is_mask(r.tensors[i].role) ||
                          take_some(&r, &is, &r.tensors[i], &found[r.tensors[i].role->slot], err));
    reference_run_close(&r);
    return ok;
}

struct link_maker {
    struct device *dev;
    const char *compiler;
    enum data_part part;
};

static bool make_link(void *context, const struct work *work, struct op_data *data, struct error *err)
{
    const struct link_maker *m = context;
    return reference_make(m->dev, m->compiler, work, m->part, data, err);
}

bool reference_data_make(struct device *dev, const char *compiler, const struct work *work, enum data_part part, struct op_data *out,
                         struct error *err)
{
    struct link_maker links = {dev, compiler, part};
    if (work->chain)
        return chain_data_make(work, part, &(struct chain_maker){make_link, &links}, out, err);
    if (!work->op->file)
        return op_data_make(work, part, out, err);
    if (!op_data_inputs(work, part, out, err))
        return false;
    if (reference_make(dev, compiler, work, part, out, err))
        return true;
    op_data_free(out);
    return false;
}
