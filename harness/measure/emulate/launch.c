/* measure/emulate/launch: from the YAML of a launch to a program, as a head and an op become one. */
#include "base/dtype.h"
#include "base/file.h"
#include "base/npy.h"
#include "emu/device/emu.h"
#include "measure/emulate/parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX ((int64_t)1 << 32)

/* ---- the launch ---- */
static bool three(const struct emulation *e, const struct node *n, const char *what, int64_t max, uint32_t out[3], struct error *err)
{
    int count = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    int64_t v;
    out[0] = out[1] = out[2] = 1;
    if (n && (count < 1 || count > 3))
        return node_error(n, err, "%s must have one to three numbers", what);
    for (int i = 0; i < count; i++) {
        if (!emulate_int(e, n->kind == NODE_LIST ? n->items[i] : n, what, 1, max, &v, err))
            return false;
        out[i] = (uint32_t)v;
    }
    return true;
}

bool emulate_read_launch(struct emulation *e, struct error *err)
{
    static const char *const keys[] = {"kernel",  "grid",    "block", "cluster", "cooperative", "smem", "time limit",
                                       "buffers", "symbols", "args",  "fields",  "reference",   NULL};
    const struct node *n = e->request->launch;
    double limit = 60;
    int64_t smem = 0;
    if (!node_check_keys(n, "a launch", keys, err) || !emulate_read_fields(e, err))
        return false;
    if (!node_get(n, "grid") || !node_get(n, "block"))
        return node_error(n, err, "a launch needs 'grid' and 'block'");
    struct step *step = program_add_step(&e->kernel.program, STEP_KERNEL, false);
    step->file = n->file, step->line = n->line, step->column = n->column;
    if (!three(e, node_get(n, "grid"), "grid", INT32_MAX, step->grid, err) ||
        !three(e, node_get(n, "block"), "block", 1024, step->block, err) ||
        !three(e, node_get(n, "cluster"), "cluster", 16, step->cluster, err))
        return false;
    if (node_get(n, "smem") && !emulate_int(e, node_get(n, "smem"), "smem", 0, 1 << 20, &smem, err))
        return false;
    if (node_get(n, "cooperative") && !node_bool(node_get(n, "cooperative"), "cooperative", &step->cooperative, err))
        return false;
    if (node_get(n, "time limit") && !node_quantity(node_get(n, "time limit"), "time limit", "s", &limit, err))
        return false;
    limit = e->request->time_limit_s > 0 ? e->request->time_limit_s : limit;
    if (!(limit > 0 && limit < 1e6))
        return node_error(node_get(n, "time limit"), err, "a time limit must be more than 0 s and less than 1e6 s");
    step->smem = (uint32_t)smem;
    e->time_limit_s = limit;
    return true;
}

/* ---- buffers ---- */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(int64_t)(*state >> 11) * 0x1p-53;
}

bool emulate_holds(enum dtype t, double v)
{
    return dtype_is_whole(t) ? v == floor(v) && dtype_holds(t, v) : isnan(v) || dtype_holds(t, v);
}

static bool is_npy(const struct node *n)
{
    return n && n->kind == NODE_SCALAR && text_ends(n->text, ".npy");
}

bool emulate_read_numbers(struct emulation *e, const struct emulate_buffer *b, const struct node *n, const char *what, struct npy *out,
                          struct error *err)
{
    bool list = n->kind == NODE_LIST && n->count > 0;
    SCOPED char *path = is_npy(n) ? file_beside(e->request->launch->file, n->text) : NULL;
    if (path && !npy_read(path, out, err))
        return node_error(n, err, "%s", err->text);
    if (path)
        return (int64_t)out->count == b->count ||
               node_error(n, err, "%s has %zu elements, '%s' has %lld", n->text, out->count, b->name, (long long)b->count);
    if (!list && n->kind != NODE_SCALAR)
        return node_error(n, err, "%s: a number, a list or an .npy is expected", what);
    out->value = xcalloc((size_t)b->count, sizeof *out->value);
    for (int64_t i = 0, given = list ? n->count : 1; i < b->count; i++) { /* shorter lists repeat */
        const struct node *item = list ? n->items[i % given] : n;
        if (i >= given)
            out->value[i] = out->value[i % given];
        else if (!emulate_real(e, item, what, &out->value[i], err))
            return false;
        else if (!dtype_is_whole(b->type) && !emulate_holds(b->type, out->value[i]))
            return node_error(item, err, "%s: %s cannot hold %.40s", what, dtype_name(b->type), item->text);
    }
    return true;
}

