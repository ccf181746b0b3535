#include "measure/emulate/emulate.h"
#include "measure/emulate/parts.h"
#include "device/ptx/query.h"
#include "emu/device/emu.h"
#include <math.h>
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
        found = found && ALL_OF(i, length, part[i] == '?' ? at[i] >= 'a' && at[i] <= 'z' : part[i] == at[i]);
    }
    return found;
}

char *emulate_plain_name(const char *entry)
{
    unsigned length = 0;
    int used = 0;
    bool mangled = sscanf(entry, "_Z%u%n", &length, &used) == 1 && strlen(entry + used) >= length;
    return mangled ? xstrndup(entry + used, length) : xstrdup(entry);
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
    pointers_free(names, count);
    return found;
}

static bool find_kernel(struct emulation *e, struct error *err)
{
    const struct emulate_request *r = e->request;
    const struct node *n = node_get(r->launch, "kernel");
    const char *wanted = r->kernel;
    if (!wanted && n && !(wanted = node_text(n, "kernel", err)))
        return false;
    SCOPED char *name = emulate_find_kernel(r->label, r->ptx, wanted, err);
    struct device_image image = {.label = r->label, .path = r->source, .ptx = r->ptx, .ptx_bytes = r->ptx_bytes};
    struct device_module *module;
    struct error broken = {0};
    if (name)
        snprintf(e->kernel.program.steps[0].name, KERNEL_NAME, "%s", name);
    else if (emu_device.load(&e->dev, &image, &module, &broken))
        emu_device.unload(&e->dev, module);
    else if (err) /* a text that is no PTX has no kernel, either */
        *err = broken;
    return name != NULL;
}

/* ---- as every row runs: on a rig ---- */
bool emulate_open(struct emulation *e, struct launched *l, const char *label, const char *path, const char *ptx, size_t ptx_bytes,
                  struct error *err)
{
    static const struct device_memory unasked; /* of what one launch may leave behind there is no later launch */
    struct device_image image = {.label = label, .path = path, .ptx = ptx, .ptx_bytes = ptx_bytes, .memory = &unasked};
    struct unit *u = APPEND(l->program.units, l->program.unit_count);
    *u = (struct unit){.label = xstrdup(label)};
    if (!rig_open(&e->dev, NULL, &l->program, &image, false, &l->rig, err))
        return false;
    rig_time_limit(l->rig, e->time_limit_s);
    return true;
}

void emulate_close(struct launched *l)
{
    rig_close(l->rig);
    program_free(&l->program);
}

uint64_t emulate_address(const struct launched *l, int scratch)
{
    return rig_address(l->rig, (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = scratch});
}

/* ---- what came out ---- */
static struct emulate_line *emulate_line_of(struct emulate_result *r, int line)
{
    if (!r->line_count || r->lines[r->line_count - 1].line != line)
        *APPEND(r->lines, r->line_count) = (struct emulate_line){.line = line};
    return &r->lines[r->line_count - 1];
}

