/* The device: buffers in an emulated address space, modules, launches over threads, counters. */
#include "base/pool.h"
#include "base/text.h"
#include "device/emu/emu.h"
#include "device/emu/mini.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mini_names[N_COUNT] = {
    "emu.warp_instructions", "emu.thread_instructions", "emu.warp_fma", "emu.warp_float", "emu.warp_int", "emu.warp_convert", "emu.warp_move", "emu.warp_load_global", "emu.warp_store_global",
    "emu.warp_load_shared", "emu.warp_store_shared", "emu.branches", "emu.divergent_branches", "emu.barriers", "emu.atomics", "emu.global_requests_ld", "emu.global_requests_st",
    "emu.global_sectors_ld", "emu.global_sectors_st", "emu.global_sectors_ideal_ld", "emu.global_sectors_ideal_st", "emu.shared_wavefronts_ld", "emu.shared_wavefronts_st",
    "emu.shared_wavefronts_ideal_ld", "emu.shared_wavefronts_ideal_st", "emu.shared_bank_conflicts", "emu.flop_f32", "emu.flop_f16"};

struct device_module {
    struct ptx_module *ptx;
    struct device_function *functions;
    uint64_t vars[256];
    int var_count;
};
struct device_function {
    struct kernel kernel;
    struct device_function *next;
};
static struct mini *state(struct device *dev) { return dev->private_data; }

static bool emu_open(struct device *dev, const char *spec, struct error *err)
{
    const struct chip *chip = chip_find(*spec ? spec : "GH100");
    if (!chip) {
        const char *near = text_nearest_in(spec, chip_names());
        error_set(err, ERROR_USAGE, "emu knows no chip '%.60s'", spec);
        return error_hint(err, near ? "emu:%s" : "bench list chips%s", near ? near : "");
    }
    struct mini *m = xcalloc(1, sizeof *m);
    m->next = GLOBAL_BASE;
    dev->private_data = m;
    dev->chip = *chip;
    snprintf(dev->spec, sizeof dev->spec, "emu:%.50s", chip->name);
    snprintf(dev->about, sizeof dev->about, "emu · %s (%s)", chip->name, chip->arch);
    return true;
}

static void drop(struct region *r)
{
    free(r->host);
    free(r->touched_read);
    free(r->touched_written);
}

static void emu_close(struct device *dev)
{
    struct mini *m = state(dev);
    for (int i = 0; m && i < m->count; i++)
        drop(&m->regions[i]);
    if (m) {
        free(m->regions);
        free(m->lines);
    }
    free(m);
    dev->private_data = NULL;
}

static bool emu_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    struct mini *m = state(dev);
    uint8_t *host = calloc(bytes ? bytes : 1, 1);
    if (!host)
        return error_set(err, ERROR_ENVIRONMENT, "not enough memory for %s (%zu bytes)", label, bytes);
    m->regions = xrealloc(m->regions, sizeof *m->regions * (size_t)(m->count + 1));
    struct region *r = &m->regions[m->count++];
    *r = (struct region){.base = m->next, .bytes = bytes, .host = host, .touched_read = xcalloc(bytes / 32 + 1, 1), .touched_written = xcalloc(bytes / 32 + 1, 1)};
    snprintf(r->label, sizeof r->label, "%.60s", label);
    m->next += (bytes + 511) / 512 * 512 + 512;
    *address = r->base;
    return true;
}

static void emu_release(struct device *dev, uint64_t address)
{
    struct mini *m = state(dev);
    for (int i = 0; i < m->count; i++)
        if (m->regions[i].base == address) {
            drop(&m->regions[i]);
            memmove(&m->regions[i], &m->regions[i + 1], sizeof *m->regions * (size_t)(m->count - i - 1));
            m->count--;
            if (!m->count) /* the same run has the same addresses */
                m->next = GLOBAL_BASE;
            return;
        }
}

static uint8_t *host_of(struct mini *m, uint64_t address, size_t bytes)
{
    struct region *r = mini_region(m, address);
    return r && address + bytes <= r->base + r->bytes ? r->host + (address - r->base) : NULL;
}

static bool outside(struct error *err) { return error_set(err, ERROR_INTERNAL, "a copy outside of every buffer"); }

static bool emu_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    uint8_t *to = host_of(state(dev), address, bytes);
    return to ? memcpy(to, from, bytes), true : outside(err);
}

static bool emu_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    uint8_t *from = host_of(state(dev), address, bytes);
    return from ? memcpy(to, from, bytes), true : outside(err);
}

static bool emu_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    uint8_t *to = host_of(state(dev), address, bytes);
    if (!to)
        return outside(err);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(pattern >> 8 * (i & 3));
    return true;
}