/* A list that repeats, or an array, whose numbers the type holds. */
static bool fill_numbers(struct emulation *e, const struct node *data, const struct emulate_buffer *b, void *host, struct error *err)
{
    SCOPED_BY(npy_free) struct npy of = {0};
    const uint64_t *bits = NULL;
    bool ok = emulate_read_numbers(e, b, data, "data", &of, err);
    if (b->type == DTYPE_I64 || b->type == DTYPE_U64)
        bits = of.bits;
    for (int64_t i = 0; ok && i < b->count; i++) {
        const struct node *at = data->kind == NODE_LIST ? data->items[i % data->count] : data;
        ok = bits ? of.natural == (b->type == DTYPE_U64) || !(bits[i] >> 63) : emulate_holds(b->type, of.value[i]);
        if (!ok && data->kind == NODE_LIST)
            node_error(at, err, "data: %s cannot hold %.40s", dtype_name(b->type), at->text);
        else if (!ok)
            node_error(at, err, "%s: element %lld is %.9g, which %s cannot hold", at->text, (long long)i, of.value[i], dtype_name(b->type));
        else if (bits)
            ((uint64_t *)host)[i] = bits[i];
        else
            dtype_set(b->type, host, (size_t)i, of.value[i]);
    }
    return ok;
}

static bool fill_word(const struct node *data, struct emulate_buffer *b, uint64_t seed, void *host, struct error *err)
{
    static const char *const words[] = {"zeros", "ones", "index", "random", "none", NULL};
    int word = data ? node_word(data, "data", words, err) : 0;
    if (word < 0)
        return false;
    b->none = word == 4;
    bool real = !dtype_is_whole(b->type);
    for (int64_t i = 0; i < b->count && word < 4; i++) {
        double v = word == 1   ? 1
                   : word == 2 ? (double)i
                   : word == 3 ? (real ? 2 * next_random(&seed) - 1 : (double)(int)(next_random(&seed) * 100))
                               : 0;
        dtype_set(b->type, host, (size_t)i, v);
    }
    return true;
}

/* Writes the initial bytes of a buffer, as its key `data` describes them, and returns them; with `none` it writes nothing. NULL: err. */
static void *fill(struct emulation *e, const struct node *n, struct emulate_buffer *b, struct error *err)
{
    const struct node *data = node_get(n, "data");
    int64_t seed = 1;
    if (node_get(n, "seed") && !node_int(node_get(n, "seed"), "seed", 0, INT64_MAX, &seed, err))
        return NULL;
    size_t bytes = dtype_size(b->type, (size_t)b->count);
    void *host = calloc(1, bytes);
    if (!host) {
        error_set(err, ERROR_ENVIRONMENT, "no memory for %zu bytes of '%s'", bytes, b->name);
        return NULL;
    }
    bool numbers = is_npy(data) || (data && data->kind == NODE_LIST && data->count > 0);
    if ((numbers ? fill_numbers(e, data, b, host, err) : fill_word(data, b, (uint64_t)seed, host, err)) &&
        (b->none || emu_device.write(&e->dev, b->address, host, bytes, err)))
        return host;
    free(host);
    return NULL;
}

static bool read_type(const struct node *n, struct emulate_buffer *b, struct error *err)
{
    b->type = DTYPE_F32;
    if (!node_get(n, "type"))
        return true;
    int t = node_word(node_get(n, "type"), "type", dtype_names, err);
    if (t < 0)
        return false;
    b->type = dtype_parse(dtype_names[t]);
    return true;
}

/* `count:`, `shape:` (expressions of the fields), or as many as `data:` has. */
static bool read_count(struct emulation *e, const struct node *n, struct emulate_buffer *b, struct error *err)
{
    const struct node *data = node_get(n, "data"), *shape = node_get(n, "shape"), *count = node_get(n, "count");
    struct npy a;
    b->count = data && data->kind == NODE_LIST ? data->count : 0;
    if (shape && (count || shape->kind != NODE_LIST || shape->count < 1 || shape->count > EMULATE_RANK_MAX))
        return node_error(shape, err,
                          count ? "buffer '%s' must have either a 'count' or a 'shape'" : "'shape' must be a list of 1 to 8 numbers",
                          b->name);
    for (int i = 0; shape && i < shape->count; i++) {
        if (!emulate_int(e, shape->items[i], "shape", 1, COUNT_MAX, &b->dim[i], err))
            return false;
        b->count = i ? b->count * b->dim[i] : b->dim[i];
        b->rank = i + 1;
        if (b->count > COUNT_MAX)
            return node_error(shape, err, "buffer '%s' has more than %lld elements", b->name, (long long)COUNT_MAX);
    }
    if (!shape && !count && is_npy(data)) {
        SCOPED char *path = file_beside(e->request->launch->file, data->text);
        bool ok = npy_read(path, &a, err) || node_error(data, err, "%s", err->text);
        if (!ok)
            return false;
        b->count = (int64_t)a.count;
        b->rank = a.rank;
        memcpy(b->dim, a.dim, sizeof b->dim);
        npy_free(&a);
    }
    if (!shape && !count && !b->count)
        return node_error(n, err, "buffer '%s' needs a 'count' or a 'shape'", b->name);
    if (count && !emulate_int(e, count, "count", 1, COUNT_MAX, &b->count, err))
        return false;
    if (!b->rank)
        b->rank = 1, b->dim[0] = b->count;
    return true;
}

