#include "measure/verify/reference.h"
#include "base/file.h"
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

#define REFERENCE_THREADS 128
#define REFERENCE_ARGS 64
#define REFERENCE_LIMIT_S 300
#define REFERENCE_LIMIT_GPU_S 60
#define REFERENCE_ENTRIES (UINT64_C(1) << 26) /* of a warp on emu: a loop of tens of millions of turns, some seconds */

const char *reference_source(const struct op *op)
{
    return op->file && op->file->from == REFERENCE_KERNEL ? op->file->source : NULL;
}

int reference_defines(const struct work *work, char ***defines, struct error *err)
{
    return work->op->file->stages ? stage_defines(work, defines, err) : 0;
}

static const struct tensor *run_tensor(const struct reference_run *r, const char *name, size_t length)
{
    for (int i = 0; i < r->count; i++)
        if (!strncmp(r->tensors[i].role->name, name, length) && !r->tensors[i].role->name[length])
            return &r->tensors[i];
    return NULL;
}

const uint8_t *reference_run_known(const struct reference_run *r, uint64_t address)
{
    return r->known && r->dev->ops->known ? r->dev->ops->known(r->dev, address) : NULL;
}

/* Every byte 0xff: NaN, which no reference may leave; where the device knows what nobody wrote, nor may it read that: else what it makes of
 * a NaN would be the truth. */
static bool run_room(struct reference_run *r, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    const struct device_ops *ops = r->dev->ops;
    if (!ops->alloc(r->dev, label, bytes, address, err))
        return false;
    if (reference_run_known(r, *address))
        return true;
    if (!ops->fill(r->dev, *address, 0xffffffff, bytes, err))
        return false;
    if (ops->forget)
        ops->forget(r->dev, *address, bytes);
    return true;
}

/* A witness's copy of what another device has. */
#define TAKEN_AT_ONCE (4 << 20)
static bool run_take(struct reference_run *r, const struct tensor *t, struct error *err)
{
    size_t bytes = tensor_elements(t) * sizeof(float);
    uint64_t *at = &r->at[t->role->slot], from = r->like->at[t->role->slot];
    char *some = xmalloc(bytes < TAKEN_AT_ONCE ? bytes : TAKEN_AT_ONCE);
    bool ok = r->dev->ops->alloc(r->dev, t->role->name, bytes, at, err);
    for (size_t first = 0; ok && first < bytes; first += TAKEN_AT_ONCE) {
        size_t count = bytes - first < TAKEN_AT_ONCE ? bytes - first : TAKEN_AT_ONCE;
        ok = r->like->dev->ops->read(r->like->dev, from + first, some, count, err) &&
             r->dev->ops->write(r->dev, *at + first, some, count, err);
    }
    free(some);
    return ok;
}

