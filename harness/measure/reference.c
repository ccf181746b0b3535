#include "measure/reference.h"
#include "base/npy.h"
#include "base/pool.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/reference_private.h"
#include "op/bound.h"
#include "op/chain.h"
#include "op/file.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_THREADS 128
#define REFERENCE_ARGS 64
#define REFERENCE_LIMIT_S 300

const char *reference_source(const struct op *op)
{
    return op->file && op->file->from == REFERENCE_KERNEL ? op->file->source : NULL;
}

static const struct tensor *run_tensor(const struct reference_run *r, const char *name, size_t length)
{
    for (int i = 0; i < r->count; i++)
        if (!strncmp(r->tensors[i].role->name, name, length) && !r->tensors[i].role->name[length])
            return &r->tensors[i];
    return NULL;
}

/* Every byte 0xff: NaN, which no reference may leave. */
static bool run_room(struct reference_run *r, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    return r->dev->ops->alloc(r->dev, label, bytes, address, err) && r->dev->ops->fill(r->dev, *address, 0xffffffff, bytes, err);
}

/* Tensors as the kernel takes them: what is read as floats in logical order, what is written as doubles. */
static bool run_upload(struct reference_run *r, struct error *err)
{
    r->count = r->work->op->tensors(r->work, r->tensors);
    for (int i = 0; i < r->count; i++) {
        const struct tensor *t = &r->tensors[i];
        size_t elements = tensor_elements(t);
        int slot = t->role->slot;
        if (t->written ? !run_room(r, t->role->name, elements * sizeof(double), &r->at[slot], err)
                       : !r->dev->ops->alloc(r->dev, t->role->name, elements * sizeof(float), &r->at[slot], err) ||
                             !r->dev->ops->write(r->dev, r->at[slot], r->data->at[slot].value, elements * sizeof(float), err))
            return false;
    }
    return true;
}

/* A parameter of the kernel: a buffer, or a number in the parameter's own type. */
static bool run_argument(struct reference_run *r, const char *name, const struct param *p, unsigned char *packed, struct error *err)
{
    size_t length = strlen(name);
    bool magnitude = text_ends(name, "_magnitude"), bound = text_ends(name, "_bound");
    const struct tensor *t = run_tensor(r, name, length - (magnitude ? strlen("_magnitude") : bound ? strlen("_bound") : 0));
    bool absent = r->file->stages && !strcmp(name, "boxes"); /* a tensor that this work does not have */
    struct value v = {0};
    for (int i = 0; !t && i < r->file->tensor_count; i++)
        absent |= !strcmp(r->file->tensors[i].role.name, name);
    if (t && (magnitude || bound) && !r->extra[t->role->slot] &&
        !run_room(r, name, tensor_elements(t) * sizeof(double), &r->extra[t->role->slot], err))
        return false;
    if (t)
        r->bounds |= bound;
    if (t || absent) {
        uint64_t address = !t ? 0 : magnitude || bound ? r->extra[t->role->slot] : r->at[t->role->slot];
        if (p->bytes != sizeof address || p->kind == PARAM_FLOAT)
            return error_set(err, ERROR_USAGE, "argument %s is a buffer, but the kernel's parameter is not a pointer", name);
        memcpy(packed + p->offset, &address, sizeof address);
        return true;
    }
    if (!work_symbol(r->work, name, &v) || v.kind == VALUE_TEXT)
        return error_set(err, ERROR_USAGE, "argument %s is not a number", name);
    double real = v.kind == VALUE_INT ? (double)v.i : v.d;
    float single = (float)real;
    int64_t whole = v.kind == VALUE_INT ? v.i : (int64_t)v.d;
    if (v.kind == VALUE_REAL && p->kind == PARAM_INT)
        return error_set(err, ERROR_USAGE, "argument %s is a real, but the kernel's parameter is a whole number", name);
    bool as_real = p->kind == PARAM_FLOAT || (p->kind == PARAM_ANY && v.kind == VALUE_REAL); /* a cubin alone does not say */
    memcpy(packed + p->offset, !as_real ? (void *)&whole : p->bytes == 4 ? (void *)&single : (void *)&real, p->bytes);
    return true;
}

/* As many as the op says, or one for each element of its first result. */
static bool run_threads(const struct reference_run *r, int64_t *threads, struct error *err)
{
    *threads = 0;
    for (int i = r->count - 1; i >= 0; i--)
        *threads = r->tensors[i].written ? (int64_t)tensor_elements(&r->tensors[i]) : *threads;
    if (!r->file->threads)
        return true;
    return op_file_int(r->work, r->file->threads, threads, err) &&
           (*threads > 0 || error_set(err, ERROR_USAGE, "threads: %s is %lld", expr_text(r->file->threads), (long long)*threads));
}

