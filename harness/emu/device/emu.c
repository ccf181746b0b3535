#include "emu/device/emu.h"
#include "base/order.h"
#include "emu/device/fits.h"
#include "base/large.h"
#include "base/text.h"
#include "emu/run/buffer.h"
#include "emu/run/sample.h"
#include "emu/check/report.h"
#include "emu/device/count.h"
#include "emu/device/module.h"
#include "emu/run/tensormap.h"
#include <pthread.h>
#include <stdio.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define TURNS_MAX (1 << 17)    /* of 32768 block entries each */
#define WORK_GROUPS (1u << 20) /* of a launch whose work is kept by group */
#define TURNS_REORDERED 64     /* where who waits may wait for ever */

struct emu {
    struct address_space space;
    struct device_report *reports;
    int report_count;
    struct device_report *notes;
    int note_count;
    struct totals totals;
    double stands_for; /* since the last clear: groups of a grid for each of them that ran; 0: all ran */
    uint32_t *work;    /* of the last launch, by group; NULL: it was sampled or too large, or its blocks take work from each other */
    uint64_t work_groups;
    uint8_t *sampled; /* parameters of the last launch of which only some blocks ran; NULL: none */
    int checks, threads, seed;
    bool skips_sums;         /* of tensor instructions, in functions that are looked up from now on */
    bool reordered, ordered; /* the seed is a caller's of reorder; a kernel ran since whose results may hang on it */
};
/* ---- open, close ---- */
#define TRIM_BYTES (1 << 30) /* freed memory that the process keeps */

static bool emu_open(struct device *dev, const char *spec, struct error *err)
{
    /* A launch takes and frees megabytes. Kept, they cost no page faults in the next launch, which were 10 % of the time of an EDSR run. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
    char name[64] = "GH100"; /* "GH100", "no-check", "GH100,no-check" */
    size_t length = spec ? strcspn(spec, ",") : 0;
    const char *option = spec && spec[length] ? spec + length + 1 : "";
    if (length && !*option && !strcmp(spec, "no-check"))
        option = spec;
    else if (length)
        snprintf(name, sizeof name, "%.*s", (int)length, spec);
    bool checked = strcmp(option, "no-check") != 0;
    const struct chip *chip = chip_find(name);
    if (checked && *option)
        return error_set(err, ERROR_USAGE, "emu has no option '%.40s'", option) || error_hint(err, "emu:%s,no-check", name);
    if (!chip) {
        error_set(err, ERROR_USAGE, "emu has no chip '%s'", name);
        const char *near = text_nearest_in(name, chip_names());
        return near ? error_hint(err, "did you mean emu:%s?", near) : false;
    }
    struct emu *e = xcalloc(1, sizeof *e);
    e->space.next = GLOBAL_BASE;
    dev->chip = *chip;
    snprintf(dev->about, sizeof dev->about, "emu · %.40s (%.15s)%s", chip->name, chip->arch, checked ? "" : " · checks bounds only");
    dev->private_data = e;
    emu_set_checks(dev, checked);
    return true;
}

static void emu_close(struct device *dev)
{
    struct emu *e = dev->private_data;
    if (!e)
        return;
    for (int i = 0; i < e->space.count; i++)
        buffer_free(e->space.buffers[i]);
    FREE_ALL(e->space.buffers, e->space.moments, e->sampled, e->work, e->reports, e->notes);
    totals_clear(&e->totals);
    free(e);
    dev->private_data = NULL;
}

void emu_set_threads(struct device *dev, int threads)
{
    ((struct emu *)dev->private_data)->threads = threads;
}
void emu_set_seed(struct device *dev, int seed)
{
    ((struct emu *)dev->private_data)->seed = seed;
}
static bool emu_reorder(struct device *dev, int seed)
{
    struct emu *e = dev->private_data;
    bool ordered = e->ordered;
    e->seed = seed;
    e->reordered = seed != 0;
    e->ordered = false;
    return ordered;
}
static void emu_multiply(struct device *dev, bool on)
{
    ((struct emu *)dev->private_data)->skips_sums = !on;
}
void emu_set_checks(struct device *dev, bool on)
{
    ((struct emu *)dev->private_data)->checks = on ? CHECK_ALL : CHECK_BOUNDS;
}
const char *emu_isa_name(void)
{
    const char *name;
    isa_table(&name);
    return name;
}
const char *emu_source_file(const struct device *dev)
{
    return ((const struct emu *)dev->private_data)->totals.file;
}

/* ---- buffers ---- */
static bool emu_alloc(struct device *dev, const char *label, size_t bytes, uint64_t *address, struct error *err)
{
    if (bytes == 0)
        return error_set(err, ERROR_INTERNAL, "a buffer of 0 bytes");
    struct buffer *b = buffer_new(&((struct emu *)dev->private_data)->space, label, bytes, false, err);
    if (b)
        *address = b->base;
    return b != NULL;
}

