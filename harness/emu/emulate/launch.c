/* emu/emulate/launch: from the YAML of a launch to buffers, symbols and packed parameters. */
#include "base/dtype.h"
#include "base/npy.h"
#include "emu/emulate/parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX ((int64_t)1 << 32)

/* ---- the launch ---- */
static bool three(const struct emulation *e, const struct node *n, const char *what, int64_t max, uint32_t out[3], struct error *err)
{
    int64_t v;
    out[0] = out[1] = out[2] = 1;
    if (!n)
        return true;
    if (n->kind != NODE_LIST) {
        if (!emulate_int(e, n, what, 1, max, &v, err))
            return false;
        out[0] = (uint32_t)v;
        return true;
    }
    if (n->count < 1 || n->count > 3)
        return node_error(n, err, "%s must have one to three numbers", what);
    for (int i = 0; i < n->count; i++) {
        if (!emulate_int(e, n->items[i], what, 1, max, &v, err))
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
    int64_t smem = 0;
    double limit = 60;
    if (!node_check_keys(n, "a launch", keys, err) || !emulate_read_fields(e, err))
        return false;
    if (!node_get(n, "grid") || !node_get(n, "block"))
        return node_error(n, err, "a launch needs 'grid' and 'block'");
    if (!three(e, node_get(n, "grid"), "grid", INT32_MAX, e->launch.grid, err) ||
        !three(e, node_get(n, "block"), "block", 1024, e->launch.block, err) ||
        !three(e, node_get(n, "cluster"), "cluster", 16, e->launch.cluster, err))
        return false;
    if (node_get(n, "smem") && !emulate_int(e, node_get(n, "smem"), "smem", 0, 1 << 20, &smem, err))
        return false;
    if (node_get(n, "cooperative") && !node_bool(node_get(n, "cooperative"), "cooperative", &e->launch.cooperative, err))
        return false;
    if (node_get(n, "time limit") && !node_quantity(node_get(n, "time limit"), "time limit", "s", &limit, err))
        return false;
    limit = e->request->time_limit_s > 0 ? e->request->time_limit_s : limit;
    if (!(limit > 0 && limit < 1e6))
        return node_error(node_get(n, "time limit"), err, "a time limit must be more than 0 s and less than 1e6 s");
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

bool emulate_holds(enum dtype t, double v)
{
    return dtype_is_whole(t) ? v == floor(v) && dtype_holds(t, v) : isnan(v) || dtype_holds(t, v);
}

/* An array of NumPy's: as many elements as the buffer has. */
static bool fill_npy(struct emulation *e, const struct node *data, const struct buffer_wanted *b, void *host, struct error *err)
{
    SCOPED_BY(npy_free) struct npy a = {0};
    SCOPED char *path = emulate_file(e, data->text);
    bool ok = npy_read(path, &a, err) || node_error(data, err, "%s", err->text);
    if (ok && (int64_t)a.count != b->count)
        ok = node_error(data, err, "%s has %zu elements, '%s' has %lld", data->text, a.count, b->name, (long long)b->count);
    bool exact = (b->type == DTYPE_I64 || b->type == DTYPE_U64) && a.bits;
    for (int64_t i = 0; ok && i < b->count; i++)
        if (exact ? a.natural != (b->type == DTYPE_U64) && a.bits[i] >> 63 : !emulate_holds(b->type, a.value[i]))
            ok = node_error(data, err, "%s: element %lld is %.9g, which %s cannot hold", data->text, (long long)i, a.value[i],
                            dtype_name(b->type));
        else if (exact)
            ((uint64_t *)host)[i] = a.bits[i];
        else
            dtype_set(b->type, host, (size_t)i, a.value[i]);
    return ok;
}

static bool is_npy(const struct node *n)
{
    return n && n->kind == NODE_SCALAR && text_ends(n->text, ".npy");
}

static bool fill_list(const struct node *data, const struct buffer_wanted *b, void *host, struct error *err)
{
    for (int64_t i = 0; i < b->count; i++) { /* shorter lists repeat */
        double v;
        const struct node *n = data->items[i % data->count];
        bool special = n->kind == NODE_SCALAR && !n->quoted && text_to_number(n->text, &v) && !isfinite(v);
        if (!special && !node_real(n, "data", -1e300, 1e300, &v, err))
            return false;
        if (i < data->count && !emulate_holds(b->type, v))
            return node_error(n, err, "data: %s cannot hold %.40s", dtype_name(b->type), n->text);
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

/* The initial bytes of a buffer, as its key `data` describes them. NULL with *none set: bench writes nothing; NULL without: err says why.
 */
static void *emulate_launch_fill(struct emulation *e, const struct node *n, const struct buffer_wanted *b, bool *none, struct error *err)
{
    const struct node *data = node_get(n, "data");
    int64_t seed = 1;
    *none = false;
    if (node_get(n, "seed") && !node_int(node_get(n, "seed"), "seed", 0, INT64_MAX, &seed, err))
        return NULL;
    void *host = calloc(1, dtype_size(b->type, (size_t)b->count));
    if (!host) {
        error_set(err, ERROR_ENVIRONMENT, "no memory for %zu bytes of '%s'", dtype_size(b->type, (size_t)b->count), b->name);
        return NULL;
    }
    if (is_npy(data)                                         ? fill_npy(e, data, b, host, err)
        : data && data->kind == NODE_LIST && data->count > 0 ? fill_list(data, b, host, err)
                                                             : fill_word(data, b, (uint64_t)seed, host, none, err))
        return host;
    free(host);
    return NULL;
}

static bool read_type(const struct node *n, struct buffer_wanted *b, struct error *err)
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
static bool read_count(struct emulation *e, const struct node *n, struct buffer_wanted *b, struct error *err)
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
        SCOPED char *path = emulate_file(e, data->text);
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
    return !count || emulate_int(e, count, "count", 1, COUNT_MAX, &b->count, err);
}

static bool make_buffer(struct emulation *e, const char *name, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"type", "count", "shape", "data", "seed", "show", "save", "expect", "tolerance", NULL};
    struct buffer_wanted *b = &e->buffers[e->buffer_count];
    *b = (struct buffer_wanted){.name = name, .node = n};
    if (!node_check_keys(n, "a buffer", keys, err) || !read_type(n, b, err) || !read_count(e, n, b, err))
        return false;
    if (node_get(n, "show") && !node_int(node_get(n, "show"), "show", 0, b->count, &b->show, err))
        return false;
    bool none, ok;
    size_t bytes = dtype_size(b->type, (size_t)b->count);
    void *host = emulate_launch_fill(e, n, b, &none, err);
    ok = host && emu_device.alloc(&e->dev, name, bytes, &b->address, err) &&
         (none || emu_device.write(&e->dev, b->address, host, bytes, err));
    b->initial = ok && (e->request->keep || node_get(e->request->launch, "reference")) ? host : NULL;
    b->none = none;
    if (!b->initial)
        free(host);
    e->buffer_count += ok;
    return ok;
}

/* A __constant__ or __device__ variable: as many elements as it has. */
static bool fill_symbol(struct emulation *e, const char *name, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"type", "data", "seed", "show", NULL};
    struct buffer_wanted *b = &e->buffers[e->buffer_count];
    size_t bytes;
    *b = (struct buffer_wanted){.name = name};
    if (!node_check_keys(n, "a symbol", keys, err) || !read_type(n, b, err))
        return false;
    if (!emu_device.symbol(&e->dev, e->module, name, &b->address, &bytes, err))
        return node_error(n, err, "there is no __constant__ or __device__ variable '%s'", name);
    b->count = (int64_t)(bytes / dtype_bytes(b->type) * (1 + dtype_inside(b->type, 1)));
    if (!b->count)
        return node_error(n, err, "variable '%s' has %zu bytes, less than one %s", name, bytes, dtype_name(b->type));
    if (node_get(n, "show") && !node_int(node_get(n, "show"), "show", 0, b->count, &b->show, err))
        return false;
    bool none = true, ok = true;
    SCOPED void *host = node_get(n, "data") ? emulate_launch_fill(e, n, b, &none, err) : NULL;
    if (node_get(n, "data"))
        ok = host && (none || emu_device.write(&e->dev, b->address, host, dtype_size(b->type, (size_t)b->count), err));
    e->buffer_count += ok;
    return ok;
}

bool emulate_make_buffers(struct emulation *e, struct error *err)
{
    static const char *const maps[] = {"buffers", "symbols"};
    for (int k = 0; k < 2; k++) {
        const struct node *n = node_get(e->request->launch, maps[k]);
        if (k == 1)
            e->argument_buffers = e->buffer_count;
        if (!n || n->kind == NODE_NULL)
            continue;
        if (n->kind != NODE_MAP || n->count + e->buffer_count > EMULATE_BUFFERS_MAX)
            return node_error(n, err, "'%s' is a map of at most %d", maps[k], EMULATE_BUFFERS_MAX - e->buffer_count);
        for (int i = 0; i < n->count; i++)
            if (!(k ? fill_symbol : make_buffer)(e, n->keys[i]->text, n->items[i], err))
                return false;
    }
    return true;
}

/* ---- arguments ---- */
static const struct buffer_wanted *named_buffer(const struct emulation *e, const char *name)
{
    for (int i = 0; i < e->argument_buffers; i++)
        if (!strcmp(e->buffers[i].name, name))
            return &e->buffers[i];
    for (int i = 0; i < e->magnitude_count; i++)
        if (!strcmp(e->magnitudes[i].name, name))
            return &e->magnitudes[i];
    return NULL;
}

static bool field_named(const struct emulation *e, const char *name, double *value)
{
    for (int i = 0; i < e->field_count; i++)
        if (!strcmp(e->fields[i].name, name)) {
            *value = e->fields[i].value;
            return true;
        }
    return false;
}

/* "i32 3", "f32 0.5", the name of a buffer, 3 (an i32), 0.5 (an f32): its bytes at the next place that is aligned for it. */
static bool add_field(struct emulation *e, const struct node *n, const struct param *p, int index, uint32_t *at, struct error *err)
{
    enum dtype type = DTYPE_NONE;
    const char *text = n->kind == NODE_SCALAR ? n->text : "";
    const char *space = strchr(text, ' ');
    const struct buffer_wanted *b = named_buffer(e, text);
    long long whole;
    double v;
    union {
        uint64_t u;
        uint8_t bytes[8];
    } value = {0};
    uint32_t bytes = 8;
    if (b) {
        value.u = b->address;
    } else {
        char word[8] = "";
        snprintf(word, sizeof word, "%.*s", space ? (int)(space - text) : 0, text);
        bool wide = !strcmp(word, "i64") || !strcmp(word, "u64"), half = !strcmp(word, "i16");
        const char *number = space ? space + 1 : text;
        type = wide                                                    ? DTYPE_NONE
               : half                                                  ? DTYPE_U16
               : space                                                 ? dtype_parse(word)
               : text_to_int(text, &whole) || field_named(e, text, &v) ? DTYPE_I32
                                                                       : DTYPE_F32;
        bool field = field_named(e, number, &v);
        whole = field ? (long long)v : 0;
        if ((!wide && type == DTYPE_NONE) || (!field && (!text_to_number(number, &v) || (wide && !text_to_int(number, &whole)))))
            return node_error(n, err, "a field of argument %d must be a buffer, a number or a type and a number ('i32 3'), not '%.40s'",
                              index + 1, text);
        if (half) /* the same bits; -1: none */
            v = v < -32768 || v >= 32768 ? -1 : v < 0 ? v + 65536 : v;
        if (!wide && !emulate_holds(type, v))
            return node_error(n, err, "a field of argument %d: %s cannot hold %.40s", index + 1, dtype_name(type), number);
        bytes = wide ? 8 : (uint32_t)dtype_bytes(type);
        if (wide)
            value.u = (uint64_t)whole;
        else
            dtype_set(type, value.bytes, 0, v);
    }
    *at = (*at + bytes - 1) / bytes * bytes;
    if (*at + bytes > p->bytes)
        return node_error(n, err, "the fields of argument %d exceed the structure's %u bytes", index + 1, p->bytes);
    memcpy(e->params + p->offset + *at, value.bytes, bytes);
    *at += bytes;
    return true;
}

static bool set_structure(struct emulation *e, const struct node *n, const struct param *p, int index, struct error *err)
{
    uint32_t at = 0;
    for (int i = 0; i < n->count; i++)
        if (!add_field(e, n->items[i], p, index, &at, err))
            return false;
    if ((at + p->align - 1) / p->align * p->align != p->bytes)
        return node_error(n, err, "the fields of argument %d take %u bytes, the structure has %u", index + 1, at, p->bytes);
    return true;
}

static bool numbers(const struct emulation *e, const struct node *m, const char *key, int count, int64_t max, int64_t *out,
                    struct error *err)
{
    const struct node *n = node_get(m, key);
    if (!n || n->kind != NODE_LIST || n->count != count)
        return node_error(n ? n : m, err, "a tensor map needs '%s', a list of %d", key, count);
    for (int i = 0; i < count; i++)
        if (!emulate_int(e, n->items[i], key, 1, max, &out[i], err))
            return false;
    return true;
}

/* {tensor map: x, dims: [64, 64], box: [32, 8], strides: [256], swizzle: 128}: the innermost dimension first, strides in bytes of all but
 * it. */
static bool set_tensor_map(struct emulation *e, const struct node *n, const struct param *p, int index, struct error *err)
{
    static const char *const keys[] = {"tensor map", "dims", "box", "strides", "swizzle", NULL};
    if (!node_check_keys(n, "a tensor map", keys, err))
        return false;
    const char *name = node_get(n, "tensor map") ? node_text(node_get(n, "tensor map"), "tensor map", err) : NULL;
    const struct buffer_wanted *b = name ? named_buffer(e, name) : NULL;
    const struct node *dims = node_get(n, "dims");
    if (!b || p->bytes != 128)
        return node_error(n, err, b ? "argument %d is not a tensor map" : "argument %d needs 'tensor map', the name of a buffer",
                          index + 1);
    if (!dims || dims->kind != NODE_LIST || dims->count < 1 || dims->count > 5)
        return node_error(n, err, "a tensor map needs 'dims', a list of 1 to 5");
    struct device_tensor_map map = {
        .address = b->address, .element_bytes = (int)dtype_bytes(b->type), .element_kind = (int)b->type, .rank = dims->count};
    int64_t size[5], box[5], stride[5], swizzle = 0, bytes = map.element_bytes;
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
    return emu_device.tensor_map(&e->dev, &map, e->params + p->offset, err) || node_error(n, err, "argument %d: %s", index + 1, err->text);
}

static bool set_argument(struct emulation *e, const struct node *n, const struct param *p, int index, struct error *err)
{
    char what[40];
    snprintf(what, sizeof what, "argument %d", index + 1);
    const struct buffer_wanted *b = n->kind == NODE_SCALAR ? named_buffer(e, n->text) : NULL;
    if (n->kind == NODE_LIST)
        return set_structure(e, n, p, index, err);
    if (n->kind == NODE_MAP)
        return set_tensor_map(e, n, p, index, err);
    if (b) {
        if (p->bytes != 8 || p->kind != PARAM_INT)
            return node_error(n, err, "argument %d is a buffer, but the kernel takes %u bytes that are not a pointer", index + 1, p->bytes);
        memcpy(e->params + p->offset, &b->address, 8);
        return true;
    }
    if (p->kind == PARAM_FLOAT) {
        double v;
        if (!emulate_real(e, n, what, &v, err))
            return false;
        if (p->bytes == 4 && !emulate_holds(DTYPE_F32, v))
            return node_error(n, err, "%s: f32 cannot hold %.9g", what, v);
        float f = (float)v;
        memcpy(e->params + p->offset, p->bytes == 8 ? (const void *)&v : &f, p->bytes == 8 ? 8 : 4);
        return true;
    }
    if (p->kind != PARAM_INT || p->bytes > 8)
        return node_error(n, err, "argument %d is a structure of %u bytes: list its fields, [i32 3, f32 0.5]", index + 1, p->bytes);
    int64_t v, half = p->bytes < 8 ? INT64_C(1) << (8 * p->bytes - 1) : 0; /* of eight bytes any number is one */
    if (!emulate_int(e, n, what, half ? -half : INT64_MIN, half ? 2 * half - 1 : INT64_MAX, &v,
                     err)) /* signed or not: the PTX does not say */
        return false;
    memcpy(e->params + p->offset, &v, p->bytes);
    return true;
}

/* As a head writes them; nothing at all when one has no such form. */
static void say_argument(struct emulation *e, const struct node *n, const struct param *p, struct text *t)
{
    const unsigned char *at = e->params + p->offset;
    union {
        uint64_t u;
        int32_t i;
        float f;
        double d;
    } v = {0};
    memcpy(&v, at, p->bytes <= 8 ? p->bytes : 0);
    text_add(t, t->len ? ", " : "");
    if (n->kind == NODE_SCALAR && named_buffer(e, n->text)) {
        text_add(t, n->text);
    } else if (p->kind == PARAM_FLOAT) {
        size_t from = t->len;
        text_addf(t, "%.17g", p->bytes == 8 ? v.d : (double)v.f);
        text_add(t, strpbrk(t->data + from, ".e") ? "" : ".0");
    } else {
        text_addf(t, "%lld", p->bytes == 4 ? (long long)v.i : (long long)v.u);
    }
}

bool emulate_set_arguments(struct emulation *e, const struct node *args, const struct node *at, struct device_function *function,
                           struct device_launch *launch, struct error *err)
{
    const struct param *params;
    size_t bytes;
    int count = emu_device.signature(&e->dev, function, &params, &bytes), given = args && args->kind == NODE_LIST ? args->count : 0;
    if (args && args->kind != NODE_LIST && args->kind != NODE_NULL)
        return node_error(args, err, "'args' is a list");
    if (given != count)
        return node_error(args ? args : at, err, "the kernel takes %d arguments, 'args' has %d", count, given);
    free(e->params);
    e->params = calloc(1, bytes + 8);
    if (!e->params)
        return error_set(err, ERROR_ENVIRONMENT, "no memory for the parameters");
    SCOPED_TEXT said = {0};
    bool plain = true, ok = true;
    for (int i = 0; i < count && ok; i++) {
        ok = set_argument(e, args->items[i], &params[i], i, err);
        double v = 0;
        plain &= args->items[i]->kind == NODE_SCALAR && (!text_to_number(args->items[i]->text, &v) || isfinite(v));
        if (ok)
            say_argument(e, args->items[i], &params[i], &said);
    }
    if (launch == &e->launch && plain && said.len < sizeof e->out->arguments)
        snprintf(e->out->arguments, sizeof e->out->arguments, "%s", text_get(&said));
    if (!ok)
        return false;
    launch->params = e->params;
    launch->param_bytes = bytes;
    return true;
}
