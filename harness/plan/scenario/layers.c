/* A layer's keys become a work. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include "op/file/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const common_keys[] = {"op", "dtype", "layout", "math", "epilogue", "mask", "marks", "repeat", "variants", NULL};
#define KEYS_MAX 1024

static size_t add_word(const char **words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return count;
    if (count + 1 < KEYS_MAX)
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* Does a layer, or do the defaults, name it? */
static bool op_used(const struct node *root, const struct op *op)
{
    const struct node *layers = node_get(root, "layers"), *usual = node_get(node_get(root, "defaults"), "op");
    bool used = usual && usual->kind == NODE_SCALAR && !strcmp(usual->text, op->name);
    for (int i = 0; layers && layers->kind == NODE_MAP && i < layers->count && !used; i++) {
        const struct node *n = node_get(layers->items[i], "op");
        used = n && n->kind == NODE_SCALAR && !strcmp(n->text, op->name);
    }
    return used;
}

const char *const *field_names(const struct node *root)
{
    static const char *words[KEYS_MAX];
    size_t count = 0;
    const struct op *op;
    for (int i = 0; (op = op_at(i)); i++)
        for (const struct op_field *f = op->fields; f->name && (!op->file || op_used(root, op)); f++)
            count = add_word(words, count, f->name);
    count = add_word(words, count, "dtype");
    count = add_word(words, count, "layout");
    add_word(words, count, "math");
    return words;
}

