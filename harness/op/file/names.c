/* The names of an op's YAML: its fields, lets and needs. */
#include "op/file/private.h"
#include "op/formula.h"
#include "op/shape.h"
#include "op/sides.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME_MAX 64
bool op_file_name_ok(const char *s)
{
    size_t n = strlen(s);
    return ALL_OF(i, n, islower((unsigned char)s[i]) || s[i] == '_' || (i && isdigit((unsigned char)s[i]))) && n > 0 && n < FILE_NAME_MAX;
}

bool op_file_is_image(const struct op_file *f)
{
    return node_get(f->root, "output") != NULL;
}

bool op_file_new_name(const struct op_file *f, const struct node *n, const char *what, struct error *err)
{
    static const char *const taken[] = {"op", "dtype", "layout", "math", "epilogue", "mask", "marks", "repeat", "kernel", NULL};
    bool twice = false;
    for (int i = 0; taken[i]; i++)
        twice |= !strcmp(taken[i], n->text) && !(op_file_is_image(f) && !strcmp(n->text, "kernel"));
    for (int i = 0; op_file_is_image(f) && formula_names[i]; i++)
        twice |= !strcmp(formula_names[i], n->text);
    for (int i = 0; op_file_is_image(f) && i < SLOT_COUNT; i++)
        twice |= !strcmp(shape_roles[i].name, n->text);
    if (op_file_is_image(f) && node_get(node_get(f->root, "fields"), "kernel")) /* which is their name for its size */
        twice |= !strcmp("r", n->text) || !strcmp("s", n->text) || (node_get(node_get(f->root, "fields"), "d") && !strcmp("t", n->text));
    for (int i = 0; i < f->field_count; i++)
        twice |= !strcmp(f->op.fields[i].name, n->text);
    for (int i = 0; i < f->let_count; i++)
        twice |= !strcmp(f->let_names[i], n->text);
    for (int i = 0; i < f->tensor_count; i++)
        twice |= !strcmp(f->tensors[i].role.name, n->text);
    if (!op_file_name_ok(n->text))
        return node_error(n, err, "%s '%.60s': a name must have lower case letters, digits and _, and begin with a letter", what, n->text);
    return !twice || node_error(n, err, "%s '%s': this name is already used", what, n->text);
}

/* Checks the kind of a field whose name has a fixed meaning in ops of images, and sets its place in struct work. */
static bool member_fits(const struct op_file *f, const struct node *key, const struct node *fallback, enum field_kind *own, size_t *offset,
                        struct error *err)
{
    enum field_kind said = *own, kind = FIELD_INT;
    if (!op_file_is_image(f) || !op_image_member(f, key->text, offset, &kind))
        return true;
    *own = kind;
    if (kind == FIELD_INT || kind == FIELD_REAL || kind == FIELD_WORD)
        return said == kind || node_error(key, err, "field '%s' of an op of images is %s", key->text,
                                          kind == FIELD_INT    ? "a whole number"
                                          : kind == FIELD_REAL ? "a real: `type: real`"
                                                               : "one of `words:`");
    return (said == FIELD_INT && !fallback) || node_error(key, err, "field '%s' of an op of images has words, but no default", key->text);
}

static bool read_limits(const struct node *least, const struct node *most, struct op_field *out, struct error *err)
{
    if (out->kind == FIELD_REAL)
        return (!least || node_real(least, "min", out->least, out->most, &out->least, err)) &&
               (!most || node_real(most, "max", out->least, out->most, &out->most, err));
    return (!least || node_int(least, "min", INT32_MIN, SHAPE_MAX_ELEMENTS, &out->min, err)) &&
           (!most || node_int(most, "max", out->min, SHAPE_MAX_ELEMENTS, &out->max, err));
}

