#include "emu/emulate.h"
#include "emu/emulate_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does `entry` mean the source's `wanted`? Its name, or `wanted` behind its length in an Itanium-mangled name: _Z5saxpyPfS_i. */
static bool means(const char *entry, const char *wanted)
{
    char part[300];
    int n = snprintf(part, sizeof part, "%zu%s", strlen(wanted), wanted);
    if (!strcmp(entry, wanted))
        return true;
    if (strncmp(entry, "_Z", 2) || n >= (int)sizeof part)
        return false;
    const char *at = strstr(entry, part);
    return at && !(at[-1] >= '0' && at[-1] <= '9');
}

char *emulate_find_kernel(const char *label, const char *ptx, const char *wanted, struct error *err)
{
    char **names = NULL, *found = NULL;
    struct text all = {0};
    int count = device_ptx_entries(ptx, &names), matching = 0, exact = -1, last = -1;
    for (int i = 0; i < count; i++) {
        if (wanted && !strcmp(names[i], wanted))
            exact = i;
        if (!wanted || means(names[i], wanted)) {
            matching++;
            last = i;
        }
        if (all.len < 300)
            text_addf(&all, "%s%.120s", i ? ", " : "", names[i]);
    }
    if (exact >= 0 || matching == 1) {
        found = xstrdup(names[exact >= 0 ? exact : last]);
    } else if (count <= 0) {
        error_set(err, ERROR_USAGE, "%s: there is no kernel in the PTX", label);
        error_hint(err, "a __global__ template needs an instantiation");
    } else {
        if (matching)
            error_set(err, ERROR_USAGE, "%s: there are %d kernels%s%.80s: say which with 'kernel'", label, matching,
                      wanted ? " called " : "", wanted ? wanted : "");
        else
            error_set(err, ERROR_USAGE, "%s: there is no kernel '%.80s'", label, wanted);
        error_hint(err, "there is %.400s", text_get(&all));
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    text_free(&all);
    return found;
}

static bool find_kernel(struct emulation *e, struct error *err)
{
    const struct node *n = node_get(e->request->launch, "kernel");
    const char *wanted = e->request->kernel;
    if (!wanted && n && !(wanted = node_text(n, "kernel", err)))
        return false;
    char *name = emulate_find_kernel(e->request->label, e->request->ptx, wanted, err);
    bool ok = name && emu_device.function(&e->dev, e->module, name, &e->function, err);
    if (ok)
        snprintf(e->out->kernel, sizeof e->out->kernel, "%s", name);
    free(name);
    return ok;
}

/* ---- what came out ---- */
static struct emulate_line *emulate_line_of(struct emulate_result *r, int line, int *room)
{
    if (!r->line_count || r->lines[r->line_count - 1].line != line) {
        if (r->line_count == *room) {
            *room = *room ? *room * 2 : 64;
            r->lines = xrealloc(r->lines, (size_t)*room * sizeof *r->lines);
        }
        r->lines[r->line_count++] = (struct emulate_line){.line = line};
    }
    return &r->lines[r->line_count - 1];
}

struct gather {
    struct emulate_result *out;
    int room;
};
static void see_counter(void *context, const char *name, const char *unit, int line, double value)
{
    struct gather *g = context;
    struct emulate_result *r = g->out;
    if (line == 0) {
        *APPEND(r->counters, r->counter_count) = (struct emulate_counter){name, unit, value};
        return;
    }
    struct emulate_line *c = emulate_line_of(r, line, &g->room);
    if (!strcmp(name, "emu.warp_instructions"))
        c->instructions = value;
    else if (!strcmp(name, "emu.thread_instructions"))
        c->threads = value;
    else if (!strncmp(name, "emu.global_requests_", 20))
        c->requests += value;
    else if (!strcmp(name, "emu.global_sectors_ld") || !strcmp(name, "emu.global_sectors_st") ||
             !strcmp(name, "emu.global_sectors_atomic") || !strcmp(name, "emu.async_sectors"))
        c->sectors += value;
    else if (!strcmp(name, "emu.shared_wavefronts_ld") || !strcmp(name, "emu.shared_wavefronts_st"))
        c->wavefronts += value;
    else if (!strncmp(name, "emu.shared_wavefronts_ideal_", 28))
        c->ideal += value;
}

static bool read_shown(struct emulation *e, struct error *err)
{
    struct emulate_result *r = e->out;
    for (int i = 0; i < e->buffer_count; i++) {
        const struct buffer_wanted *b = &e->buffers[i];
        if (!b->show)
            continue;
        struct emulate_values *v = APPEND(r->shown, r->shown_count);
        *v = (struct emulate_values){.type = b->type, .count = b->show, .values = xmalloc((size_t)b->show * dtype_bytes(b->type))};
        snprintf(v->name, sizeof v->name, "%s", b->name);
        if (!emu_device.read(&e->dev, b->address, v->values, (size_t)b->show * dtype_bytes(b->type), err))
            return false;
    }
    return true;
}

static bool run(struct emulation *e, struct error *err)
{
    struct error failed = {0};
    struct emulate_result *r = e->out;
    emu_device.clear(&e->dev);
    r->finished = emu_device.launch(&e->dev, e->function, &e->launch, &failed);
    r->launch = e->launch;
    r->launch.params = NULL;
    const struct device_report *reports;
    int count = emu_device.reports(&e->dev, &reports);
    if (!r->finished && !count) { /* the launch itself was refused */
        if (err)
            *err = failed;
        return false;
    }
    snprintf(r->why, sizeof r->why, "%.*s", (int)sizeof r->why - 1, failed.text);
    r->report_count = count;
    r->reports = xcalloc((size_t)count + 1, sizeof *reports);
    memcpy(r->reports, reports, (size_t)count * sizeof *reports);
    struct gather g = {.out = r};
    emu_device.counters(&e->dev, see_counter, &g);
    const char *file = e->request->source ? e->request->source : emu_source_file(&e->dev);
    snprintf(r->source, sizeof r->source, "%s", file);
    return read_shown(e, err);
}

bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err)
{
    struct emulation *e = xcalloc(1, sizeof *e);
    bool ok = false, opened = false;
    *out = (struct emulate_result){0};
    e->request = request;
    e->out = out;
    e->dev.ops = &emu_device;
    struct device_image image = {.label = request->label, .path = request->source, .ptx = request->ptx, .ptx_bytes = request->ptx_bytes};
    char spec[96];
    snprintf(spec, sizeof spec, "%.60s%s", request->chip ? request->chip : "GH100", request->no_check ? ",no-check" : "");
    if (!(opened = emu_device.open(&e->dev, spec, err)))
        goto done;
    snprintf(out->device, sizeof out->device, "%s", e->dev.about);
    emu_set_threads(&e->dev, request->threads);
    emu_set_seed(&e->dev, request->seed);
    ok = emulate_read_launch(e, err) && emu_device.load(&e->dev, &image, &e->module, err) && find_kernel(e, err) &&
         emulate_make_buffers(e, err) && emulate_set_arguments(e, err) && run(e, err);
done:
    emu_device.unload(&e->dev, e->module);
    if (opened)
        emu_device.close(&e->dev);
    free(e->params);
    free(e);
    if (!ok)
        emulate_free(out);
    return ok;
}

void emulate_free(struct emulate_result *r)
{
    for (int i = 0; i < r->shown_count; i++)
        free(r->shown[i].values);
    free(r->shown);
    free(r->counters);
    free(r->lines);
    free(r->reports);
    *r = (struct emulate_result){0};
}