static void emu_release(struct device *dev, uint64_t address)
{
    space_remove(&((struct emu *)dev->private_data)->space, address);
}

/* The buffer that holds all these bytes. */
static struct buffer *range(struct device *dev, uint64_t address, size_t bytes, const char *what, struct error *err)
{
    struct emu *e = dev->private_data;
    struct buffer *b = space_find(&e->space, address);
    if (b && bytes <= b->bytes - (address - b->base))
        return b;
    error_set(err, ERROR_INTERNAL, "%s of %zu bytes at 0x%llx is not inside one buffer", what, bytes, (unsigned long long)address);
    return NULL;
}

static bool emu_write(struct device *dev, uint64_t address, const void *from, size_t bytes, struct error *err)
{
    struct buffer *b = range(dev, address, bytes, "a write", err);
    if (!b)
        return false;
    large_advise(b->host + (address - b->base), bytes);
    memcpy(b->host + (address - b->base), from, bytes);
    buffer_know(b, address - b->base, bytes, true);
    b->stored = false;
    return true;
}

static bool emu_stored(struct device *dev, uint64_t address)
{
    const struct buffer *b = range(dev, address, 1, "asking", NULL);
    return b && buffer_written(b);
}

static const uint8_t *emu_known(struct device *dev, uint64_t address)
{
    const struct buffer *b = range(dev, address, 1, "asking", NULL);
    return b && b->known && (((struct emu *)dev->private_data)->checks & CHECK_KNOWN) ? b->known + (address - b->base) / 8 : NULL;
}

bool emu_written(struct device *dev, uint64_t address, size_t bytes)
{
    const struct buffer *b = range(dev, address, bytes, "asking", NULL);
    return b && buffer_known(b, address - b->base, bytes, ((struct emu *)dev->private_data)->checks & CHECK_KNOWN);
}

static bool emu_read(struct device *dev, uint64_t address, void *to, size_t bytes, struct error *err)
{
    const struct buffer *b = range(dev, address, bytes, "a read", err);
    if (b)
        memcpy(to, b->host + (address - b->base), bytes);
    return b != NULL;
}

static bool emu_fill(struct device *dev, uint64_t address, uint32_t pattern, size_t bytes, struct error *err)
{
    struct buffer *b = range(dev, address, bytes, "a fill", err);
    if (!b)
        return false;
    uint8_t *to = b->host + (address - b->base);
    large_advise(to, bytes);
    for (size_t i = 0; i < bytes; i += 4)
        memcpy(to + i, &pattern, bytes - i < 4 ? bytes - i : 4);
    buffer_know(b, address - b->base, bytes, true);
    return true;
}

static bool emu_copy(struct device *dev, uint64_t to, uint64_t from, size_t bytes, struct error *err)
{
    struct buffer *t = range(dev, to, bytes, "a copy to", err);
    const struct buffer *f = t ? range(dev, from, bytes, "a copy from", err) : NULL;
    if (!f)
        return false;
    memmove(t->host + (to - t->base), f->host + (from - f->base), bytes);
    if (f->seen)
        memset(f->seen + (from - f->base), 1, bytes);
    buffer_know(t, to - t->base, bytes, true);
    return true;
}

static bool emu_repeat(struct device *dev, uint64_t address, const void *tile, size_t bytes, struct error *err)
{
    struct buffer *b = range(dev, address, 1, "repeating", err);
    return b && buffer_repeat(b, tile, bytes, err);
}

static const uint8_t *emu_touched(struct device *dev, uint64_t address, bool written)
{
    const struct buffer *b = range(dev, address, 1, "asking", NULL);
    return !b ? NULL : written ? b->written : b->read;
}

static void emu_watch(struct device *dev, uint64_t address, uint8_t *seen)
{
    struct buffer *b = range(dev, address, 1, "watching", NULL);
    if (b)
        b->seen = seen;
}

static void emu_forget(struct device *dev, uint64_t address, size_t bytes)
{
    struct buffer *b = range(dev, address, bytes, "forgetting", NULL);
    if (b)
        buffer_know(b, address - b->base, bytes, false);
}

/* ---- modules ---- */
static void emu_unload(struct device *dev, struct device_module *module)
{
    if (module)
        module_unload(&((struct emu *)dev->private_data)->space, module);
}

static bool emu_load(struct device *dev, const struct device_image *image, struct device_module **module, struct error *err)
{
    return (*module = module_load(&((struct emu *)dev->private_data)->space, image, err)) != NULL;
}

static bool emu_function(struct device *dev, struct device_module *module, const char *name, struct device_function **function,
                         struct error *err)
{
    return (*function = module_function(module, name, ((struct emu *)dev->private_data)->skips_sums, err)) != NULL;
}