static bool read_buffer(struct emulation *e, const char *name, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"type", "count", "shape", "data", "seed", "show", "save", "expect", "tolerance", NULL};
    struct emulate_buffer *b = &e->buffers[e->out->buffer_count++];
    *b = (struct emulate_buffer){.name = xstrdup(name), .node = n};
    if (!node_check_keys(n, "a buffer", keys, err) || !read_type(n, b, err) || !read_count(e, n, b, err))
        return false;
    program_add_scratch(&e->kernel.program, name, b->type, b->count);
    return !node_get(n, "show") || node_int(node_get(n, "show"), "show", 0, b->count, &b->show, err);
}

/* The items of the map `key` of the launch; *ok false: it is no map, or too many. */
static const struct node *buffer_map(struct emulation *e, const char *key, bool *ok, struct error *err)
{
    const struct node *n = node_get(e->request->launch, key);
    if (!n || n->kind == NODE_NULL)
        return NULL;
    if (n->kind != NODE_MAP || n->count + e->argument_buffers > EMULATE_BUFFERS_MAX)
        *ok = node_error(n, err, "'%s' is a map of at most %d", key, EMULATE_BUFFERS_MAX - e->argument_buffers);
    return n;
}

bool emulate_read_buffers(struct emulation *e, struct error *err)
{
    bool ok = true;
    const struct node *n = buffer_map(e, "buffers", &ok, err);
    for (int i = 0; ok && n && i < n->count; i++)
        ok = read_buffer(e, n->keys[i]->text, n->items[i], err);
    e->argument_buffers = e->out->buffer_count;
    return ok;
}

bool emulate_fill_buffers(struct emulation *e, struct error *err)
{
    bool ok = true, kept = e->request->keep || node_get(e->request->launch, "reference");
    for (int i = 0; ok && i < e->argument_buffers; i++) {
        struct emulate_buffer *b = &e->buffers[i];
        b->address = emulate_address(&e->kernel, i);
        void *host = fill(e, b->node, b, err);
        ok = host;
        b->before = kept ? host : NULL;
        if (!kept)
            free(host);
    }
    return ok;
}

/* A __constant__ or __device__ variable: as many elements as it has. */
static bool fill_symbol(struct emulation *e, struct launched *l, const char *name, const struct node *n, struct emulate_buffer *b,
                        struct error *err)
{
    static const char *const keys[] = {"type", "data", "seed", "show", NULL};
    size_t bytes;
    *b = (struct emulate_buffer){.name = (char *)(uintptr_t)name};
    if (!node_check_keys(n, "a symbol", keys, err) || !read_type(n, b, err))
        return false;
    if (!rig_symbol(l->rig, name, &b->address, &bytes, err))
        return node_error(n, err, "there is no __constant__ or __device__ variable '%s'", name);
    b->count = (int64_t)(bytes / dtype_bytes(b->type) * (1 + dtype_inside(b->type, 1)));
    if (!b->count)
        return node_error(n, err, "variable '%s' has %zu bytes, less than one %s", name, bytes, dtype_name(b->type));
    b->rank = 1, b->dim[0] = b->count;
    if (node_get(n, "show") && !node_int(node_get(n, "show"), "show", 0, b->count, &b->show, err))
        return false;
    if (!node_get(n, "data"))
        return true;
    SCOPED void *host = fill(e, n, b, err);
    return host;
}

bool emulate_fill_symbols(struct emulation *e, struct launched *l, bool add, struct error *err)
{
    bool ok = true;
    const struct node *n = buffer_map(e, "symbols", &ok, err);
    for (int i = 0; ok && n && i < n->count; i++) {
        struct emulate_buffer b;
        ok = fill_symbol(e, l, n->keys[i]->text, n->items[i], &b, err);
        if (ok && add) {
            e->buffers[e->out->buffer_count] = b;
            e->buffers[e->out->buffer_count++].name = xstrdup(b.name);
        }
    }
    return ok;
}

