/* One launch of a reference kernel: its buffers, arguments, blocks and time limit. */
#include "base/file.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include "measure/verify/reference_private.h"
#include "op/op_file.h"
#include "op/reference/bound.h"
#include <stdlib.h>
#include <string.h>

#define REFERENCE_THREADS 128
#define REFERENCE_ARGS 64
#define REFERENCE_LIMIT_S 300
#define REFERENCE_LIMIT_GPU_S 60
#define REFERENCE_ENTRIES (UINT64_C(1) << 26) /* of a warp on emu: a loop of tens of millions of iterations, which takes some seconds */
#define TAKEN_AT_ONCE (4 << 20)

static const struct tensor *run_tensor(const struct reference_run *r, const char *name, size_t length)
{
    return FIRST_IN(r->tensors, i, r->count, !strncmp(r->tensors[i].role->name, name, length) && !r->tensors[i].role->name[length]);
}

const uint8_t *reference_run_known(const struct reference_run *r, uint64_t address)
{
    return r->known && r->dev->ops->known ? r->dev->ops->known(r->dev, address) : NULL;
}

/* Fills with 0xff bytes, i.e. NaN, which no reference may leave. If the device tracks writes, the kernel may not read them either:
 * otherwise a result computed from a NaN could become the reference. */
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

/* A reference reads inputs of f64 as doubles, others as floats. */
static size_t read_bytes(const struct tensor *t)
{
    return tensor_elements(t) * (t->dtype == DTYPE_F64 ? sizeof(double) : sizeof(float));
}

static bool run_take(struct reference_run *r, const struct tensor *t, struct error *err)
{
    size_t bytes = read_bytes(t);
    uint64_t *at = &r->at[t->role->slot], from = r->like->at[t->role->slot];
    SCOPED char *some = xmalloc(bytes < TAKEN_AT_ONCE ? bytes : TAKEN_AT_ONCE);
    bool ok = r->dev->ops->alloc(r->dev, t->role->name, bytes, at, err);
    for (size_t first = 0; ok && first < bytes; first += TAKEN_AT_ONCE) {
        size_t count = bytes - first < TAKEN_AT_ONCE ? bytes - first : TAKEN_AT_ONCE;
        ok = r->like->dev->ops->read(r->like->dev, from + first, some, count, err) &&
             r->dev->ops->write(r->dev, *at + first, some, count, err);
    }
    return ok;
}