static void see_counter(void *context, const struct device_counter *counter, int line, double value)
{
    static const struct {
        const char *name;
        size_t sum; /* of a line: where it is added */
    } of_lines[] = {
        {"emu.warp_instructions", offsetof(struct emulate_line, instructions)},
        {"emu.thread_instructions", offsetof(struct emulate_line, threads)},
        {"emu.global_requests_ld", offsetof(struct emulate_line, requests)},
        {"emu.global_requests_st", offsetof(struct emulate_line, requests)},
        {"emu.global_requests_atomic", offsetof(struct emulate_line, requests)},
        {"emu.global_sectors_ld", offsetof(struct emulate_line, sectors)},
        {"emu.global_sectors_st", offsetof(struct emulate_line, sectors)},
        {"emu.global_sectors_atomic", offsetof(struct emulate_line, sectors)},
        {"emu.async_sectors", offsetof(struct emulate_line, sectors)},
        {"emu.global_sectors_ideal_ld", offsetof(struct emulate_line, sectors_ideal)},
        {"emu.global_sectors_ideal_st", offsetof(struct emulate_line, sectors_ideal)},
        {"emu.shared_wavefronts_ld", offsetof(struct emulate_line, wavefronts)},
        {"emu.shared_wavefronts_st", offsetof(struct emulate_line, wavefronts)},
        {"emu.shared_wavefronts_ideal_ld", offsetof(struct emulate_line, ideal)},
        {"emu.shared_wavefronts_ideal_st", offsetof(struct emulate_line, ideal)},
    };
    struct emulate_result *r = context;
    if (line == 0)
        *APPEND(r->counters, r->counter_count) = (struct emulate_counter){xstrdup(counter->name), counter->unit, value};
    for (size_t i = 0; line && i < sizeof of_lines / sizeof *of_lines; i++)
        if (!strcmp(counter->name, of_lines[i].name))
            *(double *)(void *)((char *)emulate_line_of(r, line) + of_lines[i].sum) += value;
}

/* Finds the elements of which the launch wrote no byte: the contents of their memory are no result. */
static void find_unwritten(struct emulation *e)
{
    for (int i = 0; i < e->argument_buffers; i++) {
        struct emulate_buffer *b = &e->buffers[i];
        if (!b->none || emu_written(&e->dev, b->address, dtype_size(b->type, (size_t)b->count)))
            continue;
        b->unwritten = xcalloc((size_t)b->count, 1);
        for (int64_t k = 0; k < b->count; k++)
            b->unwritten[k] = !emu_written(&e->dev, b->address + dtype_offset(b->type, (size_t)k), dtype_bytes(b->type));
    }
}

/* Reads what is to be shown or compared. */
static bool read_after(struct emulation *e, struct error *err)
{
    bool ok = true;
    for (int i = 0; ok && i < e->out->buffer_count; i++) {
        struct emulate_buffer *b = &e->buffers[i];
        bool whole = e->request->keep || node_get(b->node, "expect") || node_get(b->node, "save");
        size_t bytes = dtype_size(b->type, (size_t)(whole ? b->count : b->show));
        if (whole || b->show)
            ok = emu_device.read(&e->dev, b->address, b->after = xmalloc(bytes), bytes, err);
    }
    return ok;
}

static bool run(struct emulation *e, struct error *err)
{
    struct error failed = {0};
    struct emulate_result *r = e->out;
    emu_device.clear(&e->dev);
    r->finished = rig_run_step(e->kernel.rig, 0, &failed);
    const struct device_report *reports;
    int count = emu_device.reports(&e->dev, &reports);
    if (!r->finished && !count) { /* the launch itself was refused */
        if (err)
            *err = failed;
        return false;
    }
    snprintf(r->why, sizeof r->why, "%.*s", (int)sizeof r->why - 1, failed.text);
    for (int i = 0; i < count; i++)
        *APPEND(r->reports, r->report_count) = reports[i];
    for (int i = 0, notes = emu_notes(&e->dev, &reports); i < notes; i++)
        *APPEND(r->notes, r->note_count) = reports[i];
    emu_device.counters(&e->dev, see_counter, r);
    const char *file = e->request->source ? e->request->source : emu_source_file(&e->dev);
    snprintf(r->source, sizeof r->source, "%s", file);
    find_unwritten(e);
    return read_after(e, err) && (!r->finished || emulate_check(e, err));
}

