/* measure/emulate/check: compares the outputs with what a launch expects - numbers, an array of NumPy's, or a reference kernel in double -
 * and saved. */
#include "base/file.h"
#include "base/npy.h"
#include "base/scales.h"
#include "emu/device/emu.h"
#include "measure/emulate/parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_BLOCK 128

/* Of the expected value, or of the root mean square of those of its scale where that is more: sums near 0 are as good as the others are. */
static double default_tolerance(enum dtype t)
{
    return t == DTYPE_F32 ? 1e-5 : t == DTYPE_F16 ? 2e-3 : t == DTYPE_BF16 ? 1.6e-2 : t == DTYPE_F64 ? 1e-12 : 2 * dtype_unit_roundoff(t);
}

struct truth {
    struct npy of;
    double *magnitude; /* what errors are relative to; NULL: the value */
};

static void truth_free(struct truth *t)
{
    npy_free(&t->of);
    free(t->magnitude);
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

static void hold(struct emulate_buffer *b, const struct truth *t, double tolerance)
{
    const void *got = b->after;
    struct emulate_expectation *x = &b->expect;
    struct relative r = relative_to(t, t->of.value, b->count);
    *x = (struct emulate_expectation){.given = true, .first = -1, .tolerance = tolerance};
    const bool whole = t->of.bits && (b->type == DTYPE_I64 || b->type == DTYPE_U64);
    for (int64_t i = 0; i < b->count; i++) {
        bool unwritten = b->unwritten && b->unwritten[i];
        double g = unwritten ? NAN : dtype_get(b->type, got, (size_t)i), w = t->of.value[i], size = relative_size(&r, i, w),
               error = fabs(g - w);
        bool other = whole && ((const uint64_t *)got)[i] != t->of.bits[i] && !(tolerance > 0);
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

/* What an op says of the buffer: `t` may be empty. */
static void keep_buffer(struct emulate_buffer *b, const struct truth *t, double tolerance)
{
    size_t bytes = dtype_size(b->type, (size_t)b->count), doubles = (size_t)b->count * sizeof(double);
    b->read = !b->node || !b->none || b->unwritten; /* what the launch leaves alone begins as 0 elsewhere, too */
    b->written = b->node && (b->none || node_get(b->node, "expect") || memcmp(b->after, b->before, bytes));
    if (!b->before)
        b->before = memcpy(xmalloc(bytes), b->after, bytes);
    b->expected = xmalloc(doubles);
    b->allowed = xmalloc(doubles);
    for (int64_t i = 0; i < b->count; i++)
        b->expected[i] = t->of.value ? t->of.value[i] : dtype_get(b->type, b->after, (size_t)i);
    struct relative r = relative_to(t, b->expected, b->count);
    for (int64_t i = 0; i < b->count; i++)
        b->allowed[i] = tolerance * relative_size(&r, i, b->expected[i]);
}

/* ---- the reference kernel: read buffers are f32 of what they held before the launch, expected ones and their magnitudes f64 ---- */
bool emulate_expects_reference(const struct emulate_buffer *b)
{
    const struct node *n = b->node ? node_get(b->node, "expect") : NULL;
    return n && n->kind == NODE_SCALAR && !strcmp(n->text, "reference");
}

/* Fills the reference's copies of the buffers: an expected one without `data` stays unwritten. */
static bool fill_mirrors(struct emulation *e, struct launched *l, struct error *err)
{
    bool ok = true;
    for (int k = 0; ok && k < e->argument_buffers; k++) {
        const struct emulate_buffer *b = &e->buffers[k];
        enum dtype type = l->program.scratch[k].dtype;
        if (b->none && emulate_expects_reference(b))
            continue;
        SCOPED void *host = xmalloc(dtype_size(type, (size_t)b->count));
        for (int64_t i = 0; i < b->count; i++)
            dtype_set(type, host, (size_t)i, dtype_get(b->type, b->before, (size_t)i));
        ok = emu_device.write(&e->dev, emulate_address(l, k), host, dtype_size(type, (size_t)b->count), err);
    }
    return ok;
}

/* What the reference left in a buffer of doubles; `whole`: it must have written each. */
static bool read_doubles(struct emulation *e, const struct launched *l, int scratch, bool whole, double **out, const struct node *at,
                         struct error *err)
{
    const struct scratch *s = &l->program.scratch[scratch];
    uint64_t address = emulate_address(l, scratch);
    *out = xmalloc((size_t)s->elements * sizeof **out);
    if (!emu_device.read(&e->dev, address, *out, (size_t)s->elements * sizeof **out, err))
        return false;
    for (int64_t i = 0; i < s->elements && whole; i++)
        if (!emu_written(&e->dev, address + (uint64_t)i * sizeof **out, sizeof **out))
            return node_error(at, err, "the reference leaves element %lld of '%s' unwritten", (long long)i, s->name);
    return true;
}

static bool read_magnitudes(struct emulation *e, const struct launched *l, int scratch, struct truth *t, const struct node *at,
                            struct error *err)
{
    const struct scratch *s = &l->program.scratch[scratch];
    if (!read_doubles(e, l, scratch, true, &t->magnitude, at, err))
        return false;
    for (int64_t i = 0; i < s->elements; i++)
        if (isfinite(t->of.value[i]) && !(isfinite(t->magnitude[i]) && t->magnitude[i] >= 0))
            return node_error(at, err, "element %lld of '%s' is %g, no magnitude: a number of at least 0 is expected", (long long)i,
                              s->name, t->magnitude[i]);
    return true;
}

/* The reference as a program: its buffers are copies of the launch's, f64 where a value is expected, f32 else. */
static bool make_reference(struct emulation *e, struct launched *l, const struct node *n, struct error *err)
{
    const char *wanted = node_get(n, "kernel") ? node_text(node_get(n, "kernel"), "kernel", err) : NULL;
    const struct emulate_request *r = e->request;
    const char *ptx = r->reference_ptx ? r->reference_ptx : r->ptx;
    struct step *step = program_add_step(&l->program, STEP_KERNEL, false);
    step->file = n->file, step->line = n->line, step->column = n->column;
    int64_t threads;
    if (!wanted || !node_get(n, "threads"))
        return node_error(n, err, "a reference needs 'kernel', 'threads' and 'args'");
    if (!emulate_int(e, node_get(n, "threads"), "threads", 1, (int64_t)1 << 38, &threads, err))
        return false;
    step->grid[0] = (uint32_t)((threads + REFERENCE_BLOCK - 1) / REFERENCE_BLOCK);
    step->block[0] = REFERENCE_BLOCK;
    step->grid[1] = step->grid[2] = step->block[1] = step->block[2] = 1;
    for (int i = 0; i < e->argument_buffers; i++)
        program_add_scratch(&l->program, e->buffers[i].name, emulate_expects_reference(&e->buffers[i]) ? DTYPE_F64 : DTYPE_F32,
                            e->buffers[i].count);
    SCOPED char *entry = emulate_find_kernel("the reference", ptx, wanted, err);
    if (!entry || !emulate_add_arguments(e, l, n, err))
        return false;
    snprintf(step->name, sizeof step->name, "%s", entry);
    return emulate_open(e, l, "the reference", NULL, ptx, r->reference_ptx ? strlen(ptx) : r->ptx_bytes, err) && fill_mirrors(e, l, err) &&
           (r->reference_ptx || emulate_fill_symbols(e, l, false, err));
}

static bool launch_reference(struct emulation *e, struct launched *l, const struct node *n, struct error *err)
{
    const struct device_report *reports;
    rig_time_limit(l->rig, e->time_limit_s * 4);
    emu_device.clear(&e->dev);
    bool ok = rig_run_step(l->rig, 0, err);
    if (emu_device.reports(&e->dev, &reports))
        return node_error(n, err, "the reference itself is wrong: %s:%d: %s: %s", reports[0].file, reports[0].line, reports[0].kind,
                          reports[0].text);
    return ok;
}

static bool run_reference(struct emulation *e, const struct node *n, struct truth *truths, struct error *err)
{
    static const char *const keys[] = {"kernel", "source", "threads", "args", NULL};
    SCOPED_BY(emulate_close) struct launched l = {0};
    bool ok = node_check_keys(n, "a reference", keys, err), any = false;
    const struct node *args = node_get(n, "args");
    if (ok && (!args || args->kind != NODE_LIST))
        ok = node_error(n, err, "a reference needs 'args', a list of buffers, fields and numbers");
    for (int i = 0; i < e->argument_buffers; i++)
        any |= emulate_expects_reference(&e->buffers[i]);
    if (ok && !any)
        ok = node_error(n, err, "there is a reference, but no buffer has 'expect: reference'");
    emu_set_checks(&e->dev, true); /* they know which elements it wrote */
    ok = ok && make_reference(e, &l, n, err) && launch_reference(e, &l, n, err);
    for (int i = 0; ok && i < e->argument_buffers; i++)
        if (emulate_expects_reference(&e->buffers[i]))
            ok = read_doubles(e, &l, i, e->buffers[i].none, &truths[i].of.value, n, err);
    ok = ok && ALL_OF(k, l.magnitude_count, read_magnitudes(e, &l, e->argument_buffers + k, &truths[l.magnitudes[k]], n, err));
    emu_set_checks(&e->dev, !e->request->no_check);
    return ok;
}

/* ---- all of it ---- */
static bool save(struct emulation *e, const struct emulate_buffer *b, struct error *err)
{
    const struct node *n = node_get(b->node, "save");
    const char *name = n ? node_text(n, "save", err) : NULL;
    if (!n)
        return true;
    if (!name)
        return false;
    SCOPED char *path = file_beside(e->request->launch->file, name);
    bool ok = npy_write_as(path, b->dim, b->rank, b->type, b->after, err);
    if (!ok) {
        enum error_kind kind = err->kind; /* a full disk is the machine's */
        node_error(n, err, "%s", err->text);
        err->kind = kind;
    }
    return ok;
}

static bool check_buffer(struct emulation *e, struct emulate_buffer *b, struct truth *t, struct error *err)
{
    const struct node *expect = node_get(b->node, "expect"), *tolerance = node_get(b->node, "tolerance");
    double allowed = default_tolerance(b->type);
    if (tolerance && !expect)
        return node_error(tolerance, err, "'tolerance' needs 'expect', which '%s' does not have", b->name);
    if (tolerance && !node_real(tolerance, "tolerance", 0, 1e6, &allowed, err))
        return false;
    if (emulate_expects_reference(b) && !t->of.value)
        return node_error(expect, err, "'expect: reference' needs a 'reference' of the launch: {kernel: NAME, threads: N, args: [...]}");
    for (int64_t i = 0; b->unwritten && node_get(b->node, "save") && i < b->count; i++)
        if (b->unwritten[i] && !dtype_is_whole(b->type))
            dtype_set(b->type, b->after, (size_t)i, NAN);
    bool ok = save(e, b, err);
    if (ok && expect && !t->of.value)
        ok = emulate_read_numbers(e, b, expect, "expect", &t->of, err);
    if (ok && expect)
        hold(b, t, allowed);
    if (ok && e->request->keep)
        keep_buffer(b, t, allowed);
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
    for (int i = e->argument_buffers; i < e->out->buffer_count && ok && e->request->keep; i++) /* symbols */
        keep_buffer(&e->buffers[i], &(struct truth){0}, 0);
    return ok;
}
