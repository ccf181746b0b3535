/* emu/emulate/check: what came out, held to what a launch expects - numbers, an array of NumPy's, or a reference kernel in double -
 * and saved. */
#include "base/file.h"
#include "base/npy.h"
#include "base/scales.h"
#include "emu/device/emu.h"
#include "emu/emulate/parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_BLOCK 128

char *emulate_file(const struct emulation *e, const char *name)
{
    char *dir = file_dir(e->request->launch->file), *path = file_join(dir, name);
    free(dir);
    return path;
}

/* Of the expected value, or of the root mean square of those of its scale where that is more: sums near 0 are as good as the others are. */
static double default_tolerance(enum dtype t)
{
    return t == DTYPE_F32 ? 1e-5 : t == DTYPE_F16 ? 2e-3 : t == DTYPE_BF16 ? 1.6e-2 : t == DTYPE_F64 ? 1e-12 : 2 * dtype_unit_roundoff(t);
}

struct truth {
    double *value, *magnitude; /* magnitude: what errors are relative to; NULL: the value */
    uint64_t *bits;            /* of whole numbers of 64 bits, from a file; else NULL */
};

static void truth_free(struct truth *t)
{
    free(t->value);
    free(t->magnitude);
    free(t->bits);
}

/* What errors of each element are relative to. Of an infinity no number is near: 0. */
struct relative {
    const struct truth *truth;
    struct scales scales;
    double usual[SCALES_MOST];
};

static struct relative relative_to(const struct truth *t, const double *values, int64_t count)
{
    struct relative r = {.truth = t};
    SCOPED struct scale_counts *counts = xcalloc(1, sizeof *counts);
    scale_count(counts, values, (size_t)count);
    r.scales = scales_of(counts);
    scales_usual(&r.scales, values, (size_t)count, r.usual);
    return r;
}

static double relative_size(const struct relative *r, int64_t i, double want)
{
    double least = r->truth->magnitude ? r->truth->magnitude[i] : r->usual[scale_of(&r->scales, want)], size = fmax(least, fabs(want));
    return isfinite(want) && isfinite(size) ? size : 0;
}

static void hold(struct emulation *e, const struct buffer_wanted *b, const void *got, const struct truth *t, double tolerance)
{
    struct emulate_expectation *x = APPEND(e->out->expectations, e->out->expectation_count);
    struct relative r = relative_to(t, t->value, b->count);
    *x = (struct emulate_expectation){.count = b->count, .first = -1, .tolerance = tolerance};
    snprintf(x->name, sizeof x->name, "%s", b->name);
    for (int64_t i = 0; i < b->count; i++) {
        bool unwritten = b->unwritten && b->unwritten[i];
        double g = unwritten ? NAN : dtype_get(b->type, got, (size_t)i), w = t->value[i], size = relative_size(&r, i, w),
               error = fabs(g - w);
        bool other = t->bits && ((const uint64_t *)got)[i] != t->bits[i] && !(tolerance > 0);
        bool same = !other && (g == w || (isnan(g) && isnan(w))),
             right = !unwritten && (same || (!other && size > 0 && error <= tolerance * size));
        double share = same ? 0 : size > 0 && !isnan(g) ? error / size : INFINITY;
        x->unwritten += unwritten;
        if (!unwritten && !(share <= x->worst))
            x->worst = share;
        if (!right && x->wrong++ == 0) {
            x->first = i;
            x->got = g;
            x->first_unwritten = unwritten;
            x->want = w;
        }
    }
}

