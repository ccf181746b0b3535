/* cli/fields: see fields.h. */
#include "cli/fields.h"
#include "base/text.h"
#include "op/op_file.h"
#include "kernel/head/head.h"
#include <math.h>
#include <string.h>

void fields_text(json_t *object, const char *key, const char *text)
{
    if (object)
        json_object_set_new(object, key, text && *text ? json_text(text) : json_null());
}

void fields_number(json_t *object, const char *key, double value)
{
    if (object)
        json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

void fields_count(json_t *object, const char *key, long long value)
{
    if (object)
        json_object_set_new(object, key, value >= 0 ? json_integer(value) : json_null());
}

void fields_counts(json_t *object, const struct named_count *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fields_count(object, counts[i].name, counts[i].value);
}

json_t *fields_object(json_t *object, const char *key)
{
    json_t *own = object ? json_object() : NULL;
    json_object_set_new(object, key, own);
    return own;
}

json_t *fields_list(json_t *object, const char *key)
{
    json_t *list = object ? json_object_get(object, key) : NULL;
    if (object && !list)
        json_object_set_new(object, key, list = json_array());
    return list;
}

json_t *fields_item(json_t *list)
{
    json_t *item = list ? json_object() : NULL;
    json_array_append_new(list, item);
    return item;
}

/* A YAML tree as JSON: unquoted whole numbers, yes, no, true and false keep their type; every other scalar is text. */
static json_t *fields_yaml(const struct node *n)
{
    json_t *out = n->kind == NODE_MAP ? json_object() : n->kind == NODE_LIST ? json_array() : NULL;
    long long whole;
    for (int i = 0; i < n->count; i++)
        if (n->kind == NODE_MAP)
            json_object_set_new(out, n->keys[i]->text, fields_yaml(n->items[i]));
        else
            json_array_append_new(out, fields_yaml(n->items[i]));
    if (out)
        return out;
    if (n->kind == NODE_NULL)
        return json_null();
    if (!n->quoted && text_to_int(n->text, &whole))
        return json_integer(whole);
    static const char *const truths[] = {"no", "yes", "false", "true"};
    for (int i = 0; i < 4 && !n->quoted; i++)
        if (!strcmp(n->text, truths[i]))
            return json_boolean(i & 1);
    return json_text(n->text);
}

json_t *fields_of_file(const char *path, const char *text)
{
    struct error ignored = {0};
    struct head_place place = {.end = strlen(text), .line = 1};
    if (!text_ends(path, ".yaml"))
        head_find(path, text, strlen(text), &place, &ignored);
    SCOPED_BY(node_leave) struct node *root = node_parse_text(path, text + place.begin, place.end - place.begin, place.line, 1, &ignored);
    return root ? fields_yaml(root) : json_null();
}

/* The names of the bits of a set, in the order of the names. */
static json_t *names_of(unsigned bits, const char *const *names, int first)
{
    json_t *list = json_array();
    for (int i = 0; names[i]; i++)
        if (bits & (1u << (i + first)))
            json_array_append_new(list, json_string(names[i]));
    return list;
}

static void op_tensor(json_t *tensor, const struct tensor_role *role, bool written)
{
    fields_text(tensor, "name", role->name);
    json_object_set_new(tensor, "written", json_boolean(written));
    json_object_set_new(tensor, "constant", json_boolean(role->constant));
    fields_text(tensor, "dtype", role->dtype == DTYPE_NONE ? NULL : dtype_name(role->dtype)); /* null: the case's */
    fields_text(tensor, "comes_with", role->item);                                            /* the item of an epilogue */
}

static void op_tensors(const struct op *op, json_t *list)
{
    const struct op_file *file = op->file;
    for (int i = 0; file && list && i < file->tensor_count; i++) {
        const struct op_file_tensor *of = &file->tensors[i];
        json_t *tensor = fields_item(list), *shape = json_array();
        op_tensor(tensor, &of->role, of->role.output);
        for (int k = 0; k < of->rank; k++)
            json_array_append_new(shape, json_text(expr_text(of->shape[k])));
        json_object_set_new(tensor, "shape", shape);
        json_object_set_new(tensor, "image", json_boolean(of->image));
        fields_text(tensor, "what", of->what);
    }
    for (int i = 0; !file && list && op->roles[i]; i++)
        op_tensor(fields_item(list), op->roles[i], op->roles[i]->output);
}

void fields_op(const struct op *op)
{
    json_t *o = fields("op"), *keys = fields_list(o, "keys"), *symbols = fields_list(o, "symbols");
    if (!o)
        return;
    fields_text(o, "name", op->name);
    fields_text(o, "about", op->about);
    for (const struct op_field *f = op->fields; f->name; f++) {
        json_t *key = fields_item(keys), *words = f->words ? json_array() : json_null();
        bool counted = f->kind == FIELD_INT && f->fallback != OP_REQUIRED;
        fields_text(key, "name", f->name);
        fields_text(key, "what", f->what);
        json_object_set_new(key, "required", json_boolean(f->fallback == OP_REQUIRED));
        json_object_set_new(key, "default", counted ? json_integer(f->fallback) : json_null());
        for (int i = 0; f->words && f->words[i]; i++)
            json_array_append_new(words, json_string(f->words[i]));
        json_object_set_new(key, "words", words);
    }
    for (const struct op_symbol *s = op->symbols; s->name; s++) {
        json_t *symbol = fields_item(symbols);
        fields_text(symbol, "name", s->name);
        fields_text(symbol, "what", s->what);
    }
    op_tensors(op, fields_list(o, "tensors"));
    json_object_set_new(o, "epilogue", names_of(op->epilogues, epilogue_names, 0));
    json_object_set_new(o, "dtype", names_of(op->dtypes, dtype_names, 1));
    json_object_set_new(o, "layout", names_of(op->layouts, layout_names, 1));
    json_object_set_new(o, "math", names_of(op->has_math ? ~0u : 0, math_names, 1));
    fields_text(o, "file", op_path(op));
    fields_text(o, "reference", op->file ? op->file->source : NULL);
    fields_text(o, "reference_function", op->file ? op->file->function : NULL);
    fields_text(o, "baseline", op->row0);
    fields_text(o, "first_rung", op->naive);
}

void fields_variant(const struct variant *v)
{
    json_t *o = fields("variant"), *like = fields_list(o, "like");
    if (!o)
        return;
    fields_text(o, "name", v->name);
    fields_text(o, "op", v->op->name);
    fields_text(o, "what", v->what);
    fields_text(o, "from", v->from);
    fields_text(o, "path", v->path);
    fields_text(o, "code", v->code);
    fields_text(o, "algorithm", v->algorithm);
    fields_text(o, "source_hash", v->hash);
    for (int i = 0; i < v->parent_count; i++)
        json_array_append_new(like, json_text(v->parents[i].path));
    json_object_set_new(o, "head", fields_yaml(v->head));
}