/* Tensors as the kernel takes them: what is read as floats in logical order, what is written as doubles. */
static bool run_upload(struct reference_run *r, struct error *err)
{
    r->count = r->work->op->tensors(r->work, r->tensors);
    for (int i = 0; i < r->count && !r->lent; i++) {
        const struct tensor *t = &r->tensors[i];
        size_t elements = tensor_elements(t);
        int slot = t->role->slot;
        if (!t->written && r->like) {
            if (!run_take(r, t, err))
                return false;
            continue;
        }
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
    return work_int(r->work, r->file->threads, threads, err) &&
           (*threads > 0 || error_set(err, ERROR_USAGE, "threads: %s is %lld", expr_text(r->file->threads), (long long)*threads));
}

uint64_t reference_run_blocks(const struct reference_run *r, struct error *err)
{
    int64_t threads;
    return run_threads(r, &threads, err) ? (uint64_t)((threads + REFERENCE_THREADS - 1) / REFERENCE_THREADS) : 0;
}

double reference_limit_s(double otherwise, struct error *err)
{
    const char *given = getenv("BENCH_REFERENCE_LIMIT");
    double limit;
    if (!given || !*given)
        return otherwise;
    if (text_to_real(given, &limit) && limit > 0 && limit <= REFERENCE_LIMIT_MOST_S)
        return limit;
    return error_set(err, ERROR_USAGE, "BENCH_REFERENCE_LIMIT: a number of seconds up to %d is expected, not '%.40s'",
                     REFERENCE_LIMIT_MOST_S, given);
}

/* How long the kernel may take, and what is wrong where it takes longer; 0 + err. */
static double kernel_limit_s(const struct device *dev, const struct op_file *f, struct error *late, struct error *err)
{
    const struct node *n = node_get(f->root, "reference");
    double limit =
        reference_limit_s(dev->ops->keeps_time ? REFERENCE_LIMIT_GPU_S : 2 * REFERENCE_LIMIT_S, err); /* emu ends it before that */
    error_set(late, ERROR_USAGE, "the reference of %s: %s:%d: kernel %s of %s did not end within %g s on %s; no row is at fault",
              f->op.name, f->path, n ? n->line : 1, f->function, file_base(f->source), limit, dev->spec);
    error_hint(late, "%ssmaller layers, or a reference with more threads (docs/OP.md); BENCH_REFERENCE_LIMIT=SECONDS gives it longer",
               dev->ops->keeps_time ? "-d emu says at which line it turns; where it is only slow: " : "");
    error_at(late, f->path, n ? n->line : 1);
    return limit;
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
    struct device *dev = r->dev;
    struct error late;
    double limit = kernel_limit_s(dev, r->file, &late, err);
    struct device_launch launch = {.grid = {(uint32_t)blocks, 1, 1},
                                   .block = {REFERENCE_THREADS, 1, 1},
                                   .carveout = -1,
                                   .params = packed,
                                   .param_bytes = bytes,
                                   .time_limit_s = REFERENCE_LIMIT_S,
                                   .entries_max = REFERENCE_ENTRIES,
                                   .only = only,
                                   .only_count = only_count};
    if (!blocks || !(limit > 0))
        return false;
    if (r->dev->ops->clear) /* what another kernel did before is not the reference's */
        r->dev->ops->clear(r->dev);
    const struct device_report *reports;
    if (dev->endless)
        dev->endless(dev->endless_context, limit, &late);
    bool ran = dev->ops->launch(dev, r->function, &launch, err) && dev->ops->sync(dev, err);
    if (dev->endless)
        dev->endless(dev->endless_context, 0, NULL);
    if (!r->dev->ops->reports || !r->dev->ops->reports(r->dev, &reports)) /* what they say has a place, also where a launch failed of it */
        return ran;
    error_set(err, ERROR_USAGE, "%s: %s:%d: %s", reports[0].kind, reports[0].file, reports[0].line, reports[0].text);
    error_at(err, reports[0].file, reports[0].line);
    if (!strcmp(reports[0].kind, "time_limit"))
        error_hint(err, "smaller layers, or a reference with more threads (docs/OP.md)");
    return false;
}

/* What the source has instead is the hint of who looked for it. */
static bool find_kernel(struct reference_run *r, struct error *err)
{
    struct error none = {0};
    const struct node *n = node_get(node_get(r->file->root, "reference"), "kernel");
    if (r->dev->ops->function(r->dev, r->module, r->file->function, &r->function, &none))
        return true;
    error_set(err, ERROR_USAGE, "%s:%d:%d: %s has no kernel '%.80s'", r->file->path, n ? n->line : 1, n ? n->column : 1,
              file_base(r->file->source), r->file->function);
    error_hint(err, "%.200s; extern \"C\" before its `__global__ void` keeps its name", none.hint[0] ? none.hint : none.text);
    return error_at(err, r->file->path, n ? n->line : 1);
}

bool reference_run_open(struct reference_run *r, const struct compiled *c, struct error *err)
{
    struct device_image image = {.label = r->work->op->name,
                                 .path = r->file->source,
                                 .ptx = c->ptx,
                                 .ptx_bytes = c->ptx_bytes,
                                 .cubin = c->cubin,
                                 .cubin_bytes = c->cubin_bytes};
    return r->dev->ops->load(r->dev, &image, &r->module, err) && find_kernel(r, err) && run_upload(r, err);
}

void reference_run_close(struct reference_run *r)
{
    for (int i = 0; i < OP_MAX_TENSORS; i++) {
        if (r->at[i] && !r->lent)
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

static bool compile_reference(const struct work *work, const char *arch, const char *compiler, struct compiled *c, struct error *err)
{
    char **defines = NULL;
    int define_count = reference_defines(work, &defines, err);
    struct compile_request request = {.path = work->op->file->source,
                                      .label = "reference",
                                      .defines = (const char *const *)defines,
                                      .define_count = define_count,
                                      .arch = arch,
                                      .compiler = compiler};
    bool ok = define_count >= 0 && compile(&request, c, err);
    for (int i = 0; i < define_count; i++)
        free(defines[i]);
    free(defines);
    return ok;
}

void reference_compile(const struct work *work, const char *arch, const char *compiler)
{
    struct compiled c = {0};
    struct error ignored = {0}; /* told when the reference is made */
    if (reference_source(work->op) && compile_reference(work, arch, compiler, &c, &ignored))
        compiled_free(&c);
}

bool reference_run(struct reference_run *r, const char *compiler, struct error *err)
{
    struct compiled c = {0};
    bool ok = compile_reference(r->work, r->dev->chip.arch, compiler, &c, err), held = r->dev->witness && !r->work->set_seed;
    struct reference_run here = {.dev = r->dev->witness};
    ok = ok && reference_run_open(r, &c, err) && (!held || reference_witness(r, &c, &here, err)) && reference_run_launch(r, NULL, 0, err) &&
         (!held || reference_hold(r, &here, err));
    if (held)
        reference_run_close(&here);
    compiled_free(&c);
    return ok;
}

static bool reference_kernel(struct device *dev, const char *compiler, const struct work *work, struct op_data *data,
                             double *magnitudes[OP_MAX_TENSORS], bool *bounds, struct error *err)
{
    struct reference_run r = {.dev = dev, .work = work, .data = data, .file = work->op->file};
    bool ok = reference_run(&r, compiler, err) && run_results(&r, magnitudes, err);
    reference_run_close(&r);
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

bool reference_refuse(const struct tensor *t, int64_t element, double value, struct error *err)
{
    if (!isnan(value) && !dtype_holds(t->dtype, value)) {
        error_set(err, ERROR_USAGE, "element %lld of %s is %.6g, which %s does not hold: whatever overflows there would pass",
                  (long long)element, t->role->name, value, dtype_name(t->dtype));
        return error_hint(err, "smaller values (`data: weight` of a factor, `{uniform: [-2, 2]}`, or a .npy), or another type");
    }
    return error_set(err, ERROR_USAGE, "it leaves element %lld of %s %s", (long long)element, t->role->name,
                     isnan(value) ? "unwritten, or NaN" : "without a magnitude of at least 0");
}

double reference_begun(const struct work *work, const struct op_bounds *is)
{
    bool begun = false; /* the bound of an op that is never exact allows for terms of one sign */
    for (int i = 0; is->sums && op_is_exact(work->op) && work->op->roles[i]; i++)
        begun |= work->op->roles[i]->values == VALUES_BIAS || work->op->roles[i]->values == VALUES_ADDEND;
    return begun ? bound_begun(work->math, (double)is->terms) : 0;
}

double reference_terms(const struct work *work, const struct op_bounds *is)
{
    return op_is_exact(work->op) && !(work->op->file->tolerance > 0) ? (double)is->terms : 1;
}

/* What errors of an element are relative to where the reference does not say: the element, or, for sums and differences leave anything near
 * 0, what its row usually is. Terms of random signs add up to 1 / sqrt(n) of their magnitudes; the bound of an op that is never exact has
 * that factor already. */
static double usual_size(const double *row, size_t length, double terms)
{
    double squares = 0;
    for (size_t i = 0; i < length; i++)
        squares += row[i] * row[i];
    return sqrt(squares / (double)length * terms);
}

struct settling {
    const struct reference_rows *of;
    double tolerance, apart, begun;
    atomic_llong wrong; /* the first element without a number of its type; -1: none */
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
    const struct reference_rows *of = s->of;
    const struct op_bounds *is = of->is;
    size_t length = (size_t)of->t->dim[of->t->rank - 1], first = (size_t)row * length;
    bool guesses = !of->sizes && (is->sums || s->tolerance > 0);
    double usual = guesses ? usual_size(of->reference + first, length, reference_terms(of->work, is)) : 0;
    (void)thread;
    for (size_t k = first; k < first + length; k++) {
        double y = of->reference[k], size = of->sizes ? of->sizes[k] : fmax(fabs(y), isfinite(usual) ? usual : 0);
        if (!dtype_holds(of->t->dtype, y) || !(size >= 0)) {
            keep_first(s, k);
            return;
        }
        double bound = of->sizes_are_bounds ? size
                       : s->tolerance > 0   ? s->tolerance * size
                       : is->sums ? bound_sum(of->work->math, (double)is->terms, (double)is->least, y, size) * s->apart + s->begun * fabs(y)
                                  : 0;
        if (of->bound) /* rounding to float must not make it smaller */
            of->bound[k] = (float)(bound * (1 + 0x1p-23));
    }
}

bool reference_settle_rows(const struct reference_rows *of, int64_t *wrong)
{
    struct settling s = {.of = of,
                         .tolerance = of->work->op->file->tolerance,
                         .apart = op_is_exact(of->work->op) ? 1 : bound_one_sign(of->work->math, (double)of->is->terms),
                         .begun = reference_begun(of->work, of->is),
                         .wrong = -1};
    pool_for(of->rows, pool_threads_for(of->rows * of->t->dim[of->t->rank - 1], 25000), settle_row, &s);
    *wrong = atomic_load(&s.wrong);
    return *wrong < 0;
}

/* The bound of each element from what its errors are multiplied by, and that there is a number everywhere. */
static bool reference_settle(const struct work *work, struct op_data *data, const struct op_bounds *is,
                             double *const magnitudes[OP_MAX_TENSORS], bool bounds, struct error *err)
{
    struct tensor list[OP_MAX_TENSORS];
    for (int i = 0, count = work->op->tensors(work, list); i < count; i++) {
        struct op_values *v = &data->at[list[i].role->slot];
        const double *sizes = magnitudes[list[i].role->slot];
        struct reference_rows rows = {work, is, &list[i], v->reference, sizes, v->bound, bounds, 0};
        int64_t wrong;
        v->guessed = list[i].written && is->sums && !sizes && !(work->op->file->tolerance > 0);
        rows.rows = list[i].written ? (int64_t)v->elements / list[i].dim[list[i].rank - 1] : 0;
        if (!reference_settle_rows(&rows, &wrong))
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