/* The buffer as a tensor of an op: `t` may be empty. */
static void keep_tensor(struct emulation *e, const struct buffer_wanted *b, const void *got, const struct truth *t, double tolerance)
{
    struct emulate_tensor *k = APPEND(e->out->tensors, e->out->tensor_count);
    size_t bytes = dtype_size(b->type, (size_t)b->count), floats = (size_t)b->count * sizeof(float);
    *k = (struct emulate_tensor){.type = b->type, .count = b->count, .rank = b->rank ? b->rank : 1, .symbol = !b->node};
    snprintf(k->name, sizeof k->name, "%s", b->name);
    memcpy(k->dim, b->dim, sizeof k->dim);
    k->dim[0] = b->rank ? k->dim[0] : b->count;
    k->read = !b->node || !b->none || b->unwritten; /* what the launch leaves alone begins as 0 elsewhere, too */
    k->written = b->node && (b->none || node_get(b->node, "expect") || memcmp(got, b->initial, bytes));
    k->before = memcpy(xmalloc(bytes), b->initial ? b->initial : got, bytes);
    k->expected = xmalloc(floats);
    k->allowed = xmalloc(floats);
    SCOPED double *values = xmalloc((size_t)b->count * sizeof *values);
    for (int64_t i = 0; i < b->count; i++) {
        values[i] = t->value ? t->value[i] : dtype_get(b->type, got, (size_t)i);
        k->expected[i] = (float)values[i];
    }
    struct relative r = relative_to(t, values, b->count);
    for (int64_t i = 0; i < b->count; i++)
        k->allowed[i] = (float)(tolerance * relative_size(&r, i, values[i]));
}

/* A number for all, a list that repeats, an array. */
static bool read_truth(struct emulation *e, const struct buffer_wanted *b, const struct node *n, struct truth *t, struct error *err)
{
    t->value = xcalloc((size_t)b->count, sizeof *t->value);
    bool list = n->kind == NODE_LIST && n->count > 0;
    if (n->kind == NODE_SCALAR && text_ends(n->text, ".npy")) {
        SCOPED_BY(npy_free) struct npy a = {0};
        SCOPED char *path = emulate_file(e, n->text);
        bool ok = npy_read(path, &a, err) || node_error(n, err, "%s", err->text);
        if (ok && (int64_t)a.count != b->count)
            ok = node_error(n, err, "%s has %zu elements, '%s' has %lld", n->text, a.count, b->name, (long long)b->count);
        if (ok)
            memcpy(t->value, a.value, a.count * sizeof *a.value);
        if (ok && (b->type == DTYPE_I64 || b->type == DTYPE_U64)) {
            t->bits = a.bits;
            a.bits = NULL;
        }
        return ok;
    }
    if (!list && n->kind != NODE_SCALAR)
        return node_error(n, err, "expect: a number, a list, an .npy or 'reference'");
    for (int64_t i = 0; i < b->count; i++) {
        if (i < (list ? n->count : 1)) {
            const struct node *item = list ? n->items[i] : n;
            if (!emulate_real(e, item, "expect", &t->value[i], err))
                return false;
            if (!dtype_is_whole(b->type) && !emulate_holds(b->type, t->value[i]))
                return node_error(item, err, "expect: %s cannot hold %.40s", dtype_name(b->type), item->text);
        } else {
            t->value[i] = t->value[list ? i % n->count : 0];
        }
    }
    return true;
}

/* ---- the reference kernel: read buffers are f32 of what they held before the launch, expected ones and their magnitudes f64 ---- */
static bool expects_reference(const struct buffer_wanted *b)
{
    const struct node *n = b->node ? node_get(b->node, "expect") : NULL;
    return n && n->kind == NODE_SCALAR && !strcmp(n->text, "reference");
}

/* Gives the reference its own copy of a buffer: an expected one with the same initial values, or unwritten if it has no `data`. */
static bool mirror(struct emulation *e, struct buffer_wanted *b, struct error *err)
{
    bool wanted = expects_reference(b);
    size_t bytes = (size_t)b->count * (wanted ? 8 : 4);
    if (!emu_device.alloc(&e->dev, b->name, bytes, &b->address, err))
        return false;
    if (wanted && b->none)
        return true;
    SCOPED void *host = xmalloc(bytes);
    for (int64_t i = 0; i < b->count; i++)
        if (wanted)
            ((double *)host)[i] = dtype_get(b->type, b->initial, (size_t)i);
        else
            ((float *)host)[i] = (float)dtype_get(b->type, b->initial, (size_t)i);
    return emu_device.write(&e->dev, b->address, host, bytes, err);
}