/* ---- arguments ---- */
/* Is `name` NAME_magnitude of a buffer whose values the reference computes? */
static bool is_magnitude(const struct emulate_buffer *b, const char *name)
{
    size_t length = strlen(b->name);
    return emulate_expects_reference(b) && !strncmp(name, b->name, length) && !strcmp(name + length, "_magnitude");
}

/* The scratch buffer that an argument names, -1: none. A reference may also name magnitudes: their buffers are made when it does. */
static int named_scratch(const struct emulation *e, struct launched *l, const char *name)
{
    for (int i = 0; i < e->argument_buffers; i++)
        if (!strcmp(e->buffers[i].name, name))
            return i;
    for (int i = 0; l != &e->kernel && i < e->argument_buffers; i++) {
        if (!is_magnitude(&e->buffers[i], name))
            continue;
        for (int k = 0; k < l->magnitude_count; k++)
            if (l->magnitudes[k] == i)
                return e->argument_buffers + k;
        if (l->magnitude_count == EMULATE_BUFFERS_MAX)
            return -1;
        l->magnitudes[l->magnitude_count++] = i;
        return program_add_scratch(&l->program, name, DTYPE_F64, e->buffers[i].count);
    }
    return -1;
}

/* "i32 3", "f32 0.5", 3 (an i32), 0.5 (an f32), a field: its bytes and how many they are. */
static bool field_bytes(const struct emulation *e, const struct node *n, int index, unsigned char out[8], size_t *bytes, struct error *err)
{
    const char *text = n->kind == NODE_SCALAR ? n->text : "", *space = strchr(text, ' '), *number = space ? space + 1 : text;
    char word[8] = "";
    snprintf(word, sizeof word, "%.*s", space ? (int)(space - text) : 0, text);
    bool wide = !strcmp(word, "i64") || !strcmp(word, "u64"), half = !strcmp(word, "i16");
    struct node at = *n;
    struct value value;
    at.text = (char *)(uintptr_t)number;
    at.quoted = false;
    bool known = *number && emulate_value(e, &at, "a field", &value, NULL) && (!wide || value.kind == VALUE_INT);
    enum dtype type = wide ? DTYPE_NONE : half ? DTYPE_U16 : space ? dtype_parse(word) : value.kind == VALUE_INT ? DTYPE_I32 : DTYPE_F32;
    if (!known || (!wide && type == DTYPE_NONE))
        return node_error(n, err, "a field of argument %d must be a buffer, a number or a type and a number ('i32 3'), not '%.40s'",
                          index + 1, text);
    double v = value_number(&value);
    if (half) /* the same bits; -1: none */
        v = v < -32768 || v >= 32768 ? -1 : v < 0 ? v + 65536 : v;
    if (!wide && !emulate_holds(type, v))
        return node_error(n, err, "a field of argument %d: %s cannot hold %.40s", index + 1, dtype_name(type), number);
    *bytes = wide ? 8 : dtype_bytes(type);
    if (wide)
        memcpy(out, &value.i, 8);
    else
        dtype_set(type, out, 0, v);
    return true;
}

/* Each field at the next place that is aligned for it. */
static bool read_structure(struct emulation *e, struct launched *l, const struct node *n, int index, struct arg *out, struct error *err)
{
    out->kind = ARG_STRUCT;
    out->structure = l->program.structure_count;
    struct arg_struct *s = APPEND(l->program.structures, l->program.structure_count);
    *s = (struct arg_struct){0};
    for (int i = 0; i < n->count; i++) {
        unsigned char value[8] = {0};
        size_t bytes = 8;
        int scratch = n->items[i]->kind == NODE_SCALAR ? named_scratch(e, l, n->items[i]->text) : -1;
        if (scratch < 0 && !field_bytes(e, n->items[i], index, value, &bytes, err))
            return false;
        while (s->bytes.len % bytes)
            text_add_bytes(&s->bytes, "", 1);
        if (scratch >= 0)
            *APPEND(s->pointers, s->pointer_count) = (struct arg_pointer){s->bytes.len, {.kind = BUFFER_SCRATCH, .index = scratch}};
        text_add_bytes(&s->bytes, value, bytes);
    }
    return true;
}

