/* Reads the messages of onnx.proto that a graph consists of. The wire format is small enough to be read here: five kinds of fields, and
 * every length is checked against what is left. */
#include "base/dtype.h"
#include "base/file.h"
#include "base/text.h"
#include "plan/scenario/onnx_private.h"
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 1000000 /* numbers of one list */
#define NODES_MAX 20000   /* and inputs, outputs and attributes of a node */
#define VALUES_MAX 100000 /* constants, and shapes of values */

struct wire {
    const char *file;
    const uint8_t *begin, *at, *end;
    struct error *err;
    bool bad;
};
struct field {
    uint64_t number, value; /* value: of a number */
    struct onnx_bytes bytes;
    int kind; /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
};

static bool wire_bad(struct wire *w, const char *what)
{
    w->bad = true;
    if (w->err->kind == ERROR_NONE)
        error_set(w->err, ERROR_USAGE, "%s: byte %lld: %s; it is no ONNX model, or a damaged one", w->file, (long long)(w->at - w->begin),
                  what);
    return false;
}

static bool wire_varint(struct wire *w, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (w->at >= w->end)
            return wire_bad(w, "the file ends inside a number");
        uint8_t byte = *w->at++;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return wire_bad(w, "a number has more than 64 bits");
}

/* The next field; false at the end, or on an error (w->bad). */
static bool wire_next(struct wire *w, struct field *f)
{
    uint64_t tag, count = 0;
    *f = (struct field){0};
    if (w->bad || w->at >= w->end || !wire_varint(w, &tag))
        return false;
    f->number = tag >> 3;
    f->kind = (int)(tag & 7);
    if (!f->number)
        return wire_bad(w, "a field without a number");
    if (f->kind == 0)
        return wire_varint(w, &f->value);
    if (f->kind == 2 ? !wire_varint(w, &count) : f->kind != 1 && f->kind != 5)
        return w->bad ? false : wire_bad(w, "an unknown kind of field");
    count = f->kind == 1 ? 8 : f->kind == 5 ? 4 : count;
    if (count > (uint64_t)(w->end - w->at))
        return wire_bad(w, "a field is longer than the rest of its message");
    f->bytes = (struct onnx_bytes){w->at, (size_t)count};
    if (f->kind != 2)
        memcpy(&f->value, w->at, (size_t)count);
    w->at += count;
    return true;
}

static struct wire wire_in(const struct wire *w, struct onnx_bytes b)
{
    return (struct wire){.file = w->file, .begin = w->begin, .at = b.at, .end = b.at + b.count, .err = w->err};
}

static char *wire_text(const struct field *f)
{
    size_t length = f->bytes.at ? strnlen((const char *)f->bytes.at, f->bytes.count) : 0;
    return xstrndup(length ? (const char *)f->bytes.at : "", length < 512 ? length : 512);
}

static void replace_text(char **to, const struct field *f)
{
    free(*to);
    *to = wire_text(f);
}

/* One number of a repeated field, or all of a packed one. */
static bool add_ints(struct wire *w, const struct field *f, int64_t **out, int *count)
{
    struct wire in = wire_in(w, f->bytes);
    uint64_t v = f->value;
    while (f->kind == 0 || in.at < in.end) {
        if (f->kind != 0 && !wire_varint(&in, &v))
            return w->bad = true, false;
        if (*count >= ITEMS_MAX)
            return wire_bad(w, "a list of more than a million numbers");
        *APPEND(*out, *count) = (int64_t)v;
        if (f->kind == 0)
            break;
    }
    return true;
}

static double float_of(const uint8_t *at)
{
    float v;
    memcpy(&v, at, sizeof v);
    return v;
}

static bool read_dims(struct wire *w, const struct field *f, int64_t dim[ONNX_RANK], int *rank)
{
    SCOPED int64_t *all = NULL;
    int count = 0;
    if (!add_ints(w, f, &all, &count))
        return false;
    for (int i = 0; i < count; i++) {
        if (*rank >= ONNX_RANK)
            return wire_bad(w, "a tensor of more than 8 dimensions");
        dim[(*rank)++] = all[i];
    }
    return true;
}

