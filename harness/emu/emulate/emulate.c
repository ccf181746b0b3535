#include "emu/emulate/emulate.h"
#include "emu/emulate/parts.h"
#include "device/ptx/query.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One argument of a template as it stands in a mangled name, where '?' is any letter: a number's type is not said in `32`. */
static void add_template_argument(struct text *t, const char *s, size_t length)
{
    static const char *const types[][2] = {{"float", "f"},   {"double", "d"},    {"int", "i"},           {"unsigned", "j"},
                                           {"char", "c"},    {"short", "s"},     {"bool", "b"},          {"long", "l"},
                                           {"true", "Lb1E"}, {"false", "Lb0E"},  {"half", "6__half"},    {"unsigned int", "j"},
                                           {"size_t", "m"},  {"long long", "x"}, {"signed char", "a"},   {"unsigned char", "h"},
                                           {"uint8_t", "h"}, {"int8_t", "a"},    {"unsigned short", "t"}};
    char word[128];
    long long number;
    snprintf(word, sizeof word, "%.*s", (int)length, s);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(word, types[i][0])) {
            text_add(t, types[i][1]);
            return;
        }
    if (text_to_int(word, &number))
        text_addf(t, number < 0 ? "L?n%lldE" : "L?%lldE", number < 0 ? -number : number);
    else
        text_addf(t, "%zu%s", strlen(word), word);
}

/* "4gemmIL?32EfE" of `gemm<32, float>`, "5saxpy" of `saxpy`; NULL: more than this knows. Caller frees. */
static char *mangled_part(const char *wanted)
{
    struct text t = {0};
    const char *open = strchr(wanted, '<'), *close = strrchr(wanted, '>');
    size_t name = open ? (size_t)(open - wanted) : strlen(wanted);
    while (name && wanted[name - 1] == ' ')
        name--;
    text_addf(&t, "%zu%.*s", name, (int)name, wanted);
    for (const char *at = open ? open + 1 : NULL; at && close > at;) {
        const char *end = at + strcspn(at, ",>"), *last = end;
        if (at == open + 1)
            text_add(&t, "I");
        at += strspn(at, " ");
        while (last > at && last[-1] == ' ')
            last--;
        add_template_argument(&t, at, (size_t)(last - at));
        at = *end == ',' ? end + 1 : NULL;
    }
    text_add(&t, open ? "E" : "");
    return text_take(&t);
}

/* Does `entry` mean the source's `wanted`? Its name, or `wanted` behind its length in an Itanium-mangled name: _Z5saxpyPfS_i. */
static bool means(const char *entry, const char *wanted)
{
    if (!strcmp(entry, wanted))
        return true;
    SCOPED char *part = mangled_part(wanted);
    size_t length = strlen(part);
    bool found = false;
    for (const char *at = entry + 2; !strncmp(entry, "_Z", 2) && !found && strlen(at) >= length; at++) {
        found = !(at[-1] >= '0' && at[-1] <= '9');
        for (size_t i = 0; i < length && found; i++)
            found = part[i] == '?' ? at[i] >= 'a' && at[i] <= 'z' : part[i] == at[i];
    }
    return found;
}

char *emulate_find_kernel(const char *label, const char *ptx, const char *wanted, struct error *err)
{
    char **names = NULL, *found = NULL;
    SCOPED_TEXT all = {0};
    int count = ptx_entries(ptx, &names), matching = 0, exact = -1, last = -1;
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
        error_hint(err, "name a __global__ template with its arguments: --kernel 'scale<32, float>'");
    } else {
        if (matching)
            error_set(err, ERROR_USAGE, "%s: there are %d kernels%s%.80s: select one with 'kernel'", label, matching,
                      wanted ? " called " : "", wanted ? wanted : "");
        else
            error_set(err, ERROR_USAGE, "%s: there is no kernel '%.80s'", label, wanted);
        if (matching || !text_ends(label, ".cu"))
            error_hint(err, "there is %.400s", text_get(&all));
        else
            error_hint(err, "there is %.400s; name a __global__ template with its arguments: '%.80s<32, float>'", text_get(&all), wanted);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return found;
}