/* Tensors as the kernel takes them: inputs as floats in logical order, outputs as doubles. */
static bool run_upload(struct reference_run *r, struct error *err)
{
    r->count = r->work->op->tensors(r->work, r->tensors);
    for (int i = 0; i < r->count && !r->lent; i++) {
        const struct tensor *t = &r->tensors[i];
        size_t elements = tensor_elements(t);
        int slot = t->role->slot;
        const struct op_values *v = &r->data->at[slot];
        if (!t->written && r->like) {
            if (!run_take(r, t, err))
                return false;
            continue;
        }
        if (t->written ? !run_room(r, t->role->name, elements * sizeof(double), &r->at[slot], err)
                       : !r->dev->ops->alloc(r->dev, t->role->name, read_bytes(t), &r->at[slot], err) ||
                             !r->dev->ops->write(r->dev, r->at[slot], v->wide ? (const void *)v->wide : v->value, read_bytes(t), err))
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
        r->bounds[t->role->slot] |= bound;
    if (t || absent) {
        uint64_t address = !t ? 0 : magnitude || bound ? r->extra[t->role->slot] : r->at[t->role->slot];
        if (p->bytes != sizeof address || p->kind == PARAM_FLOAT)
            return error_set(err, ERROR_USAGE, "argument %s is a buffer, but the kernel's parameter is not a pointer", name);
        memcpy(packed + p->offset, &address, sizeof address);
        return true;
    }
    if (!strcmp(name, OP_FILE_ROUNDOFF))
        v = value_real(bound_roundoff(r->work->math) * bound_finer(r->work->dtype));
    else if (!strcmp(name, OP_FILE_SUM_ERROR))
        v = value_real(bound_sum_error(r->work->math, (double)work_terms(r->work)) * bound_finer(r->work->dtype));
    else if (!work_symbol(r->work, name, &v) || v.kind == VALUE_TEXT)
        return error_set(err, ERROR_USAGE, "argument %s is not a number", name);
    return device_pack_number(p, name, &v, packed + p->offset, err);
}

/* As many threads as the op says, or one for each element of its first result. */
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

/* The kernel's time limit, and the error to report if it takes longer; 0 + err. */
static double kernel_limit_s(const struct device *dev, const struct op_file *f, struct error *late, struct error *err)
{
    const struct node *n = node_get(f->root, "reference");
    double limit =
        reference_limit_s(dev->ops->keeps_time ? REFERENCE_LIMIT_GPU_S : 2 * REFERENCE_LIMIT_S, err); /* emu ends it before that */
    error_set(late, ERROR_USAGE,
              "the reference of %s: %s:%d: kernel %s of %s did not end within %g s on %s; this is not the fault of a row", f->op.name,
              f->path, n ? n->line : 1, f->function, file_base(f->source), limit, dev->spec);
    error_hint(late, "%suse smaller layers, or a reference with more threads (docs/OP.md); BENCH_REFERENCE_LIMIT=SECONDS raises the limit",
               dev->ops->keeps_time ? "-d emu shows the line of an endless loop; if it is only slow: " : "");
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
    if (!ALL_OF(i, wanted, run_argument(r, r->file->args[i], &params[i], packed, err)))
        return false;
    uint64_t blocks = reference_run_blocks(r, err);
    struct device *dev = r->dev;
    struct error late;
    double limit = kernel_limit_s(dev, r->file, &late, err);
    struct device_sample sample = {.count = only_count};
    struct device_launch launch = {.grid = {(uint32_t)blocks, 1, 1},
                                   .block = {REFERENCE_THREADS, 1, 1},
                                   .carveout = -1,
                                   .params = packed,
                                   .param_bytes = bytes,
                                   .time_limit_s = REFERENCE_LIMIT_S,
                                   .entries_max = REFERENCE_ENTRIES,
                                   .sample = only ? &sample : NULL};
    if (!blocks || !(limit > 0))
        return false;
    sample.groups = xcalloc((size_t)only_count + 1, sizeof *sample.groups);
    for (int i = 0; i < only_count; i++)
        sample.groups[i].number = only[i];
    if (r->dev->ops->clear) /* discards reports of kernels that ran before */
        r->dev->ops->clear(r->dev);
    const struct device_report *reports;
    if (dev->endless)
        dev->endless(dev->endless_context, limit, &late);
    bool ran = dev->ops->launch(dev, r->function, &launch, err) && dev->ops->sync(dev, err);
    if (dev->endless)
        dev->endless(dev->endless_context, 0, NULL);
    device_sample_free(&sample);
    if (!r->dev->ops->reports || !r->dev->ops->reports(r->dev, &reports)) /* reports name a source line, so they come first even if the
                                                                             launch failed because of them */
        return ran;
    error_set(err, ERROR_USAGE, "%s: %s:%d: %s", reports[0].kind, reports[0].file, reports[0].line, reports[0].text);
    error_at(err, reports[0].file, reports[0].line);
    if (!strcmp(reports[0].kind, "time_limit"))
        error_hint(err, "use smaller layers, or a reference with more threads (docs/OP.md)");
    return false;
}

/* The caller that looked for the kernel adds the hint about what the source has instead. */
static bool find_kernel(struct reference_run *r, struct error *err)
{
    struct error none = {0};
    const struct node *n = node_get(node_get(r->file->root, "reference"), "kernel");
    if (r->dev->ops->function(r->dev, r->module, r->file->function, &r->function, &none))
        return true;
    error_set(err, ERROR_USAGE, "%s:%d:%d: %s has no kernel '%.80s'", r->file->path, n ? n->line : 1, n ? n->column : 1,
              file_base(r->file->source), r->file->function);
    error_hint(err, "%.200s; put extern \"C\" before its `__global__ void` to keep the name", none.hint[0] ? none.hint : none.text);
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