static int64_t type_bytes(int type)
{
    switch (type) {
    case 1:
    case 6:
    case 12: return 4; /* float, int32, uint32 */
    case 2:
    case 3:
    case 9: return 1; /* uint8, int8, bool */
    case 4:
    case 5:
    case 10:
    case 16: return 2; /* uint16, int16, float16, bfloat16 */
    case 7:
    case 11:
    case 13: return 8; /* int64, double, uint64 */
    default: return 0;
    }
}

int64_t onnx_elements(const struct onnx_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0 || (t->dim[i] && count > INT64_MAX / 8 / t->dim[i]))
            return 0;
        count *= t->dim[i];
    }
    return count;
}

/* An entry of external_data: location, offset or length, as texts. */
static bool read_place(struct wire *w, const struct field *entry, struct onnx_tensor *t)
{
    struct wire in = wire_in(w, entry->bytes);
    struct field f;
    SCOPED char *key = NULL, *value = NULL;
    while (wire_next(&in, &f))
        if (f.kind == 2 && (f.number == 1 || f.number == 2))
            replace_text(f.number == 1 ? &key : &value, &f);
    if (in.bad || !key || !value)
        return in.bad ? w->bad = true, false : true;
    if (!strcmp(key, "location"))
        free(t->location), t->location = xstrdup(value);
    else if (!strcmp(key, "offset") || !strcmp(key, "length"))
        *(*key == 'o' ? &t->offset : &t->length) = strtoll(value, NULL, 10);
    return true;
}

static bool read_tensor(struct wire *w, struct onnx_tensor *t)
{
    struct field f;
    t->length = -1;
    while (wire_next(w, &f)) {
        if (f.number == 1 && !read_dims(w, &f, t->dim, &t->rank))
            return false;
        if (f.number == 2)
            t->type = (int)(f.value < 1000 ? f.value : 0);
        if (f.number == 8)
            replace_text(&t->name, &f);
        if (f.number == 4 || f.number == 5 || f.number == 7)
            *(f.number == 4 ? &t->floats : f.number == 5 ? &t->ints32 : &t->ints64) = f.bytes;
        if (f.number == 9 || f.number == 10)
            *(f.number == 9 ? &t->raw : &t->doubles) = f.bytes;
        if (f.number == 13 && !read_place(w, &f, t))
            return false;
        if (f.number == 14 && f.value == 1 && !t->location)
            t->location = xstrdup("");
    }
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0)
            return wire_bad(w, "a tensor of a negative size");
    int64_t want = onnx_elements(t), size = type_bytes(t->type);
    if (!w->bad && t->raw.at && !t->location && size && (int64_t)t->raw.count != want * size)
        return wire_bad(w, "a tensor has other bytes than its sizes say");
    return !w->bad;
}

static int64_t varint_at(struct onnx_bytes b, int64_t index, bool *there)
{
    struct error ignored = {0};
    struct wire w = {.file = "", .begin = b.at, .at = b.at, .end = b.at + b.count, .err = &ignored};
    uint64_t v = 0;
    for (int64_t i = 0; (*there = w.at < w.end && wire_varint(&w, &v)) && i < index; i++)
        ;
    return (int64_t)v;
}