uint64_t reference_run_blocks(const struct reference_run *r, struct error *err)
{
    int64_t threads;
    return run_threads(r, &threads, err) ? (uint64_t)((threads + REFERENCE_THREADS - 1) / REFERENCE_THREADS) : 0;
}

bool reference_run_launch(struct reference_run *r, const uint64_t *only, int only_count, struct error *err)
{
    const struct param *params;
    unsigned char packed[REFERENCE_ARGS * 8] = {0};
    size_t bytes;
    int wanted = r->dev->ops->signature(r->dev, r->function, &params, &bytes);
    if (wanted != r->file->arg_count || bytes > sizeof packed)
        return error_set(err, ERROR_USAGE, "kernel %s takes %d parameters, `args:` lists %d", r->file->function, wanted,
                         r->file->arg_count);
    for (int i = 0; i < wanted; i++)
        if (!run_argument(r, r->file->args[i], &params[i], packed, err))
            return false;
    uint64_t blocks = reference_run_blocks(r, err);
    struct device_launch launch = {.grid = {(uint32_t)blocks, 1, 1},
                                   .block = {REFERENCE_THREADS, 1, 1},
                                   .carveout = -1,
                                   .params = packed,
                                   .param_bytes = bytes,
                                   .time_limit_s = REFERENCE_LIMIT_S,
                                   .only = only,
                                   .only_count = only_count};
    if (!blocks)
        return false;
    if (r->dev->ops->clear) /* what another kernel did before is not the reference's */
        r->dev->ops->clear(r->dev);
    if (!r->dev->ops->launch(r->dev, r->function, &launch, err) || !r->dev->ops->sync(r->dev, err))
        return false;
    const struct device_report *reports;
    if (r->dev->ops->reports && r->dev->ops->reports(r->dev, &reports))
        return error_set(err, ERROR_USAGE, "%s: %s:%d: %s", reports[0].kind, reports[0].file, reports[0].line, reports[0].text);
    return true;
}

bool reference_run_open(struct reference_run *r, const struct compiled *c, struct error *err)
{
    struct device_image image = {.label = r->work->op->name,
                                 .path = r->file->source,
                                 .ptx = c->ptx,
                                 .ptx_bytes = c->ptx_bytes,
                                 .cubin = c->cubin,
                                 .cubin_bytes = c->cubin_bytes};
    return r->dev->ops->load(r->dev, &image, &r->module, err) &&
           r->dev->ops->function(r->dev, r->module, r->file->function, &r->function, err) && run_upload(r, err);
}

void reference_run_close(struct reference_run *r)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        if (r->at[i])
            r->dev->ops->release(r->dev, r->at[i]);
        if (r->extra[i])
            r->dev->ops->release(r->dev, r->extra[i]);
    }
    if (r->module)
        r->dev->ops->unload(r->dev, r->module);
    if (r->dev->ops->clear)
        r->dev->ops->clear(r->dev);
}

/* What the kernel left: no element may be NaN, which is also what was there before. */
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

static bool reference_kernel(struct device *dev, const char *compiler, const struct work *work, struct op_data *data,
                             double *magnitudes[OP_MAX_TENSORS], bool *bounds, struct error *err)
{
    struct reference_run r = {.dev = dev, .work = work, .data = data, .file = work->op->file};
    struct compiled c = {0};
    char **defines = NULL;
    int define_count = r.file->stages ? stage_defines(work, &defines, err) : 0;
    struct compile_request request = {.path = r.file->source,
                                      .label = "reference",
                                      .defines = (const char *const *)defines,
                                      .define_count = define_count,
                                      .arch = dev->chip.arch,
                                      .compiler = compiler};
    bool ok = define_count >= 0 && compile(&request, &c, err);
    ok = ok && reference_run_open(&r, &c, err) && reference_run_launch(&r, NULL, 0, err) && run_results(&r, magnitudes, err) &&
         (!dev->witness || work->set_seed || reference_witness(&r, &c, magnitudes, err));
    reference_run_close(&r);
    compiled_free(&c);
    for (int i = 0; i < define_count; i++)
        free(defines[i]);
    free(defines);
    *bounds = r.bounds;
    return ok;
}

static bool reference_files(const struct work *work, struct op_data *data, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        struct npy a;
        if (!list[i].written)
            continue;
        if (!npy_read_shape(op_file_tensor(work->op, list[i].role)->reference_npy, list[i].dim, list[i].rank, &a, err))
            return false;
        memcpy(data->at[list[i].role->slot].reference, a.value, a.count * sizeof *a.value);
        npy_free(&a);
    }
    return true;
}