static const struct op_field *find_field(const struct op *op, const char *name)
{
    for (const struct op_field *f = op->fields; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

bool field_known(const struct op *op, const char *name)
{
    bool one_layout = !(op->layouts & (op->layouts - 1)); /* there is nothing to say */
    return find_field(op, name) || !strcmp(name, "dtype") || (!strcmp(name, "layout") && !one_layout) ||
           (!strcmp(name, "math") && op->has_math) || (!strcmp(name, "epilogue") && op->epilogues);
}

static bool epilogue_parse(const struct node *n, struct work *work, struct error *err);

static bool set_kernel(struct work *work, const struct op_field *f, const char *what, const struct node *n, struct error *err)
{
    if (n->kind != NODE_LIST)
        return node_int(n, what, f->min, f->max, &work->r, err) && (work->s = work->r, work->t = work->op->volume ? work->r : 0, true);
    if (work->op->volume && n->count == 3)
        return node_int(n->items[0], what, f->min, f->max, &work->t, err) && node_int(n->items[1], what, f->min, f->max, &work->r, err) &&
               node_int(n->items[2], what, f->min, f->max, &work->s, err);
    if (work->op->volume)
        return node_error(n, err, "%s: a number or [depth, height, width] is expected, not a list of %d", what, n->count);
    if (n->count != 2)
        return node_error(n, err, "%s: a number or [height, width] is expected, not a list of %d", what, n->count);
    return node_int(n->items[0], what, f->min, f->max, &work->r, err) && node_int(n->items[1], what, f->min, f->max, &work->s, err);
}

static bool set_word(const struct node *n, const char *what, const char *const *words, int *out, struct error *err)
{
    int i = node_word(n, what, words, err);
    *out = i + 1; /* enums have NONE at 0 */
    return i >= 0;
}

bool field_set(struct work *work, const char *name, const char *what, const struct node *n, struct error *err)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    const struct op_field *f = find_field(work->op, name);
    enum field_kind kind = f ? f->kind : !strcmp(name, "dtype") ? FIELD_DTYPE : !strcmp(name, "layout") ? FIELD_LAYOUT : FIELD_MATH;
    void *at = f ? (char *)work + f->offset : NULL;
    const char *const *words = kind == FIELD_DTYPE    ? dtype_names
                               : kind == FIELD_LAYOUT ? layout_names
                               : kind == FIELD_MATH   ? math_names
                                                      : modes;
    int word;
    if (!strcmp(name, "epilogue"))
        return epilogue_parse(n, work, err);
    if (kind == FIELD_REAL)
        return node_real(n, what, f->least, f->most, at, err);
    if (kind == FIELD_WORD) {
        int index = node_word(n, what, f->words, err);
        *(int64_t *)at = index;
        return index >= 0;
    }
    if (kind == FIELD_INT)
        return !strcmp(name, "kernel")                   ? set_kernel(work, f, what, n, err)
               : work->op->image && sides_field(f->name) ? sides_set(work, f, what, n, err)
                                                         : node_int(n, what, f->min, f->max, at, err);
    if (!set_word(n, what, words, &word, err))
        return false;
    switch (kind) {
    case FIELD_DTYPE: *(at ? (enum dtype *)at : &work->dtype) = (enum dtype)word; break;
    case FIELD_LAYOUT: *(at ? (enum layout *)at : &work->layout) = (enum layout)word; break;
    case FIELD_MATH: work->math = (enum math)word; break;
    case FIELD_D2S_MODE: *(at ? (enum d2s_mode *)at : &work->mode) = (enum d2s_mode)word; break;
    case FIELD_INT:
    case FIELD_REAL:
    case FIELD_WORD: break;
    }
    return true;
}

bool defaults_check(const struct node *root, const struct node *defaults, struct error *err)
{
    const char *known[KEYS_MAX];
    char what[WHAT_MAX];
    size_t count = 0;
    for (const char *const *w = field_names(root); *w; w++)
        count = add_word(known, count, *w);
    count = add_word(known, count, "op");
    add_word(known, count, "epilogue");
    if (!defaults)
        return true;
    if (!node_check_keys(defaults, "defaults", known, err))
        return false;
    for (int i = 0; i < defaults->count; i++) { /* a wrong value is reported even if no layer uses it */
        struct work scratch = {0};
        snprintf(what, sizeof what, "defaults: %.100s", defaults->keys[i]->text);
        const struct op *op;
        for (int any = 0; any < 2 && !scratch.op; any++) /* of an op that a layer has, else of any */
            for (int k = 0; !scratch.op && (op = op_at(k)); k++)
                if (field_known(op, defaults->keys[i]->text) && (any || op_used(root, op)))
                    scratch.op = op;
        if (scratch.op && !field_set(&scratch, defaults->keys[i]->text, what, defaults->items[i], err))
            return false;
    }
    return true;
}

static bool epilogue_item(const struct node *n, struct epilogue *out, struct error *err)
{
    static const char *const d2s_keys[] = {"block", "mode", NULL}, *const modes[] = {"DCR", "CRD", NULL};
    bool map = n->kind == NODE_MAP;
    if (map && n->count != 1)
        return node_error(n, err, "epilogue: an item must be a word or a map with one key, such as {leaky_relu: 0.1}");
    int kind = node_word(map ? n->keys[0] : n, "epilogue", epilogue_names, err), word;
    const struct node *value = map ? n->items[0] : NULL;
    if (kind < 0)
        return false;
    *out = (struct epilogue){.kind = (enum epilogue_kind)kind, .alpha = kind == EPILOGUE_LEAKY_RELU ? 0.01 : 0};
    switch (out->kind) {
    case EPILOGUE_RESIDUAL: return !map || node_real(value, "residual", 1e-6, 1000, &out->scale, err);
    case EPILOGUE_CLIP:
        if (!map || value->kind != NODE_LIST || value->count != 2)
            return node_error(n, err, "epilogue: clip needs the least and the largest value, like {clip: [0, 6]}");
        return node_real(value->items[0], "clip", -1e6, 1e6, &out->alpha, err) &&
               node_real(value->items[1], "clip", -1e6, 1e6, &out->most, err);
    case EPILOGUE_LEAKY_RELU: return !map || node_real(value, "leaky_relu", -1000, 1000, &out->alpha, err);
    case EPILOGUE_DEPTH_TO_SPACE:
        if (!map || !node_check_keys(value, "depth_to_space", d2s_keys, err))
            return map ? false : node_error(n, err, "epilogue: depth_to_space needs {depth_to_space: {block: 2, mode: CRD}}");
        if (!node_get(value, "block") || !node_get(value, "mode"))
            return node_error(value, err, "depth_to_space: '%s' is missing", node_get(value, "block") ? "mode" : "block");
        if (!node_int(node_get(value, "block"), "block", 1, 64, &out->block, err) ||
            !set_word(node_get(value, "mode"), "mode", modes, &word, err))
            return false;
        out->mode = (enum d2s_mode)word;
        return true;
    case EPILOGUE_LAYOUT:
        if (!map)
            return node_error(n, err, "epilogue: layout needs a value, like {layout: NCHW}");
        if (!set_word(value, "layout", layout_names, &word, err))
            return false;
        out->layout = (enum layout)word;
        return true;
    default: return !map || node_error(value, err, "epilogue: %s takes no value", epilogue_names[kind]);
    }
}

static bool epilogue_parse(const struct node *n, struct work *work, struct error *err)
{
    work->epilogue_count = 0;
    if (n->kind == NODE_SCALAR && n->text && !strcmp(n->text, "none"))
        return true;
    if (n->kind != NODE_LIST)
        return node_error(n, err, "epilogue: a list is expected, like [bias, relu]");
    if (n->count > WORK_MAX_EPILOGUE)
        return node_error(n, err, "epilogue: %d items; at most %d", n->count, WORK_MAX_EPILOGUE);
    for (int i = 0; i < n->count; i++)
        if (!epilogue_item(n->items[i], &work->epilogue[work->epilogue_count++], err))
            return false;
    return true;
}

bool epilogue_label(const struct node *n, struct text *t, struct error *err)
{
    struct work scratch = {0};
    SCOPED_TEXT said = {0};
    if (!epilogue_parse(n, &scratch, err))
        return false;
    work_describe_epilogue(&scratch, &said);
    text_add(t, said.len ? text_get(&said) + strlen(" +") : "none");
    return true;
}

struct only_mask {
    struct mask *mask;
    int count;
};

static bool take_mask(void *context, const struct node *n, const struct mask *mask, char *label, struct error *err)
{
    struct only_mask *only = context;
    free(label);
    *only->mask = *mask;
    return !only->count++ || node_error(n, err, "mask: a layer has one mask; for several use an axis: axes: {mask: {values: [..]}}");
}

static bool parse_mask(const struct scenario *s, const struct node *n, struct work *work, struct error *err)
{
    struct only_mask only = {.mask = &work->mask};
    return masks_parse(s, n, &(struct mask){0}, &(struct mask_sink){&only, take_mask}, err);
}

static bool set_field_of(struct layer *layer, const struct op_field *f, const struct node *n, struct error *err)
{
    char what[WHAT_MAX];
    snprintf(what, sizeof what, "layer '%.90s': %s", layer->name, f->name);
    if (n)
        return field_set(&layer->work, f->name, what, n, err);
    if (f->fallback == OP_REQUIRED) {
        node_error(layer->node, err, "layer '%s': '%s' is missing (%s)", layer->name, f->name, f->what);
        return error_hint(err, "bench list op %s", layer->work.op->name);
    }
    if (f->kind == FIELD_INT && !strcmp(f->name, "kernel"))
        layer->work.r = layer->work.s = f->fallback, layer->work.t = layer->work.op->volume ? f->fallback : 0;
    else if (f->kind == FIELD_REAL)
        *(double *)((char *)&layer->work + f->offset) = f->real;
    else if (f->kind == FIELD_INT || f->kind == FIELD_WORD)
        memcpy((char *)&layer->work + f->offset, &f->fallback, sizeof f->fallback);
    return true;
}

static bool set_fields(struct layer *layer, const struct node *map, const struct node *defaults, struct error *err)
{
    static const char *const rest[] = {"dtype", "layout", "math"};
    struct work *work = &layer->work;
    enum dtype usual = DTYPE_F32;
    char what[WHAT_MAX];
    for (const struct op_field *f = work->op->fields; f->name; f++)
        if (!set_field_of(layer, f, node_get(map, f->name) ? node_get(map, f->name) : node_get(defaults, f->name), err))
            return false;
    for (int i = 0; i < 3; i++) {
        const struct node *own = node_get(map, rest[i]), *usually = node_get(defaults, rest[i]);
        snprintf(what, sizeof what, "layer '%.90s': %s", layer->name, rest[i]);
        if (!field_known(work->op, rest[i])) {
            if (own)
                return node_error(own, err,
                                  i == 2 ? "layer '%s': %s computes nothing, so it has no math mode"
                                         : "layer '%s': %s has no layouts to choose from",
                                  layer->name, work->op->name);
            continue;
        }
        if (usually && !field_set(work, rest[i], what, usually, err))
            return false;
        if (i == 0)
            usual = work->dtype;
        if (own && !field_set(work, rest[i], what, own, err))
            return false;
    }
    if (!node_get(map, "math") && work->dtype != usual) /* the default math mode applies to the default dtype */
        work->math = MATH_NONE;
    return true;
}

/* The node for a message of the op: "math f32 works on ..." belongs to the layer's math, or to the defaults'. */
static const struct node *place_of(const struct node *map, const struct node *defaults, const char *message)
{
    SCOPED char *word = xstrndup(message, strcspn(message, " :"));
    const struct node *n = node_get(map, word) ? node_get(map, word) : node_get(defaults, word);
    return n ? n : map;
}

static bool set_rest(const struct scenario *s, struct layer *out, const struct node *map, const struct node *defaults, struct error *err)
{
    const struct node *epilogue = node_get(map, "epilogue"), *repeat = node_get(map, "repeat"), *mask = node_get(map, "mask");
    if (!epilogue && out->work.op->epilogues)
        epilogue = node_get(defaults, "epilogue");
    if ((epilogue && !epilogue_parse(epilogue, &out->work, err)) || (mask && !parse_mask(s, mask, &out->work, err)) ||
        !marks_parse(map, &out->work.mask, err) || (repeat && !node_int(repeat, "repeat", 1, 1000000, &out->repeat, err)))
        return false;
    if (node_get(map, "marks") && out->work.mask.pattern == MASK_NONE)
        return node_error(node_key(map, "marks"), err, "layer '%s': marks needs a mask", out->name);
    struct error why = {0};
    if (work_finish(&out->work, &why))
        return true;
    node_error(place_of(map, defaults, why.text), err, "layer '%s': %s", out->name, why.text);
    return why.hint[0] ? error_hint(err, "%s", why.hint) : false;
}

/* Fills the fields that a layer does not set: the usual value if the op takes it, else the op's first. */
static int first_of(unsigned bits, int usual)
{
    int first = usual;
    for (int i = 31; i >= 0 && !(bits >> usual & 1); i--)
        first = bits >> i & 1 ? i : first;
    return first;
}

bool layer_parse(const struct scenario *s, const char *name, const struct node *map, const struct node *defaults, struct layer *out,
                 struct error *err)
{
    const char *known[KEYS_MAX];
    size_t count = 0;
    char what[WHAT_MAX];
    snprintf(what, sizeof what, "layer '%.100s'", name);
    *out = (struct layer){.name = xstrdup(name), .node = map, .repeat = 1};
    if (map->kind != NODE_MAP)
        return node_error(map, err, "%s: a map is expected, like {op: conv2d, c: 64, k: 64}", what);
    const struct node *op = node_get(map, "op") ? node_get(map, "op") : node_get(defaults, "op");
    if (!op)
        return node_error(map, err, "%s: 'op' is missing", what);
    int index = node_word(op, "op", op_names(), err);
    if (index < 0)
        return op->kind == NODE_SCALAR ? op_unknown_name(op->text, err) : op_unknown(err);
    out->work = (struct work){.op = op_at(index), .data = DATA_NORMAL, .seed = 1};
    out->work.dtype = (enum dtype)first_of(out->work.op->dtypes, DTYPE_F32);
    out->work.layout = (enum layout)first_of(out->work.op->layouts, LAYOUT_NCHW);
    for (const struct op_field *f = out->work.op->fields; f->name; f++)
        count = add_word(known, count, f->name);
    for (int i = 0; common_keys[i]; i++)
        count = add_word(known, count, common_keys[i]);
    return node_check_keys(map, what, known, err) && set_fields(out, map, defaults, err) && set_rest(s, out, map, defaults, err);
}