bool emulate_right(const struct emulate_result *r)
{
    bool right = r->finished && !r->report_count;
    for (int i = 0; i < r->buffer_count; i++)
        right &= r->buffers[i].expect.wrong == 0;
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

/* A structure as a head lists it: an argument for each 8 bytes, a buffer or a whole number. */
static void add_structure(const struct emulation *e, const struct arg_struct *s, struct text *t)
{
    for (size_t at = 0; at < s->bytes.len; at += 8) {
        int64_t word = 0;
        const struct arg_pointer *p = FIRST_IN(s->pointers, i, s->pointer_count, s->pointers[i].at == at);
        memcpy(&word, s->bytes.data + at, s->bytes.len - at < 8 ? s->bytes.len - at : 8);
        text_add(t, at ? ", " : "");
        if (p)
            text_add(t, e->buffers[p->buffer.index].name);
        else
            text_addf(t, "%lld", (long long)word);
    }
}

/* The launch, and its arguments as a head writes them. */
static void note_launch(struct emulation *e)
{
    struct text t = {0};
    const struct program *p = &e->kernel.program;
    const struct step *step = &p->steps[0];
    bool plain = true;
    e->out->launch = *step;
    snprintf(e->out->kernel, sizeof e->out->kernel, "%s", step->name);
    for (int i = 0; i < step->arg_count; i++) {
        const struct arg *a = &step->args[i];
        plain &= a->kind != ARG_REAL || isfinite(a->d);
        text_add(&t, i ? ", " : "");
        if (a->kind == ARG_BUFFER)
            text_add(&t, a->name);
        else if (a->kind == ARG_TENSOR_MAP)
            text_addf(&t, "map_%d", a->map);
        else if (a->kind == ARG_STRUCT)
            add_structure(e, &p->structures[a->structure], &t);
        else if (a->kind == ARG_INT)
            text_addf(&t, "%lld", (long long)a->i);
        else
            text_addf(&t, a->d == floor(a->d) && fabs(a->d) < 1e15 ? "%.1f" : "%.17g", a->d);
    }
    for (int i = 0; i < p->tensor_map_count; i++)
        *APPEND(e->out->maps, e->out->map_count) = p->tensor_maps[i];
    e->out->arguments = plain ? text_take(&t) : NULL;
    text_free(&t);
}

bool emulate(const struct emulate_request *request, struct emulate_result *out, struct error *err)
{
    SCOPED struct emulation *e = xcalloc(1, sizeof *e);
    bool ok = false, opened = false;
    *out = (struct emulate_result){.buffers = xcalloc(EMULATE_BUFFERS_MAX, sizeof *out->buffers)};
    e->buffers = out->buffers;
    e->request = request;
    e->out = out;
    e->dev.ops = &emu_device;
    char spec[96];
    snprintf(spec, sizeof spec, "%.60s%s", request->chip ? request->chip : "GH100", request->no_check ? ",no-check" : "");
    if (!(opened = emu_device.open(&e->dev, spec, err)))
        goto done;
    name_device(e);
    emu_set_threads(&e->dev, request->threads);
    emu_set_seed(&e->dev, request->seed);
    ok = emulate_read_launch(e, err) && find_kernel(e, err) && emulate_read_buffers(e, err) &&
         emulate_add_arguments(e, &e->kernel, request->launch, err) &&
         emulate_open(e, &e->kernel, request->label, request->source, request->ptx, request->ptx_bytes, err) &&
         emulate_fill_buffers(e, err) && emulate_fill_symbols(e, &e->kernel, true, err);
    if (ok)
        note_launch(e);
    ok = ok && run(e, err);
done:
    emulate_close(&e->kernel);
    if (opened)
        emu_device.close(&e->dev);
    if (!ok)
        emulate_free(out);
    return ok;
}

void emulate_free(struct emulate_result *r)
{
    for (int i = 0; i < r->counter_count; i++)
        free(r->counters[i].name);
    free(r->counters);
    for (int i = 0; i < r->buffer_count; i++) {
        struct emulate_buffer *b = &r->buffers[i];
        FREE_ALL(b->name, b->unwritten, b->before, b->after, b->expected, b->allowed);
    }
    FREE_ALL(r->buffers, r->lines, r->reports, r->notes, r->arguments, r->maps);
    *r = (struct emulate_result){0};
}