/* What errors of an element are relative to where the reference does not say: the element, or, for sums and differences leave anything near
 * 0, what its row usually is. Terms of random signs add up to 1 / sqrt(n) of their magnitudes; the bound of an op that is never exact has
 * that factor already. */
static double usual_size(const struct tensor *t, const struct op_values *v, size_t k, double terms)
{
    size_t length = (size_t)t->dim[t->rank - 1], first = k / length * length;
    double squares = 0;
    for (size_t i = first; i < first + length; i++)
        squares += v->reference[i] * v->reference[i];
    return sqrt(squares / (double)length * terms);
}

struct settling {
    const struct work *work;
    const struct op_bounds *is;
    const struct tensor *t;
    struct op_values *v;
    const double *magnitudes; /* NULL: the reference does not say */
    double tolerance, apart;
    bool bounds;
    atomic_llong wrong; /* the first element without a number; -1: none */
};

static void keep_first(struct settling *s, size_t k)
{
    long long at = (long long)k, was = atomic_load(&s->wrong);
    while ((was < 0 || at < was) && !atomic_compare_exchange_weak(&s->wrong, &was, at))
        continue;
}

/* A row of a tensor. */
static void settle_row(void *context, int64_t row, int thread)
{
    struct settling *s = context;
    const struct op_bounds *is = s->is;
    struct op_values *v = s->v;
    const double *m = s->magnitudes;
    size_t length = (size_t)s->t->dim[s->t->rank - 1], first = (size_t)row * length;
    double terms = op_is_exact(s->work->op) && !(s->tolerance > 0) ? (double)is->terms : 1;
    double usual = !m && (is->sums || s->tolerance > 0) ? usual_size(s->t, v, first, terms) : 0;
    (void)thread;
    for (size_t k = first; k < first + length; k++) {
        double size = m ? m[k] : fmax(fabs(v->reference[k]), isfinite(usual) ? usual : 0);
        if (isnan(v->reference[k]) || !(size >= 0)) {
            keep_first(s, k);
            return;
        }
        double bound = s->bounds          ? size
                       : s->tolerance > 0 ? s->tolerance * size
                       : is->sums         ? bound_sum(s->work->math, (double)is->terms, (double)is->least, v->reference[k], size) * s->apart
                                          : 0;
        if (v->bound) /* rounding to float must not make it smaller */
            v->bound[k] = (float)(bound * (1 + 0x1p-23));
    }
}

/* The bound of each element from what its errors are multiplied by, and that there is a number everywhere. */
static bool reference_settle(const struct work *work, struct op_data *data, const struct op_bounds *is,
                             double *const magnitudes[OP_MAX_TENSORS], bool bounds, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        int slot = list[i].role->slot;
        struct settling s = {.work = work,
                             .is = is,
                             .t = &list[i],
                             .v = &data->at[slot],
                             .magnitudes = magnitudes[slot],
                             .tolerance = work->op->file->tolerance,
                             .apart = op_is_exact(work->op) ? 1 : bound_one_sign(work->math, (double)is->terms),
                             .bounds = bounds,
                             .wrong = -1};
        data->guessed |= list[i].written && is->sums && !s.magnitudes && !(s.tolerance > 0);
        int64_t rows = list[i].written ? (int64_t)s.v->elements / list[i].dim[list[i].rank - 1] : 0;
        pool_for(rows, s.v->elements < 50000 ? 1 : pool_threads(), settle_row, &s);
        long long k = atomic_load(&s.wrong);
        if (k >= 0)
            return error_set(err, ERROR_USAGE, "it leaves element %lld of %s %s", k, list[i].role->name,
                             isnan(s.v->reference[k]) ? "unwritten, or NaN" : "without a magnitude of at least 0");
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
    bool bounds = false; /* the magnitudes are bounds themselves */
    bool ok = op_data_room(work, data, is.bounds, err);
    switch (f->from) {
    case REFERENCE_KERNEL: ok = ok && reference_kernel(dev, compiler, work, data, magnitudes, &bounds, err); break;
    case REFERENCE_PYTHON: ok = ok && reference_python(work, part, data, magnitudes, err); break;
    case REFERENCE_NPY: ok = ok && reference_files(work, data, err); break;
    }
    ok = ok && reference_settle(work, data, &is, magnitudes, bounds, err);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        free(magnitudes[i]);
    return ok || error_where(err, "the reference of %s", work->op->name);
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