static bool add_magnitudes(struct emulation *e, const struct node *args, struct error *err)
{
    for (int i = 0; i < args->count; i++) {
        const char *text = args->items[i]->kind == NODE_SCALAR ? args->items[i]->text : "";
        for (int k = 0; k < e->argument_buffers && e->magnitude_count < EMULATE_RANK_MAX; k++) {
            size_t length = strlen(e->buffers[k].name);
            if (strncmp(text, e->buffers[k].name, length) || strcmp(text + length, "_magnitude") || !expects_reference(&e->buffers[k]))
                continue;
            struct buffer_wanted *m = &e->magnitudes[e->magnitude_count++];
            *m = e->buffers[k];
            m->name = text;
            m->none = true;
            if (!mirror(e, m, err))
                return false;
        }
    }
    return true;
}

static bool read_doubles(struct emulation *e, const struct buffer_wanted *b, double **out, const struct node *at, struct error *err)
{
    *out = xmalloc((size_t)b->count * sizeof **out);
    if (!emu_device.read(&e->dev, b->address, *out, (size_t)b->count * sizeof **out, err))
        return false;
    for (int64_t i = 0; i < b->count && b->none; i++)
        if (!emu_written(&e->dev, b->address + (uint64_t)i * sizeof **out, sizeof **out))
            return node_error(at, err, "the reference leaves element %lld of '%s' unwritten", (long long)i, b->name);
    return true;
}

static bool read_magnitudes(struct emulation *e, const struct buffer_wanted *b, const double *values, double **out, const struct node *at,
                            struct error *err)
{
    if (!read_doubles(e, b, out, at, err))
        return false;
    for (int64_t i = 0; i < b->count; i++)
        if (isfinite(values[i]) && !(isfinite((*out)[i]) && (*out)[i] >= 0))
            return node_error(at, err, "element %lld of '%s' is %g, no magnitude: a number of at least 0 is expected", (long long)i,
                              b->name, (*out)[i]);
    return true;
}

static bool launch_reference(struct emulation *e, const struct node *n, struct error *err)
{
    struct device_module *module = e->module;
    struct device_launch launch = {.block = {REFERENCE_BLOCK, 1, 1}, .grid = {1, 1, 1}, .cluster = {1, 1, 1}};
    struct device_function *function;
    const char *wanted = node_get(n, "kernel") ? node_text(node_get(n, "kernel"), "kernel", err) : NULL, *ptx = e->request->reference_ptx;
    int64_t threads;
    if (!wanted || !node_get(n, "threads"))
        return node_error(n, err, "a reference needs 'kernel', 'threads' and 'args'");
    if (!emulate_int(e, node_get(n, "threads"), "threads", 1, (int64_t)1 << 38, &threads, err))
        return false;
    launch.grid[0] = (uint32_t)((threads + REFERENCE_BLOCK - 1) / REFERENCE_BLOCK);
    launch.time_limit_s = e->launch.time_limit_s * 4;
    struct device_image image = {.label = "the reference", .ptx = ptx, .ptx_bytes = ptx ? strlen(ptx) : 0};
    if (ptx && !emu_device.load(&e->dev, &image, &e->reference_module, err))
        return false;
    SCOPED char *entry = emulate_find_kernel("the reference", ptx ? ptx : e->request->ptx, wanted, err);
    bool ok = entry && emu_device.function(&e->dev, ptx ? e->reference_module : module, entry, &function, err) &&
              emulate_set_arguments(e, node_get(n, "args"), n, function, &launch, err);
    if (!ok)
        return false;
    const struct device_report *reports;
    emu_device.clear(&e->dev);
    ok = emu_device.launch(&e->dev, function, &launch, err);
    if (emu_device.reports(&e->dev, &reports))
        return node_error(n, err, "the reference itself is wrong: %s:%d: %s: %s", reports[0].file, reports[0].line, reports[0].kind,
                          reports[0].text);
    return ok;
}