bool onnx_number(const struct onnx_tensor *t, int64_t i, double *out)
{
    if (t->made)
        return i >= 0 && i < onnx_elements(t) ? *out = t->made[i], true : false;
    bool there = !t->location && i >= 0 && i < onnx_elements(t);
    int64_t size = type_bytes(t->type), whole = 0;
    if (!there || !size)
        return false;
    if (t->raw.at && (int64_t)t->raw.count >= (i + 1) * size) {
        const uint8_t *at = t->raw.at + i * size;
        uint16_t half;
        memcpy(&half, at, size < 2 ? 0 : 2);
        if (t->type == 1)
            *out = float_of(at);
        else if (t->type == 10)
            *out = (double)f16_to_f32(half);
        else if (t->type == 11)
            memcpy(out, at, sizeof *out);
        else if (t->type == 6 || t->type == 7 || t->type == 9)
            memcpy(&whole, at, (size_t)size), *out = t->type == 6 ? (double)(int32_t)whole : (double)whole;
        else
            return false;
        return true;
    }
    if (t->floats.at && t->type == 1 && (int64_t)t->floats.count >= (i + 1) * 4)
        return *out = float_of(t->floats.at + i * 4), true;
    if (t->doubles.at && t->type == 11 && (int64_t)t->doubles.count >= (i + 1) * 8)
        return memcpy(out, t->doubles.at + i * 8, sizeof *out), true;
    if (t->ints64.at && t->type == 7)
        return *out = (double)varint_at(t->ints64, i, &there), there;
    if (t->ints32.at && (t->type == 6 || t->type == 9 || t->type == 10)) {
        whole = varint_at(t->ints32, i, &there);
        return *out = t->type == 10 ? (double)f16_to_f32((uint16_t)whole) : (double)whole, there;
    }
    return false;
}

static bool read_attribute(struct wire *w, struct onnx_attribute *a)
{
    struct field f;
    while (wire_next(w, &f)) {
        struct wire in = wire_in(w, f.bytes);
        if (f.number == 1 && f.kind == 2)
            replace_text(&a->name, &f);
        else if (f.number == 2 && f.kind == 5)
            a->real = float_of(f.bytes.at);
        else if (f.number == 3)
            a->whole = (int64_t)f.value;
        else if (f.number == 4)
            replace_text(&a->text, &f);
        else if (f.number == 5 && !a->tensor) {
            a->tensor = xcalloc(1, sizeof *a->tensor);
            if (!read_tensor(&in, a->tensor))
                return w->bad = true, false;
        } else if (f.number == 7)
            for (size_t i = 0; i + 4 <= f.bytes.count && a->real_count < ITEMS_MAX; i += 4)
                *APPEND(a->reals, a->real_count) = float_of(f.bytes.at + i);
        else if (f.number == 8 && !add_ints(w, &f, &a->ints, &a->int_count))
            return false;
    }
    if (!w->bad && !a->name)
        a->name = xstrdup("");
    return !w->bad;
}

static bool read_node(struct wire *w, struct onnx_node *n)
{
    struct field f;
    while (wire_next(w, &f)) {
        struct wire in = wire_in(w, f.bytes);
        if (n->input_count >= NODES_MAX || n->output_count >= NODES_MAX || n->attribute_count >= NODES_MAX)
            return wire_bad(w, "a node of more than 20000 inputs, outputs or attributes");
        if (f.number == 1)
            *APPEND(n->inputs, n->input_count) = wire_text(&f);
        else if (f.number == 2)
            *APPEND(n->outputs, n->output_count) = wire_text(&f);
        else if (f.number == 3)
            replace_text(&n->name, &f);
        else if (f.number == 4)
            replace_text(&n->op, &f);
        else if (f.number == 7)
            replace_text(&n->domain, &f);
        else if (f.number == 5) {
            struct onnx_attribute *a = APPEND(n->attributes, n->attribute_count);
            *a = (struct onnx_attribute){0};
            if (!read_attribute(&in, a))
                return w->bad = true, false;
        }
    }
    char **const texts[] = {&n->name, &n->op, &n->domain};
    for (int i = 0; i < 3; i++)
        *texts[i] = *texts[i] ? *texts[i] : xstrdup("");
    return !w->bad;
}