static bool read_field(struct op_file *f, const struct node *key, const struct node *n, struct op_field *out, struct error *err)
{
    static const char *const keys[] = {"default", "min", "max", "words", "type", "what", NULL}, *const types[] = {"whole", "real", NULL};
    bool map = n->kind == NODE_MAP;
    const struct node *fallback = map                    ? node_get(n, "default")
                                  : n->kind == NODE_NULL ? NULL
                                                         : n,
                      *words = node_get(n, "words"), *type = node_get(n, "type"), *least = node_get(n, "min"), *most = node_get(n, "max"),
                      *what = node_get(n, "what");
    if ((map && !node_check_keys(n, key->text, keys, err)) || !op_file_new_name(f, key, "field", err))
        return false;
    int kind = type ? node_word(type, "type", types, err) : 0;
    const char *text = what ? node_text(what, "what", err) : "";
    enum field_kind own = words ? FIELD_WORD : kind == 1 ? FIELD_REAL : FIELD_INT;
    size_t offset = offsetof(struct work, value) + (size_t)f->field_count * sizeof(int64_t);
    if (kind < 0 || !member_fits(f, key, fallback, &own, &offset, err))
        return false;
    *out = (struct op_field){.name = key->text,
                             .kind = own,
                             .offset = offset,
                             .fallback = OP_REQUIRED,
                             .min = 1,
                             .max = SHAPE_MAX_ELEMENTS,
                             .least = -FIELD_REAL_MOST,
                             .most = FIELD_REAL_MOST,
                             .what = text};
    if (!text || !read_limits(least, most, out, err))
        return false;
    if (words) {
        const char **list = xcalloc((size_t)words->count + 1, sizeof *list);
        out->words = list;
        if (words->kind != NODE_LIST || !words->count)
            return node_error(words, err, "words: a list is expected, like [sum, max]");
        for (int i = 0; i < words->count; i++)
            if (!(list[i] = node_text(words->items[i], "words", err)))
                return false;
    }
    if (op_file_is_image(f) && !strcmp(out->name, "kernel") && out->max > OP_IMAGE_KERNEL) {
        if (most)
            return node_error(most, err, "kernel: at most %d taps in each direction", OP_IMAGE_KERNEL);
        out->max = OP_IMAGE_KERNEL;
    }
    if (!fallback)
        return true;
    if (words)
        return (out->fallback = node_word(fallback, key->text, out->words, err)) >= 0;
    if (kind == 0)
        return node_int(fallback, key->text, out->min, out->max, &out->fallback, err);
    out->fallback = 0;
    return node_real(fallback, key->text, out->least, out->most, &out->real, err);
}

bool op_file_read_fields(struct op_file *f, const struct node *n, struct error *err)
{
    struct op_field *fields = xcalloc((size_t)(n ? n->count : 0) + 1 + OP_IMAGE_FIELDS, sizeof *fields);
    f->op.fields = fields;
    f->op.volume = op_file_is_image(f) && node_get(n, "d");
    for (int i = 0; op_file_is_image(f) && i < OP_IMAGE_FIELDS; i++) /* default size fields, for names that the file does not define */
        if (!node_get(n, op_image_fields[i].name)) {
            struct op_field *usual = &fields[f->field_count++];
            *usual = op_image_fields[i];
            op_image_member(f, usual->name, &usual->offset, &usual->kind); /* h of a volume is that of a plane */
        }
    if (!n && op_file_is_image(f))
        return true;
    if (!n || n->kind != NODE_MAP || !n->count)
        return node_error(n ? n : f->root, err, "an op needs `fields:`, a map of names: {rows: {what: rows}, cols: 1024}");
    if (f->field_count + n->count > WORK_VALUES)
        return node_error(n, err, "%d fields; at most %d", f->field_count + n->count, WORK_VALUES);
    for (int i = 0; i < n->count; i++) {
        if (!read_field(f, n->keys[i], n->items[i], &fields[f->field_count], err))
            return false;
        f->field_count++;
    }
    return true;
}

bool op_file_optional(struct op_file *f, const struct node *map, const char *key, struct expr **out, struct error *err)
{
    const struct node *n = node_get(map, key);
    return !n || (*out = op_file_expr(f, n, err)) != NULL;
}

bool op_file_exprs(struct op_file *f, const struct node *n, struct expr ***out, int *count, struct error *err)
{
    int total = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    *out = xcalloc((size_t)total + 1, sizeof **out);
    for (int i = 0; i < total; i++)
        if (!((*out)[(*count)++] = op_file_expr(f, n->kind == NODE_LIST ? n->items[i] : n, err)))
            return false;
    return true;
}

static bool known_as(const char *const *names, int count, const char *name)
{
    return ANY_OF(i, count, !strcmp(names[i], name));
}

/* A condition, or {message if it is false: CONDITION}, or a list of these. */
bool op_file_read_needs(struct op_file *f, const struct node *n, struct error *err)
{
    int total = !n ? 0 : n->kind == NODE_LIST ? n->count : 1;
    f->needs = xcalloc((size_t)total + 1, sizeof *f->needs);
    f->need_says = xcalloc((size_t)total + 1, sizeof *f->need_says);
    for (int i = 0; i < total; i++) {
        const struct node *one = n->kind == NODE_LIST ? n->items[i] : n;
        bool says = one->kind == NODE_MAP && one->count == 1;
        f->need_says[i] = says ? one->keys[0]->text : NULL;
        if (!(f->needs[f->need_count++] = op_file_expr(f, says ? one->items[0] : one, err)))
            return false;
    }
    return true;
}