static bool emu_copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    uint8_t *a = host_of(state(dev), to, bytes), *b = host_of(state(dev), from, bytes);
    return a && b ? memmove(a, b, bytes), true : outside(err);
}

static void emu_forget(struct device *dev, uint64_t address, size_t bytes)
{
    (void)dev;
    (void)address;
    (void)bytes;
}

static bool emu_load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    struct device_module *m = xcalloc(1, sizeof *m);
    m->ptx = ptx_parse(image->label, image->ptx, image->ptx_bytes, err);
    if (!m->ptx) {
        free(m);
        return false;
    }
    for (struct ptx_var *v = m->ptx->vars; v; v = v->next)
        if (v->space == SPACE_GLOBAL || v->space == SPACE_CONST) {
            if (m->var_count == 256 || !emu_alloc(dev, v->name, (size_t)v->bytes, &v->address, err)) {
                error_set(err, ERROR_ENVIRONMENT, "too many module variables");
                return false;
            }
            m->vars[m->var_count++] = v->address;
            if (v->init)
                emu_write(dev, v->address, v->init, (size_t)v->bytes, err);
        }
    *module = m;
    return true;
}

static void emu_unload(struct device *dev, struct device_module *m)
{
    for (struct device_function *f = m->functions, *next; f; f = next) {
        next = f->next;
        free(f->kernel.code);
        free(f->kernel.constants);
        free(f->kernel.params);
        free(f);
    }
    for (int i = 0; i < m->var_count; i++)
        emu_release(dev, m->vars[i]);
    ptx_free(m->ptx);
    free(m);
}

static bool emu_function(struct device *dev, struct device_module *m, const char *name, struct device_function **out, struct error *err)
{
    (void)dev;
    const struct ptx_function *f = ptx_find_function(m->ptx, name);
    if (!f || !f->is_entry)
        return error_set(err, ERROR_USAGE, "there is no kernel '%s' in %s", name, m->ptx->label);
    struct device_function *d = xcalloc(1, sizeof *d);
    d->next = m->functions;
    m->functions = d;
    *out = d;
    return mini_decode(m->ptx, f, &d->kernel, err);
}

static int emu_signature(struct device *dev, const struct device_function *f, const struct param **params, size_t *bytes)
{
    (void)dev;
    *params = f->kernel.params;
    *bytes = f->kernel.param_bytes;
    return f->kernel.param_count;
}

static bool emu_symbol(struct device *dev, struct device_module *m, const char *name, uint64_t *address, size_t *bytes, struct error *err)
{
    (void)dev;
    struct ptx_var *v = ptx_find_var(m->ptx, name);
    if (!v || (v->space != SPACE_GLOBAL && v->space != SPACE_CONST))
        return error_set(err, ERROR_USAGE, "there is no variable '%s' in %s", name, m->ptx->label);
    *address = v->address;
    *bytes = (size_t)v->bytes;
    return true;
}

struct run {
    struct mini *m;
    const struct kernel *k;
    const struct device_launch *launch;
    atomic_int stop;
    double deadline;
    uint8_t **arenas;
    uint64_t **counts;
    size_t arena_bytes;
};

static void run_block(void *context, int64_t index, int thread)
{
    struct run *r = context;
    if (atomic_load_explicit(&r->stop, memory_order_relaxed))
        return;
    if (!r->arenas[thread]) {
        r->arenas[thread] = aligned_alloc(64, (r->arena_bytes + 63) / 64 * 64);
        r->counts[thread] = xcalloc((size_t)(r->k->count + 2) * N_COUNT, sizeof(uint64_t));
        if (!r->arenas[thread]) {
            atomic_store(&r->stop, 1);
            return;
        }
    }
    const uint32_t *grid = r->launch->grid;
    struct block b = {.m = r->m, .k = r->k, .launch = r->launch, .stop = &r->stop, .deadline = r->deadline, .n = r->counts[thread], .per_ins = r->counts[thread] + N_COUNT};
    b.index[0] = (uint32_t)(index % grid[0]);
    b.index[1] = (uint32_t)(index / grid[0] % grid[1]);
    b.index[2] = (uint32_t)(index / ((int64_t)grid[0] * grid[1]));
    mini_run_block(&b, r->arenas[thread]);
}