/* TypeProto: tensor_type { elem_type, shape { dim { dim_value } } } */
static bool read_type(struct wire *w, struct onnx_value *v)
{
    struct field f, g, d, s;
    while (wire_next(w, &f)) {
        struct wire tensor = wire_in(w, f.bytes);
        while (f.number == 1 && f.kind == 2 && wire_next(&tensor, &g)) {
            struct wire shape = wire_in(w, g.bytes);
            v->type = g.number == 1 ? (int)(g.value < 1000 ? g.value : 0) : v->type;
            while (g.number == 2 && g.kind == 2 && wire_next(&shape, &d)) {
                struct wire size = wire_in(w, d.bytes);
                if (v->rank >= ONNX_RANK)
                    return wire_bad(w, "a shape of more than 8 dimensions");
                v->dim[v->rank] = -1;
                while (d.kind == 2 && wire_next(&size, &s))
                    v->dim[v->rank] = s.number == 1 && s.kind == 0 && (int64_t)s.value > 0 ? (int64_t)s.value : v->dim[v->rank];
                v->rank++;
                w->bad |= size.bad;
            }
            w->bad |= shape.bad;
        }
        w->bad |= tensor.bad;
    }
    return !w->bad;
}

static bool read_value(struct wire *w, struct onnx_value *v)
{
    struct field f;
    while (wire_next(w, &f)) {
        struct wire in = wire_in(w, f.bytes);
        if (f.number == 1)
            replace_text(&v->name, &f);
        if (f.number == 2 && !read_type(&in, v))
            return w->bad = true, false;
    }
    v->name = v->name ? v->name : xstrdup("");
    return !w->bad;
}

static bool read_graph(struct wire *w, struct onnx_model *m)
{
    struct field f;
    while (wire_next(w, &f)) {
        struct wire in = wire_in(w, f.bytes);
        bool ok = true;
        if (m->node_count >= NODES_MAX || m->constant_count >= VALUES_MAX || m->value_count >= VALUES_MAX || m->input_count >= NODES_MAX ||
            m->output_count >= NODES_MAX)
            return wire_bad(w, "more than 20000 nodes, or 100000 values");
        if (f.number == 1) {
            struct onnx_node *n = APPEND(m->nodes, m->node_count);
            *n = (struct onnx_node){0};
            ok = read_node(&in, n);
        } else if (f.number == 2) {
            replace_text(&m->graph, &f);
        } else if (f.number == 5) {
            struct onnx_tensor *t = APPEND(m->constants, m->constant_count);
            *t = (struct onnx_tensor){0};
            ok = read_tensor(&in, t);
        } else if (f.number == 15) { /* a sparse one: its name is known, its values are not */
            struct onnx_tensor *t = APPEND(m->constants, m->constant_count);
            *t = (struct onnx_tensor){0};
            for (struct field g; ok && wire_next(&in, &g);) {
                struct wire values = wire_in(w, g.bytes);
                ok = g.number != 1 || t->name || read_tensor(&values, t);
            }
            t->type = t->rank = 0;
            ok &= !in.bad;
        } else if (f.number >= 11 && f.number <= 13) {
            struct onnx_value *v = f.number == 11   ? APPEND(m->inputs, m->input_count)
                                   : f.number == 12 ? APPEND(m->outputs, m->output_count)
                                                    : APPEND(m->values, m->value_count);
            *v = (struct onnx_value){0};
            ok = read_value(&in, v);
        }
        if (!ok)
            return w->bad = true, false;
    }
    return !w->bad;
}

static bool read_opset(struct wire *w, struct onnx_model *m)
{
    struct field f;
    bool own = true;
    int64_t version = 0;
    while (wire_next(w, &f)) {
        own &= f.number != 1 || !f.bytes.count || (f.bytes.count == 7 && !memcmp(f.bytes.at, "ai.onnx", 7));
        version = f.number == 2 ? (int64_t)f.value : version;
    }
    m->opset = own ? version : m->opset;
    return !w->bad;
}

bool onnx_read(const char *file, const char *data, size_t bytes, struct onnx_model *m, struct error *err)
{
    const uint8_t *at = (const uint8_t *)data;
    struct wire w = {.file = file, .begin = at, .at = at, .end = at + bytes, .err = err};
    struct field f;
    bool graph = false;
    *m = (struct onnx_model){0};
    while (wire_next(&w, &f)) {
        struct wire in = wire_in(&w, f.bytes);
        if (f.kind != 2 || (f.number != 7 && f.number != 8))
            continue;
        graph |= f.number == 7;
        if (!(f.number == 7 ? read_graph : read_opset)(&in, m))
            w.bad = true;
    }
    if (!w.bad && (!graph || !m->node_count))
        wire_bad(&w, "there is no graph with nodes in the file");
    if (!w.bad && !m->opset)
        wire_bad(&w, "no opset of ONNX is named");
    if (!w.bad && (m->opset < 7 || m->opset > 23)) {
        w.bad = true;
        error_set(err, ERROR_USAGE, "%s: opset %lld; 7 to 23 are supported", file, (long long)m->opset);
        error_hint(err, "onnx.version_converter.convert_version(model, 17) changes it");
    }
    return !w.bad;
}