/* Does the op have this side: the field that it is of, and for planes a depth? */
static bool side_of_op(const struct op_file *f, enum work_side side)
{
    bool deep = side == SIDE_pad_front || side == SIDE_pad_back || side == SIDE_stride_z || side == SIDE_dilation_z, there = false;
    for (int i = 0; i < f->field_count; i++)
        there |= f->op.fields[i].offset == side_base(side);
    return there && (!deep || f->op.volume);
}

/* Lists the names that expressions may use so far, in order of definition. With a field `kernel`: also the sizes of the filter or window.
 */
static void list_symbols(struct op_file *f)
{
    int most = f->field_count + f->let_count + 6 + SIDE_COUNT, count = 0, names = 0;
    struct op_symbol *symbols = xcalloc((size_t)most + 1, sizeof *symbols);
    free(f->symbol_names);
    f->symbol_names = xcalloc((size_t)most + 6, sizeof *f->symbol_names);
    for (int i = 0; i < f->field_count; i++) {
        const struct op_field *field = &f->op.fields[i];
        bool kernel = op_file_is_image(f) && !strcmp(field->name, "kernel"), whole = field->kind == FIELD_INT;
        const struct op_symbol own[] = {{field->name, field->offset, field->what}},
                               taps[] = {{"r", offsetof(struct work, r), "filter or window height"},
                                         {"s", offsetof(struct work, s), "filter or window width"},
                                         {"t", offsetof(struct work, t), "filter depth"}};
        for (int k = 0; k < (kernel ? f->op.volume ? 3 : 2 : 1); k++) {
            const struct op_symbol *one = kernel ? &taps[k] : own;
            f->symbol_names[names++] = one->name;
            if (whole)
                symbols[count++] = *one;
        }
    }
    for (int i = 0; i < f->let_count; i++) {
        f->symbol_names[names++] = f->let_names[i];
        symbols[count++] = (struct op_symbol){f->let_names[i], f->let_offsets[i], expr_text(f->lets[i])};
    }
    static const struct op_symbol usual[] = {{"k", offsetof(struct work, k), "output channels"},
                                             {"p", offsetof(struct work, p), "output height, before any epilogue"},
                                             {"q", offsetof(struct work, q), "output width, before any epilogue"}};
    for (int i = 0; i < 3 && op_file_is_image(f); i++) /* default: the input's */
        if (!known_as(f->symbol_names, names, usual[i].name)) {
            f->symbol_names[names++] = usual[i].name;
            symbols[count++] = usual[i];
        }
    for (int i = 0; op_file_is_image(f) && i < SIDE_COUNT; i++) {
        const struct op_symbol side = side_symbol((enum work_side)i);
        if (!side_of_op(f, (enum work_side)i) || known_as(f->symbol_names, names, side.name))
            continue;
        f->symbol_names[names++] = side.name;
        symbols[count++] = side;
    }
    static const char *const texts[] = {"dtype", "layout", "math", "mode", "to"};
    for (int i = 0; i < (op_file_is_image(f) ? 5 : 3); i++)
        if (!known_as(f->symbol_names, names, texts[i]))
            f->symbol_names[names++] = texts[i];
    free((void *)(uintptr_t)f->op.symbols);
    f->op.symbols = symbols;
}

/* A let may use the fields and the lets before it. */
bool op_file_read_lets(struct op_file *f, const struct node *n, struct error *err)
{
    int count = n && n->kind == NODE_MAP ? n->count : 0;
    list_symbols(f);
    if (n && n->kind != NODE_MAP)
        return node_error(n, err, "let: a map is expected, like {half: cols / 2}");
    if (f->field_count + count > WORK_VALUES)
        return node_error(n, err, "%d fields and %d lets; at most %d together", f->field_count, count, WORK_VALUES);
    f->lets = xcalloc((size_t)count + 1, sizeof *f->lets);
    f->let_names = xcalloc((size_t)count + 1, sizeof *f->let_names);
    f->let_offsets = xcalloc((size_t)count + 1, sizeof *f->let_offsets);
    for (int i = 0; i < count; i++) {
        enum field_kind kind = FIELD_INT;
        if (!op_file_new_name(f, n->keys[i], "let", err) || !(f->lets[i] = op_file_expr(f, n->items[i], err)))
            return false;
        f->let_offsets[i] = offsetof(struct work, value) + (size_t)(f->field_count + i) * sizeof(int64_t);
        if (op_file_is_image(f) && op_image_member(f, n->keys[i]->text, &f->let_offsets[i], &kind) && kind != FIELD_INT)
            return node_error(n->keys[i], err, "let '%s': an op of images needs an integer here", n->keys[i]->text);
        f->let_names[f->let_count++] = n->keys[i]->text;
        list_symbols(f);
    }
    return true;
}