static int emu_signature(struct device *dev, const struct device_function *function, const struct param **params, size_t *param_bytes)
{
    *params = function->params;
    *param_bytes = function->program->param_bytes;
    return function->param_count;
}

static bool emu_symbol(struct device *dev, struct device_module *module, const char *name, uint64_t *address, size_t *bytes,
                       struct error *err)
{
    const struct ptx_var *v = ptx_find_var(module->ptx, name);
    if (!v || !v->address)
        return error_set(err, ERROR_USAGE, "%s: there is no variable '%s'", module->label, name);
    *address = v->address;
    *bytes = v->bytes;
    return true;
}

/* ---- launch ---- */
static void keep_report(struct device_report **list, int *count, const struct device_report *r)
{
    for (int k = 0; k < *count; k++)
        if ((*list)[k].line == r->line && !strcmp((*list)[k].kind, r->kind) && !strcmp((*list)[k].text, r->text)) {
            (*list)[k].count += r->count;
            return;
        }
    *APPEND(*list, *count) = *r;
}

ORDER(by_line, struct report_entry, ORDER_UP(r.line) ?: ORDER_UP(index) ?: strcmp(x->r.kind, y->r.kind))

static void sample_ran(struct launch *l, bool own_work)
{
    l->sample->ran = l->sample->count;
    l->sample->own_work = own_work;
    l->sample->mark = l->mark;
}