static bool numbers(const struct emulation *e, const struct node *m, const char *key, int count, int64_t max, int64_t *out,
                    struct error *err)
{
    const struct node *n = node_get(m, key);
    if (!n || n->kind != NODE_LIST || n->count != count)
        return node_error(n ? n : m, err, "a tensor map needs '%s', a list of %d", key, count);
    return ALL_OF(i, count, emulate_int(e, n->items[i], key, 1, max, &out[i], err));
}

/* {tensor map: x, dims: [64, 64], box: [32, 8], strides: [256], swizzle: 128}: the innermost dimension first, strides in bytes of all but
 * it. */
static bool read_tensor_map(struct emulation *e, struct launched *l, const struct node *n, int index, struct arg *out, struct error *err)
{
    static const char *const keys[] = {"tensor map", "dims", "box", "strides", "swizzle", NULL};
    if (!node_check_keys(n, "a tensor map", keys, err))
        return false;
    const char *name = node_get(n, "tensor map") ? node_text(node_get(n, "tensor map"), "tensor map", err) : NULL;
    int scratch = name ? named_scratch(e, l, name) : -1;
    const struct node *dims = node_get(n, "dims");
    if (scratch < 0)
        return node_error(n, err, "argument %d needs 'tensor map', the name of a buffer", index + 1);
    if (!dims || dims->kind != NODE_LIST || dims->count < 1 || dims->count > 5)
        return node_error(n, err, "a tensor map needs 'dims', a list of 1 to 5");
    struct tensor_map map = {
        .buffer = {.kind = BUFFER_SCRATCH, .index = scratch}, .dtype = l->program.scratch[scratch].dtype, .rank = dims->count};
    int64_t size[5], box[5], stride[5], swizzle = 0, bytes = (int64_t)dtype_bytes(map.dtype);
    if (!numbers(e, n, "dims", map.rank, COUNT_MAX, size, err) || !numbers(e, n, "box", map.rank, 256, box, err) ||
        (node_get(n, "strides") && !numbers(e, n, "strides", map.rank - 1, (int64_t)1 << 40, stride, err)) ||
        (node_get(n, "swizzle") && !node_int(node_get(n, "swizzle"), "swizzle", 0, 128, &swizzle, err)))
        return false;
    for (int i = 0; i < map.rank; i++) {
        map.dim[i] = (uint64_t)size[i];
        map.box[i] = (uint32_t)box[i];
        map.element_stride[i] = 1;
        map.stride_bytes[i] = i == 0 ? 0 : node_get(n, "strides") ? (uint64_t)stride[i - 1] : (uint64_t)bytes;
        bytes = bytes > (int64_t)1 << 40 ? bytes : bytes * size[i];
    }
    map.swizzle = (int)swizzle;
    out->kind = ARG_TENSOR_MAP;
    out->map = l->program.tensor_map_count;
    *APPEND(l->program.tensor_maps, l->program.tensor_map_count) = map;
    return true;
}

static bool read_argument(struct emulation *e, struct launched *l, const struct node *n, int index, struct arg *out, struct error *err)
{
    *out = (struct arg){.line = n->line, .column = n->column};
    snprintf(out->name, sizeof out->name, "%d", index + 1);
    if (n->kind == NODE_LIST)
        return read_structure(e, l, n, index, out, err);
    if (n->kind == NODE_MAP)
        return read_tensor_map(e, l, n, index, out, err);
    int scratch = n->kind == NODE_SCALAR ? named_scratch(e, l, n->text) : -1;
    if (n->kind == NODE_SCALAR)
        snprintf(out->name, sizeof out->name, "%.80s", n->text);
    if (scratch >= 0) {
        out->kind = ARG_BUFFER;
        out->buffer = (struct buffer_ref){.kind = BUFFER_SCRATCH, .index = scratch};
        return true;
    }
    struct value v;
    char what[40];
    snprintf(what, sizeof what, "argument %d", index + 1);
    if (!emulate_value(e, n, what, &v, err))
        return false;
    out->kind = v.kind == VALUE_INT ? ARG_INT : ARG_REAL;
    out->i = v.i;
    out->d = v.d;
    return true;
}

bool emulate_add_arguments(struct emulation *e, struct launched *l, const struct node *at, struct error *err)
{
    const struct node *args = node_get(at, "args");
    struct step *step = &l->program.steps[0];
    if (!args || args->kind == NODE_NULL)
        return true;
    if (args->kind != NODE_LIST || args->count > STEP_MAX_ARGS)
        return node_error(args, err, "'args' is a list of at most %d", STEP_MAX_ARGS);
    for (int i = 0; i < args->count; i++)
        if (!read_argument(e, l, args->items[i], i, &step->args[step->arg_count++], err))
            return false;
    return true;
}