static bool find_kernel(struct emulation *e, struct error *err)
{
    const struct node *n = node_get(e->request->launch, "kernel");
    const char *wanted = e->request->kernel;
    if (!wanted && n && !(wanted = node_text(n, "kernel", err)))
        return false;
    SCOPED char *name = emulate_find_kernel(e->request->label, e->request->ptx, wanted, err);
    bool ok = name && emu_device.function(&e->dev, e->module, name, &e->function, err);
    if (ok)
        snprintf(e->out->kernel, sizeof e->out->kernel, "%s", name);
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
static void see_counter(void *context, const struct device_counter *counter, int line, double value)
{
    const char *name = counter->name;
    struct gather *g = context;
    struct emulate_result *r = g->out;
    if (line == 0) {
        *APPEND(r->counters, r->counter_count) = (struct emulate_counter){xstrdup(name), counter->unit, value};
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
    else if (!strncmp(name, "emu.global_sectors_ideal_", 25))
        c->sectors_ideal += value;
    else if (!strcmp(name, "emu.shared_wavefronts_ld") || !strcmp(name, "emu.shared_wavefronts_st"))
        c->wavefronts += value;
    else if (!strncmp(name, "emu.shared_wavefronts_ideal_", 28))
        c->ideal += value;
}

/* Finds the elements of which the launch wrote no byte: the contents of their memory are no result. */
static void find_unwritten(struct emulation *e)
{
    for (int i = 0; i < e->argument_buffers; i++) {
        struct buffer_wanted *b = &e->buffers[i];
        if (!b->none || emu_written(&e->dev, b->address, dtype_size(b->type, (size_t)b->count)))
            continue;
        b->unwritten = xcalloc((size_t)b->count, 1);
        for (int64_t k = 0; k < b->count; k++)
            b->unwritten[k] = !emu_written(&e->dev, b->address + dtype_offset(b->type, (size_t)k), dtype_bytes(b->type));
    }
}

static bool read_shown(struct emulation *e, struct error *err)
{
    struct emulate_result *r = e->out;
    for (int i = 0; i < e->buffer_count; i++) {
        const struct buffer_wanted *b = &e->buffers[i];
        if (!b->show)
            continue;
        struct emulate_values *v = APPEND(r->shown, r->shown_count);
        *v = (struct emulate_values){.type = b->type, .count = b->show, .values = xmalloc(dtype_size(b->type, (size_t)b->show))};
        snprintf(v->name, sizeof v->name, "%s", b->name);
        if (!emu_device.read(&e->dev, b->address, v->values, dtype_size(b->type, (size_t)b->show), err))
            return false;
        if (b->unwritten)
            v->unwritten = memcpy(xmalloc((size_t)b->show), b->unwritten, (size_t)b->show);
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
    if (count)
        memcpy(r->reports, reports, (size_t)count * sizeof *reports);
    r->note_count = emu_notes(&e->dev, &reports);
    r->notes = xcalloc((size_t)r->note_count + 1, sizeof *reports);
    if (r->note_count)
        memcpy(r->notes, reports, (size_t)r->note_count * sizeof *reports);
    struct gather g = {.out = r};
    emu_device.counters(&e->dev, see_counter, &g);
    const char *file = e->request->source ? e->request->source : emu_source_file(&e->dev);
    snprintf(r->source, sizeof r->source, "%s", file);
    find_unwritten(e);
    return read_shown(e, err) && (!r->finished || emulate_check(e, err));
}

bool emulate_right(const struct emulate_result *r)
{
    bool right = r->finished && !r->report_count;
    for (int i = 0; i < r->expectation_count; i++)
        right &= r->expectations[i].wrong == 0;
    return right;
}

/* The chip that runs it, and what its code was compiled for where that is another. */
static void name_device(struct emulation *e)
{
    char target[32];
    ptx_target(e->request->ptx, target);
    const struct chip *of = chip_find(target);
    bool other = *target && (!of || of->cc != e->dev.chip.cc);
    snprintf(e->out->device, sizeof e->out->device, "%s%s%s", e->dev.about, other ? " · PTX for " : "", other ? target : "");
}

bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err)
{
    SCOPED struct emulation *e = xcalloc(1, sizeof *e);
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
    name_device(e);
    emu_set_threads(&e->dev, request->threads);
    emu_set_seed(&e->dev, request->seed);
    ok = emulate_read_launch(e, err) && emu_device.load(&e->dev, &image, &e->module, err) && find_kernel(e, err) &&
         emulate_make_buffers(e, err) &&
         emulate_set_arguments(e, node_get(request->launch, "args"), request->launch, e->function, &e->launch, err) && run(e, err);
done:
    if (e->reference_module)
        emu_device.unload(&e->dev, e->reference_module);
    emu_device.unload(&e->dev, e->module);
    for (int i = 0; i < e->buffer_count; i++) {
        free(e->buffers[i].initial);
        free(e->buffers[i].unwritten);
    }
    if (opened)
        emu_device.close(&e->dev);
    free(e->params);
    if (!ok)
        emulate_free(out);
    return ok;
}

void emulate_free(struct emulate_result *r)
{
    for (int i = 0; i < r->shown_count; i++) {
        free(r->shown[i].values);
        free(r->shown[i].unwritten);
    }
    free(r->shown);
    for (int i = 0; i < r->counter_count; i++)
        free(r->counters[i].name);
    free(r->counters);
    free(r->expectations);
    for (int i = 0; i < r->tensor_count; i++) {
        free(r->tensors[i].before);
        free(r->tensors[i].expected);
        free(r->tensors[i].allowed);
    }
    free(r->tensors);
    free(r->lines);
    free(r->reports);
    free(r->notes);
    *r = (struct emulate_result){0};
}
