#include "device/emu/emulate.h"
#include "base/dtype.h"
#include "base/file.h"
#include "device/emu/emu.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS_MAX 64
#define COUNT_MAX ((int64_t)1 << 32)

struct buffer_wanted {
    const char *name;
    enum dtype type;
    int64_t count, show;
    uint64_t address;
};
struct emulation {
    const struct emulate_request *request;
    struct device dev;
    struct device_module *module;
    struct device_function *function;
    struct device_launch launch;
    struct buffer_wanted buffers[BUFFERS_MAX];
    int buffer_count;
    unsigned char *params;
    struct emulate_result *out;
};

/* ---- the launch ---- */
static bool three(const struct node *n, const char *what, int64_t max, uint32_t out[3], struct error *err)
{
    int64_t v;
    out[0] = out[1] = out[2] = 1;
    if (!n)
        return true;
    if (n->kind != NODE_LIST) {
        if (!node_int(n, what, 1, max, &v, err))
            return false;
        out[0] = (uint32_t)v;
        return true;
    }
    if (n->count < 1 || n->count > 3)
        return node_error(n, err, "%s has one to three numbers", what);
    for (int i = 0; i < n->count; i++) {
        if (!node_int(n->items[i], what, 1, max, &v, err))
            return false;
        out[i] = (uint32_t)v;
    }
    return true;
}

static bool read_launch(struct emulation *e, struct error *err)
{
    static const char *const keys[] = {"kernel", "grid", "block", "cluster", "cooperative", "smem", "time limit", "buffers", "args", NULL};
    const struct node *n = e->request->launch;
    int64_t smem = 0;
    double limit = 60;
    if (!node_check_keys(n, "a launch", keys, err))
        return false;
    if (!node_get(n, "grid") || !node_get(n, "block"))
        return node_error(n, err, "a launch needs 'grid' and 'block'");
    if (!three(node_get(n, "grid"), "grid", INT32_MAX, e->launch.grid, err) || !three(node_get(n, "block"), "block", 1024, e->launch.block, err) ||
        !three(node_get(n, "cluster"), "cluster", 16, e->launch.cluster, err))
        return false;
    if (node_get(n, "smem") && !node_int(node_get(n, "smem"), "smem", 0, 1 << 20, &smem, err))
        return false;
    if (node_get(n, "cooperative") && !node_bool(node_get(n, "cooperative"), "cooperative", &e->launch.cooperative, err))
        return false;
    if (node_get(n, "time limit") && !node_quantity(node_get(n, "time limit"), "time limit", "s", &limit, err))
        return false;
    e->launch.smem = (uint32_t)smem;
    e->launch.time_limit_s = limit;
    return true;
}

/* ---- buffers ---- */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(int64_t)(*state >> 11) * 0x1p-53;
}

static bool fill_list(const struct node *data, const struct buffer_wanted *b, void *host, struct error *err)
{
    for (int64_t i = 0; i < b->count; i++) { /* shorter lists repeat */
        double v;
        if (!node_real(data->items[i % data->count], "data", -1e300, 1e300, &v, err))
            return false;
        dtype_set(b->type, host, (size_t)i, v);
    }
    return true;
}

static bool fill_word(const struct node *data, const struct buffer_wanted *b, uint64_t seed, void *host, bool *none, struct error *err)
{
    static const char *const words[] = {"zeros", "ones", "index", "random", "none", NULL};
    int word = data ? node_word(data, "data", words, err) : 0;
    if (word < 0)
        return false;
    *none = word == 4;
    for (int64_t i = 0; i < b->count && word < 4; i++) {
        bool real = b->type == DTYPE_F32 || b->type == DTYPE_F16 || b->type == DTYPE_BF16 || b->type == DTYPE_F64;
        double v = word == 1 ? 1 : word == 2 ? (double)i : word == 3 ? (real ? 2 * next_random(&seed) - 1 : (double)(int)(next_random(&seed) * 100)) : 0;
        dtype_set(b->type, host, (size_t)i, v);
    }
    return true;
}

static bool make_buffer(struct emulation *e, const char *name, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"type", "count", "data", "seed", "show", NULL};
    struct buffer_wanted *b = &e->buffers[e->buffer_count];
    int64_t seed = 1;
    if (!node_check_keys(n, "a buffer", keys, err))
        return false;
    if (!node_get(n, "count"))
        return node_error(n, err, "buffer '%s' needs a 'count'", name);
    *b = (struct buffer_wanted){.name = name, .type = DTYPE_F32};
    if (node_get(n, "type")) {
        int t = node_word(node_get(n, "type"), "type", dtype_names, err);
        if (t < 0)
            return false;
        b->type = dtype_parse(dtype_names[t]);
    }
    if (!node_int(node_get(n, "count"), "count", 1, COUNT_MAX, &b->count, err))
        return false;
    if (node_get(n, "seed") && !node_int(node_get(n, "seed"), "seed", 0, INT64_MAX, &seed, err))
        return false;
    if (node_get(n, "show") && !node_int(node_get(n, "show"), "show", 0, b->count, &b->show, err))
        return false;
    const struct node *data = node_get(n, "data");
    size_t bytes = (size_t)b->count * dtype_bytes(b->type);
    void *host = calloc(1, bytes);
    bool none = false, ok = false;
    if (!host) {
        error_set(err, ERROR_ENVIRONMENT, "no memory for %zu bytes of '%s'", bytes, name);
    } else if (data && data->kind == NODE_LIST && data->count > 0 ? fill_list(data, b, host, err) : fill_word(data, b, (uint64_t)seed, host, &none, err)) {
        ok = emu_device.alloc(&e->dev, name, bytes, &b->address, err) && (none || emu_device.write(&e->dev, b->address, host, bytes, err));
    }
    free(host);
    e->buffer_count += ok;
    return ok;
}