static void add_line(struct mini *m, int line, const uint64_t *n)
{
    struct line_count *at = NULL;
    for (int i = 0; i < m->line_count && !at; i++)
        if (m->lines[i].line == line)
            at = &m->lines[i];
    if (!at) {
        m->lines = xrealloc(m->lines, sizeof *m->lines * (size_t)(m->line_count + 1));
        at = &m->lines[m->line_count++];
        *at = (struct line_count){.line = line};
    }
    for (int c = 0; c < N_COUNT; c++)
        at->n[c] += n[c];
}

static bool emu_launch(struct device *dev, struct device_function *f, const struct device_launch *launch, struct error *err)
{
    struct mini *m = state(dev);
    const struct kernel *k = &f->kernel;
    if (launch->cluster[0] > 1 || launch->cluster[1] > 1 || launch->cluster[2] > 1)
        return error_set(err, ERROR_ENVIRONMENT, "emu does not run clusters yet");
    int threads = k->float_atomics ? 1 : pool_threads(); /* float sums depend on the order of the blocks */
    struct run r = {.m = m, .k = k, .launch = launch, .deadline = launch->time_limit_s > 0 ? mini_now() + launch->time_limit_s : 0, .arena_bytes = mini_block_bytes(k, launch) + 65536};
    r.arenas = xcalloc((size_t)threads, sizeof *r.arenas);
    r.counts = xcalloc((size_t)threads, sizeof *r.counts);
    pool_for((int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2], threads, run_block, &r);
    for (int t = 0; t < threads; t++) {
        for (int c = 0; r.counts[t] && c < N_COUNT; c++)
            m->totals[c] += r.counts[t][c];
        for (int i = 0; r.counts[t] && i < k->count; i++)
            if (k->code[i].from && k->code[i].from->place.line > 0)
                add_line(m, k->code[i].from->place.line, r.counts[t] + (size_t)(i + 1) * N_COUNT);
        free(r.arenas[t]);
        free(r.counts[t]);
    }
    free(r.arenas);
    free(r.counts);
    if (m->report_count)
        return error_set(err, ERROR_WRONG, "%s: %s", m->reports[0].kind, m->reports[0].text);
    return true;
}

static bool emu_tensor_map(struct device *dev, const struct device_tensor_map *map, void *out128, struct error *err)
{
    (void)dev;
    (void)map;
    (void)out128;
    return error_set(err, ERROR_ENVIRONMENT, "not on emu: tensor maps (TMA)");
}

static bool emu_sync(struct device *dev, struct error *err)
{
    (void)dev;
    (void)err;
    return true;
}

static void emu_counters(struct device *dev, void (*visit)(void *context, const char *name, const char *unit, int line, double value), void *context)
{
    struct mini *m = state(dev);
    double read = 0, written = 0;
    for (int c = 0; c < N_COUNT; c++)
        visit(context, mini_names[c], strstr(mini_names[c], "sectors") ? "sectors" : "", 0, (double)m->totals[c]);
    for (int i = 0; i < m->count; i++)
        for (size_t s = 0; s <= m->regions[i].bytes / 32; s++) {
            read += 32.0 * m->regions[i].touched_read[s];
            written += 32.0 * m->regions[i].touched_written[s];
        }
    visit(context, "emu.unique_bytes_read", "B", 0, read);
    visit(context, "emu.unique_bytes_written", "B", 0, written);
    for (int i = 0; i < m->line_count; i++)
        for (int c = 0; c < N_COUNT; c++)
            if (m->lines[i].n[c] && (c == N_WARP || c >= N_REQ_LD))
                visit(context, mini_names[c], "", m->lines[i].line, (double)m->lines[i].n[c]);
}

static int emu_reports(struct device *dev, const struct device_report **reports)
{
    *reports = state(dev)->reports;
    return state(dev)->report_count;
}

static void emu_clear(struct device *dev)
{
    struct mini *m = state(dev);
    memset(m->totals, 0, sizeof m->totals);
    m->report_count = m->line_count = 0;
    for (int i = 0; i < m->count; i++) {
        memset(m->regions[i].touched_read, 0, m->regions[i].bytes / 32 + 1);
        memset(m->regions[i].touched_written, 0, m->regions[i].bytes / 32 + 1);
    }
}

const struct device_ops emu_device = {
    .name = "emu", .version = DEVICE_OPS_VERSION, .open = emu_open, .close = emu_close, .alloc = emu_alloc, .release = emu_release, .write = emu_write, .read = emu_read, .fill = emu_fill,
    .copy = emu_copy, .forget = emu_forget, .load = emu_load, .unload = emu_unload, .function = emu_function, .signature = emu_signature, .symbol = emu_symbol, .tensor_map = emu_tensor_map, .launch = emu_launch,
    .sync = emu_sync, .counters = emu_counters, .reports = emu_reports, .clear = emu_clear,
};