static bool run_reference(struct emulation *e, const struct node *n, struct truth *truths, struct error *err)
{
    static const char *const keys[] = {"kernel", "source", "threads", "args", NULL};
    uint64_t address[EMULATE_BUFFERS_MAX];
    bool ok = node_check_keys(n, "a reference", keys, err), any = false;
    const struct node *args = node_get(n, "args");
    if (ok && (!args || args->kind != NODE_LIST))
        ok = node_error(n, err, "a reference needs 'args', a list of buffers, fields and numbers");
    ok = ok && add_magnitudes(e, args, err);
    for (int i = 0; i < e->argument_buffers; i++) {
        address[i] = e->buffers[i].address;
        any |= expects_reference(&e->buffers[i]);
        ok = ok && mirror(e, &e->buffers[i], err);
    }
    if (ok && !any)
        ok = node_error(n, err, "there is a reference, but no buffer has 'expect: reference'");
    emu_set_checks(&e->dev, true); /* they know which elements it wrote */
    ok = ok && launch_reference(e, n, err);
    for (int i = 0; i < e->argument_buffers; i++) {
        struct buffer_wanted *b = &e->buffers[i];
        if (ok && expects_reference(b))
            ok = read_doubles(e, b, &truths[i].value, n, err);
        for (int k = 0; ok && k < e->magnitude_count; k++)
            if (e->magnitudes[k].node == b->node)
                ok = read_magnitudes(e, &e->magnitudes[k], truths[i].value, &truths[i].magnitude, n, err);
        b->address = address[i];
    }
    emu_set_checks(&e->dev, !e->request->no_check);
    return ok;
}

/* ---- all of it ---- */
static bool save(struct emulation *e, const struct buffer_wanted *b, const void *got, struct error *err)
{
    const struct node *n = node_get(b->node, "save");
    const char *name = n ? node_text(n, "save", err) : NULL;
    if (!n)
        return true;
    if (!name)
        return false;
    SCOPED char *path = emulate_file(e, name);
    int64_t flat = b->count;
    bool ok = npy_write_as(path, b->rank ? b->dim : &flat, b->rank ? b->rank : 1, b->type, got, err);
    if (!ok) {
        enum error_kind kind = err->kind; /* a full disk is the machine's */
        node_error(n, err, "%s", err->text);
        err->kind = kind;
    }
    return ok;
}

static bool check_buffer(struct emulation *e, const struct buffer_wanted *b, struct truth *t, struct error *err)
{
    const struct node *expect = node_get(b->node, "expect"), *tolerance = node_get(b->node, "tolerance");
    double allowed = default_tolerance(b->type);
    size_t bytes = dtype_size(b->type, (size_t)b->count);
    if (tolerance && !expect)
        return node_error(tolerance, err, "'tolerance' needs 'expect', which '%s' does not have", b->name);
    if (tolerance && !node_real(tolerance, "tolerance", 0, 1e6, &allowed, err))
        return false;
    if (!expect && !node_get(b->node, "save") && !e->request->keep)
        return true;
    if (expects_reference(b) && !t->value)
        return node_error(expect, err, "'expect: reference' needs a 'reference' of the launch: {kernel: NAME, threads: N, args: [...]}");
    SCOPED void *got = xmalloc(bytes);
    bool ok = emu_device.read(&e->dev, b->address, got, bytes, err);
    for (int64_t i = 0; ok && b->unwritten && node_get(b->node, "save") && i < b->count; i++)
        if (b->unwritten[i] && !dtype_is_whole(b->type))
            dtype_set(b->type, got, (size_t)i, NAN);
    ok = ok && save(e, b, got, err);
    if (ok && expect && !t->value)
        ok = read_truth(e, b, expect, t, err);
    if (ok && expect)
        hold(e, b, got, t, allowed);
    if (ok && e->request->keep)
        keep_tensor(e, b, got, t, allowed);
    return ok;
}

bool emulate_check(struct emulation *e, struct error *err)
{
    const struct node *reference = node_get(e->request->launch, "reference");
    SCOPED struct truth *truths = xcalloc((size_t)e->argument_buffers + 1, sizeof *truths);
    bool ok = !reference || run_reference(e, reference, truths, err);
    for (int i = 0; i < e->argument_buffers; i++) {
        ok = ok && check_buffer(e, &e->buffers[i], &truths[i], err);
        truth_free(&truths[i]);
    }
    for (int i = e->argument_buffers; i < e->buffer_count && ok && e->request->keep; i++) { /* symbols */
        const struct buffer_wanted *b = &e->buffers[i];
        size_t bytes = dtype_size(b->type, (size_t)b->count);
        SCOPED void *got = xmalloc(bytes);
        ok = emu_device.read(&e->dev, b->address, got, bytes, err);
        if (ok)
            keep_tensor(e, b, got, &(struct truth){0}, 0);
    }
    return ok;
}