static bool make_buffers(struct emulation *e, struct error *err)
{
    const struct node *n = node_get(e->request->launch, "buffers");
    if (!n)
        return true;
    if (n->kind != NODE_MAP || n->count > BUFFERS_MAX)
        return node_error(n, err, "'buffers' is a map of at most %d", BUFFERS_MAX);
    for (int i = 0; i < n->count; i++)
        if (!make_buffer(e, n->keys[i]->text, n->items[i], err))
            return false;
    return true;
}

/* ---- arguments ---- */
static bool set_argument(struct emulation *e, const struct node *n, const struct param *p, int index, struct error *err)
{
    char what[40];
    snprintf(what, sizeof what, "argument %d", index + 1);
    if (n->kind == NODE_SCALAR)
        for (int i = 0; i < e->buffer_count; i++)
            if (!strcmp(e->buffers[i].name, n->text)) {
                if (p->bytes != 8 || p->kind != PARAM_INT)
                    return node_error(n, err, "argument %d is a buffer, but the kernel takes %u bytes that are no pointer", index + 1, p->bytes);
                memcpy(e->params + p->offset, &e->buffers[i].address, 8);
                return true;
            }
    if (p->kind == PARAM_FLOAT) {
        double v;
        if (!node_real(n, what, -1.7e308, 1.7e308, &v, err))
            return false;
        float f = (float)v;
        memcpy(e->params + p->offset, p->bytes == 8 ? (const void *)&v : &f, p->bytes == 8 ? 8 : 4);
        return true;
    }
    if (p->kind != PARAM_INT || p->bytes > 8)
        return node_error(n, err, "argument %d is a structure of %u bytes, which cannot be given here", index + 1, p->bytes);
    int64_t v;
    if (!node_int(n, what, INT64_MIN, INT64_MAX, &v, err))
        return false;
    memcpy(e->params + p->offset, &v, p->bytes);
    return true;
}

static bool set_arguments(struct emulation *e, struct error *err)
{
    const struct node *n = node_get(e->request->launch, "args");
    const struct param *params;
    size_t bytes;
    int count = emu_device.signature(&e->dev, e->function, &params, &bytes), given = n && n->kind == NODE_LIST ? n->count : 0;
    if (n && n->kind != NODE_LIST && n->kind != NODE_NULL)
        return node_error(n, err, "'args' is a list");
    if (given != count)
        return node_error(n ? n : e->request->launch, err, "the kernel takes %d arguments, 'args' has %d", count, given);
    e->params = calloc(1, bytes + 8);
    for (int i = 0; i < count; i++)
        if (!set_argument(e, n->items[i], &params[i], i, err))
            return false;
    e->launch.params = e->params;
    e->launch.param_bytes = bytes;
    return true;
}

static bool find_kernel(struct emulation *e, struct error *err)
{
    const struct node *n = node_get(e->request->launch, "kernel");
    char **names = NULL, *name = NULL;
    int count = n ? 0 : device_ptx_entries(e->request->ptx, &names);
    bool ok = false;
    if (n) {
        const char *text = node_text(n, "kernel", err);
        name = text ? xstrdup(text) : NULL;
    } else if (count == 1) {
        name = xstrdup(names[0]);
    } else {
        node_error(e->request->launch, err, count ? "there are %d kernels: say which with 'kernel'" : "there is no kernel in the PTX", count);
    }
    if (name)
        ok = emu_device.function(&e->dev, e->module, name, &e->function, err);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    free(name);
    return ok;
}

/* ---- what came out ---- */
struct line_cost {
    int line;
    double instructions, threads, requests, sectors, wavefronts, ideal;
};
struct gather {
    struct emulate_result *out;
    struct line_cost *lines;
    int count, room;
    double all;
};