/* The file that a constant names, which must lie in the model's folder. */
static bool load_file(const char *file, struct onnx_model *m, const struct onnx_tensor *t, struct onnx_bytes *out, struct error *err)
{
    SCOPED char *path = file_beside(file, t->location);
    struct error why = {0};
    bool leaves = !t->location[0] || t->location[0] == '/' || strstr(t->location, "..");
    char *data = leaves ? NULL : file_read(path, ONNX_MAX_BYTES, &out->count, &why);
    if (data)
        *APPEND(m->held, m->held_count) = data;
    out->at = (const uint8_t *)data;
    return data || error_set(err, ERROR_USAGE, "%s: the values of '%.100s' are in '%.100s': %s", file, t->name ? t->name : "", t->location,
                             leaves ? "a file in the model's folder is expected" : why.text);
}

bool onnx_load(const char *file, struct onnx_model *m, struct error *err)
{
    SCOPED char *last = NULL;
    struct onnx_bytes now = {0};
    for (int i = 0; i < m->constant_count; i++) {
        struct onnx_tensor *t = &m->constants[i];
        int64_t bytes = onnx_elements(t) * type_bytes(t->type), length;
        if (!t->location)
            continue;
        if (!last || strcmp(last, t->location)) {
            if (!load_file(file, m, t, &now, err))
                return false;
            free(last);
            last = xstrdup(t->location);
        }
        length = t->length < 0 ? bytes : t->length;
        if (length != bytes || t->offset < 0 || t->offset > (int64_t)now.count || length > (int64_t)now.count - t->offset)
            return error_set(err, ERROR_USAGE, "%s: '%.100s' has %lld bytes at %lld of '%.100s', which has %zu; its sizes say %lld", file,
                             t->name ? t->name : "", (long long)length, (long long)t->offset, t->location, now.count, (long long)bytes);
        t->raw = (struct onnx_bytes){now.at + t->offset, (size_t)bytes};
        free(t->location);
        t->location = NULL;
    }
    return true;
}

const struct onnx_attribute *onnx_attribute(const struct onnx_node *n, const char *name)
{
    return FIRST_IN(n->attributes, i, n->attribute_count, !strcmp(n->attributes[i].name, name));
}

static void free_tensor(struct onnx_tensor *t)
{
    FREE_ALL(t->name, t->location, t->made);
}

static void free_node(struct onnx_node *n)
{
    pointers_free(n->inputs, n->input_count);
    pointers_free(n->outputs, n->output_count);
    for (int i = 0; i < n->attribute_count; i++) {
        struct onnx_attribute *a = &n->attributes[i];
        if (a->tensor)
            free_tensor(a->tensor);
        FREE_ALL(a->name, a->text, a->ints, a->reals, a->tensor);
    }
    FREE_ALL(n->name, n->op, n->domain, n->attributes);
}

void onnx_free(struct onnx_model *m)
{
    for (int i = 0; i < m->node_count; i++)
        free_node(&m->nodes[i]);
    for (int i = 0; i < m->constant_count; i++)
        free_tensor(&m->constants[i]);
    pointers_free(m->held, m->held_count);
    for (int i = 0; i < m->input_count; i++)
        free(m->inputs[i].name);
    for (int i = 0; i < m->output_count; i++)
        free(m->outputs[i].name);
    for (int i = 0; i < m->value_count; i++)
        free(m->values[i].name);
    FREE_ALL(m->graph, m->nodes, m->constants, m->inputs, m->outputs, m->values);
}