/* Each block does its own work; or all of them run, in turns, and keep the work that they find. */
static bool keeps_work(const struct launch *l, uint64_t groups)
{
    bool together = groups == (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    return groups <= WORK_GROUPS && (l->cooperative ? together : !l->program->shares && !l->program->cancels);
}

static bool emu_launch(struct device *dev, struct device_function *function, const struct device_launch *launch, struct error *err)
{
    struct emu *e = dev->private_data;
    if (!launch_fits(&dev->chip, function->program, function->module->label, launch, err))
        return false;
    SCOPED struct report_table *t = xcalloc(1, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    t->label = function->module->label;
    uint8_t *params = xcalloc(1, launch->param_bytes + 64); /* loads never reach beyond, vectors are checked */
    if (launch->param_bytes)
        memcpy(params, launch->params, launch->param_bytes);
    struct launch l = {.program = function->program,
                       .space = &e->space,
                       .chip = &dev->chip,
                       .params = params,
                       .checks = e->checks,
                       .cooperative = launch->cooperative,
                       .threads = e->threads,
                       .seed = (uint64_t)e->seed,
                       .turns_max = launch->entries_max ? launch->entries_max / WARP_FUEL + 1
                                    : e->reordered      ? TURNS_REORDERED
                                                        : TURNS_MAX,
                       .limit_s = launch->time_limit_s,
                       .sample = launch->sample,
                       .reports = t};
    e->ordered |= function->program->ordered;
    const int *fixed = function->program->functions[0].ptx->cluster;
    for (int i = 0; i < 3; i++) {
        l.grid[i] = launch->grid[i];
        l.block[i] = launch->block[i];
        l.cluster[i] = launch->cluster[i] > 1                                                      ? launch->cluster[i]
                       : fixed[0] > 0 && fixed[i] > 0 && launch->grid[i] % (uint32_t)fixed[i] == 0 ? (uint32_t)fixed[i]
                                                                                                   : 1;
    }
    l.dynamic_at = function->program->shared_bytes;
    l.shared_bytes = l.dynamic_at + launch->smem;
    struct buffer *workspace = launch->cooperative ? buffer_new(&e->space, "grid workspace", 64, true, err) : NULL;
    l.workspace = workspace ? workspace->base : 0;
    l.heap.buffer = function->program->uses_heap ? buffer_new(&e->space, "device heap", HEAP_BYTES, false, err) : NULL;
    uint64_t groups = (uint64_t)(l.grid[0] / l.cluster[0]) * (l.grid[1] / l.cluster[1]) * (l.grid[2] / l.cluster[2]);
    bool alone = true;
    for (int i = l.sample ? l.sample->ran : 0; l.sample && i < l.sample->count; i++)
        alone = alone && !l.cooperative && l.sample->groups[i].number < groups;
    if (!alone)
        error_set(err, ERROR_INTERNAL, "%s: these blocks cannot run alone", t->label);
    free(e->work);
    bool own = keeps_work(&l, groups);
    e->work = l.work = !l.sample && own ? xcalloc(groups + 1, sizeof *l.work) : NULL;
    e->work_groups = e->work ? groups : 0;
    bool ok = alone && (!launch->cooperative || workspace) && (!function->program->uses_heap || l.heap.buffer) && launch_run(&l, err);
    if (workspace)
        space_remove(&e->space, workspace->base);
    if (l.heap.buffer)
        space_remove(&e->space, l.heap.buffer->base);
    if (l.sample)
        sample_ran(&l, own);
    else
        totals_add(&e->totals, &l, function->module->path, &l);
    launch_free(&l);
    qsort(t->entries, (size_t)t->count, sizeof *t->entries, by_line);
    for (int i = 0; i < t->count; i++) {
        const struct report_entry *r = &t->entries[i];
        keep_report(r->note ? &e->notes : &e->reports, r->note ? &e->note_count : &e->report_count, &r->r);
    }
    pthread_mutex_destroy(&t->lock);
    free(l.sample ? e->sampled : params);
    e->sampled = l.sample ? params : e->sampled; /* the counts come when the blocks are weighed */
    return ok;
}

static void emu_weigh(struct device *dev, struct device_function *function, const struct device_sample *sample)
{
    struct address_space none = {0};
    SCOPED_BY(launch_free) struct launch l = {.program = function->program, .space = &none};
    struct emu *e = dev->private_data;
    double groups = 0;
    for (int i = 0; i < sample->ran; i++)
        groups += (double)sample->groups[i].weight;
    e->stands_for = sample->ran ? groups / sample->ran : 0;
    sample_weigh(&l, sample);
    totals_add(&e->totals, &l, function->module->path, e->sampled ? &(struct launch){.params = e->sampled, .space = &e->space} : NULL);
}

static bool emu_tensor_map(struct device *dev, const struct device_tensor_map *map, void *out128, struct error *err)
{
    return tensormap_encode(map, out128, err);
}
static bool emu_sync(struct device *dev, struct error *err)
{
    return true;
}

/* ---- counters and reports ---- */
static void emu_counters(struct device *dev, void (*visit)(void *context, const struct device_counter *counter, int line, double value),
                         void *context)
{
    struct emu *e = dev->private_data;
    uint64_t read = 0, written = 0;
    totals_each(&e->totals, visit, context);
    for (int i = 0; i < e->space.count; i++)
        buffer_touched(e->space.buffers[i], e->stands_for, &read, &written);
    for (int i = 0; i < e->space.count; i++) {
        const struct buffer *b = e->space.buffers[i];
        SCOPED char *name = b->requested ? text_format("emu.requested_bytes.%s", b->label) : NULL;
        if (name)
            visit(context, &(struct device_counter){name, name + 4, "B", false}, 0, (double)b->requested);
    }
    visit(context, &(struct device_counter){"emu.unique_bytes_read", "unique_bytes_read", "B", false}, 0, (double)read);
    visit(context, &(struct device_counter){"emu.unique_bytes_written", "unique_bytes_written", "B", false}, 0, (double)written);
}

static int emu_instructions(struct device *dev, const struct device_instruction **instructions)
{
    *instructions = ((const struct emu *)dev->private_data)->totals.code;
    return ((const struct emu *)dev->private_data)->totals.code_count;
}

static uint64_t emu_group_work(const struct device *dev, const uint32_t **work)
{
    const struct emu *e = dev->private_data;
    *work = e->work;
    return e->work_groups;
}

static double emu_group_fixed(const struct device *dev)
{
    return ((const struct emu *)dev->private_data)->totals.fixed_share;
}

static int emu_reports(struct device *dev, const struct device_report **reports)
{
    struct emu *e = dev->private_data;
    *reports = e->reports;
    return e->report_count;
}

int emu_notes(const struct device *dev, const struct device_report **notes)
{
    const struct emu *e = dev->private_data;
    *notes = e->notes;
    return e->note_count;
}

static void emu_clear(struct device *dev)
{
    struct emu *e = dev->private_data;
    e->report_count = e->note_count = 0;
    e->stands_for = 0;
    totals_clear(&e->totals);
    for (int i = 0; i < e->space.count; i++)
        buffer_clear(e->space.buffers[i]);
}

const struct device_ops emu_device = {
    .name = "emu",
    .version = DEVICE_OPS_VERSION,
    .keeps_time = false,
    .open = emu_open,
    .close = emu_close,
    .alloc = emu_alloc,
    .release = emu_release,
    .write = emu_write,
    .read = emu_read,
    .fill = emu_fill,
    .copy = emu_copy,
    .forget = emu_forget,
    .watch = emu_watch,
    .repeat = emu_repeat,
    .touched = emu_touched,
    .stored = emu_stored,
    .known = emu_known,
    .load = emu_load,
    .unload = emu_unload,
    .function = emu_function,
    .signature = emu_signature,
    .symbol = emu_symbol,
    .tensor_map = emu_tensor_map,
    .launch = emu_launch,
    .sync = emu_sync,
    .counters = emu_counters,
    .weigh = emu_weigh,
    .instructions = emu_instructions,
    .group_work = emu_group_work,
    .group_fixed = emu_group_fixed,
    .reports = emu_reports,
    .reorder = emu_reorder,
    .multiply = emu_multiply,
    .clear = emu_clear,
};