static void see_counter(void *context, const char *name, const char *unit, int line, double value)
{
    struct gather *g = context;
    if (line == 0) {
        if (value != 0)
            text_addf(&g->out->counters, "%-34s %16.0f %s\n", name, value, unit);
        if (!strcmp(name, "emu.warp_instructions"))
            g->all = value;
        return;
    }
    if (!g->count || g->lines[g->count - 1].line != line) {
        if (g->count == g->room) {
            g->room = g->room ? g->room * 2 : 64;
            g->lines = xrealloc(g->lines, (size_t)g->room * sizeof *g->lines);
        }
        g->lines[g->count++] = (struct line_cost){.line = line};
    }
    struct line_cost *c = &g->lines[g->count - 1];
    if (!strcmp(name, "emu.warp_instructions"))
        c->instructions = value;
    else if (!strcmp(name, "emu.thread_instructions"))
        c->threads = value;
    else if (!strncmp(name, "emu.global_requests_", 20))
        c->requests += value;
    else if (!strcmp(name, "emu.global_sectors_ld") || !strcmp(name, "emu.global_sectors_st") || !strcmp(name, "emu.global_sectors_atomic"))
        c->sectors += value;
    else if (!strcmp(name, "emu.shared_wavefronts_ld") || !strcmp(name, "emu.shared_wavefronts_st"))
        c->wavefronts += value;
    else if (!strncmp(name, "emu.shared_wavefronts_ideal_", 28))
        c->ideal += value;
}

static void number(struct text *t, double v, int width)
{
    if (v > 0)
        text_addf(t, " %*.0f", width, v);
    else
        text_addf(t, " %*s", width, "");
}

/* Every line of the source that ran; `>` marks the dearest. */
static void write_listing(const struct gather *g, const char *source, struct text *t)
{
    char *text = source ? file_read(source, 64u << 20, NULL, NULL) : NULL;
    const char *at = text;
    int line = 1;
    double most = 0;
    for (int i = 0; i < g->count; i++)
        most = g->lines[i].instructions > most ? g->lines[i].instructions : most;
    text_add(t, "   line  warp instr      %  lanes  requests   sectors  wavefronts   ideal  source\n");
    for (int i = 0; i < g->count; i++) {
        const struct line_cost *c = &g->lines[i];
        text_addf(t, "%c %5d  %10.0f  %5.1f  %5.1f", c->instructions == most ? '>' : ' ', c->line, c->instructions, g->all > 0 ? 100 * c->instructions / g->all : 0,
                  c->instructions > 0 ? c->threads / c->instructions : 0);
        number(t, c->requests, 9);
        number(t, c->sectors, 9);
        number(t, c->wavefronts, 11);
        number(t, c->ideal, 7);
        while (at && *at && line < c->line)
            line += *at++ == '\n';
        if (at && line == c->line) {
            text_add(t, "  ");
            text_add_bytes(t, at, strcspn(at, "\r\n"));
        }
        text_add(t, "\n");
    }
    free(text);
}

static bool write_buffers(struct emulation *e, struct error *err)
{
    for (int i = 0; i < e->buffer_count; i++) {
        const struct buffer_wanted *b = &e->buffers[i];
        if (!b->show)
            continue;
        void *host = xmalloc((size_t)b->show * dtype_bytes(b->type));
        bool ok = emu_device.read(&e->dev, b->address, host, (size_t)b->show * dtype_bytes(b->type), err);
        text_addf(&e->out->shown, "%s:", b->name);
        for (int64_t k = 0; ok && k < b->show; k++)
            text_addf(&e->out->shown, " %g", dtype_get(b->type, host, (size_t)k));
        text_add(&e->out->shown, "\n");
        free(host);
        if (!ok)
            return false;
    }
    return true;
}

static bool run(struct emulation *e, struct error *err)
{
    struct error failed = {0};
    emu_device.clear(&e->dev);
    e->out->finished = emu_device.launch(&e->dev, e->function, &e->launch, &failed);
    const struct device_report *reports;
    e->out->report_count = emu_device.reports(&e->dev, &reports);
    if (!e->out->finished && !e->out->report_count) { /* the launch itself was refused */
        if (err)
            *err = failed;
        return false;
    }
    snprintf(e->out->why, sizeof e->out->why, "%.*s", (int)sizeof e->out->why - 1, failed.text);
    for (int i = 0; i < e->out->report_count; i++)
        text_addf(&e->out->reports, "%s%s%s: %s  (%" PRIu64 " times)\n", reports[i].file, reports[i].file[0] ? ": " : "", reports[i].kind, reports[i].text, reports[i].count);
    struct gather g = {.out = e->out};
    emu_device.counters(&e->dev, see_counter, &g);
    write_listing(&g, e->request->source, &e->out->listing);
    free(g.lines);
    return write_buffers(e, err);
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
    if (!(opened = emu_device.open(&e->dev, request->chip ? request->chip : "", err)))
        goto done;
    emu_set_threads(&e->dev, request->threads);
    emu_set_checks(&e->dev, !request->no_check);
    ok = read_launch(e, err) && emu_device.load(&e->dev, &image, &e->module, err) && find_kernel(e, err) && make_buffers(e, err) && set_arguments(e, err) && run(e, err);
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
    text_free(&r->counters);
    text_free(&r->reports);
    text_free(&r->listing);
    text_free(&r->shown);
}
