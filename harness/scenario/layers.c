/* A layer's keys become a work. */
#include "base/text.h"
#include "scenario/private.h"
#include <stdio.h>
#include <string.h>

static const char *const common_keys[] = {"op", "dtype", "layout", "math", "epilogue", "mask", "repeat", NULL};
#define KEYS_MAX 64

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

const char *const *field_names(void)
{
    static const char *words[KEYS_MAX];
    size_t count = 0;
    for (int i = 0; op_table[i]; i++)
        for (const struct op_field *f = op_table[i]->fields; f->name; f++)
            count = add_word(words, count, f->name);
    count = add_word(words, count, "dtype");
    count = add_word(words, count, "layout");
    add_word(words, count, "math");
    return words;
}

bool defaults_check(const struct node *defaults, struct error *err)
{
    const char *known[2 * KEYS_MAX];
    size_t count = 0;
    for (const char *const *w = field_names(); *w; w++)
        known[count++] = *w;
    known[count++] = "op";
    known[count++] = "epilogue";
    known[count] = NULL;
    return !defaults || node_check_keys(defaults, "defaults", known, err);
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
    return find_field(op, name) || !strcmp(name, "dtype") || !strcmp(name, "layout") || (!strcmp(name, "math") && op->has_math);
}

static bool set_kernel(struct work *work, const struct op_field *f, const struct node *n, struct error *err)
{
    if (n->kind != NODE_LIST)
        return node_int(n, "kernel", f->min, f->max, &work->r, err) && (work->s = work->r, true);
    if (n->count != 2)
        return node_error(n, err, "kernel: a number or [height, width] is expected, not a list of %d", n->count);
    return node_int(n->items[0], "kernel height", f->min, f->max, &work->r, err) && node_int(n->items[1], "kernel width", f->min, f->max, &work->s, err);
}

static bool set_word(const struct node *n, const char *what, const char *const *words, int *out, struct error *err)
{
    int i = node_word(n, what, words, err);
    *out = i + 1; /* enums have NONE at 0 */
    return i >= 0;
}

bool field_set(struct work *work, const char *name, const struct node *n, bool *known, struct error *err)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    const struct op_field *f = find_field(work->op, name);
    int word;
    *known = field_known(work->op, name);
    if (!*known)
        return true;
    enum field_kind kind = f ? f->kind : !strcmp(name, "dtype") ? FIELD_DTYPE : !strcmp(name, "layout") ? FIELD_LAYOUT : FIELD_MATH;
    char *at = f ? (char *)work + f->offset : NULL;
    switch (kind) {
    case FIELD_INT: return !strcmp(name, "kernel") ? set_kernel(work, f, n, err) : node_int(n, name, f->min, f->max, (int64_t *)at, err);
    case FIELD_DTYPE:
        if (!set_word(n, name, dtype_names, &word, err))
            return false;
        *(at ? (enum dtype *)at : &work->dtype) = (enum dtype)word;
        return true;
    case FIELD_LAYOUT:
        if (!set_word(n, name, layout_names, &word, err))
            return false;
        *(at ? (enum layout *)at : &work->layout) = (enum layout)word;
        return true;
    case FIELD_MATH:
        if (!set_word(n, name, math_names, &word, err))
            return false;
        work->math = (enum math)word;
        return true;
    case FIELD_D2S_MODE:
        if (!set_word(n, name, modes, &word, err))
            return false;
        work->mode = (enum d2s_mode)word;
        return true;
    }
    return false;
}

static bool epilogue_item(const struct node *n, struct epilogue *out, struct error *err)
{
    static const char *const d2s_keys[] = {"block", "mode", NULL}, *const modes[] = {"DCR", "CRD", NULL};
    bool map = n->kind == NODE_MAP;
    if (map && n->count != 1)
        return node_error(n, err, "epilogue: an item is a word or a map of one key, like {leaky_relu: 0.1}");
    int kind = node_word(map ? n->keys[0] : n, "epilogue", epilogue_names, err), word;
    const struct node *value = map ? n->items[0] : NULL;
    if (kind < 0)
        return false;
    *out = (struct epilogue){.kind = (enum epilogue_kind)kind, .alpha = 0.01};
    switch (out->kind) {
    case EPILOGUE_BIAS:
    case EPILOGUE_RELU:
    case EPILOGUE_RESIDUAL: return !map || node_error(value, err, "epilogue: %s takes no value", epilogue_names[kind]);
    case EPILOGUE_LEAKY_RELU: return !map || node_real(value, "leaky_relu", -1000, 1000, &out->alpha, err);
    case EPILOGUE_DEPTH_TO_SPACE:
        if (!map || !node_check_keys(value, "depth_to_space", d2s_keys, err))
            return map ? false : node_error(n, err, "epilogue: depth_to_space needs {depth_to_space: {block: 2, mode: CRD}}");
        if (!node_get(value, "block") || !node_get(value, "mode"))
            return node_error(value, err, "depth_to_space: '%s' is missing", node_get(value, "block") ? "mode" : "block");
        if (!node_int(node_get(value, "block"), "block", 1, 64, &out->block, err) || !set_word(node_get(value, "mode"), "mode", modes, &word, err))
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
    case EPILOGUE_COUNT: break;
    }
    return false;
}

static bool epilogue_parse(const struct node *n, struct work *work, struct error *err)
{
    if (n->kind != NODE_LIST)
        return node_error(n, err, "epilogue: a list is expected, like [bias, relu]");
    if (n->count > WORK_MAX_EPILOGUE)
        return node_error(n, err, "epilogue: %d items; at most %d", n->count, WORK_MAX_EPILOGUE);
    work->epilogue_count = 0;
    for (int i = 0; i < n->count; i++)
        if (!epilogue_item(n->items[i], &work->epilogue[work->epilogue_count++], err))
            return false;
    return true;
}

/* density and seed come as text, because a list of them makes several masks of one entry. */
bool mask_parse(const struct node *n, const char *density, const char *seed, struct mask *out, struct error *err)
{
    static const char *const keys[] = {"pattern", "density", "radius", "seed", "path", "marks", NULL};
    long long value;
    *out = (struct mask){.seed = 1, .radius = 24};
    if (n->kind == NODE_SCALAR) {
        int p = node_word(n, "mask", mask_pattern_names, err);
        if (p < 0)
            return false;
        out->pattern = (enum mask_pattern)p;
        if (p != MASK_NONE && p != MASK_FULL && p != MASK_EMPTY && p != MASK_CHECKERBOARD && p != MASK_PIXEL)
            return node_error(n, err, "mask: %s needs a map, like {pattern: %s, density: 0.1}", n->text, n->text);
        return true;
    }
    if (!node_check_keys(n, "mask", keys, err))
        return false;
    const struct node *pattern = node_get(n, "pattern"), *path = node_get(n, "path"), *radius = node_get(n, "radius");
    if (!pattern)
        return node_error(n, err, "mask: 'pattern' is missing");
    int p = node_word(pattern, "pattern", mask_pattern_names, err);
    if (p < 0)
        return false;
    out->pattern = (enum mask_pattern)p;
    bool wants = p == MASK_IID || p == MASK_BLOBS || p == MASK_BOX || p == MASK_SCANLINE;
    if (wants && !density)
        return node_error(n, err, "mask: pattern %s needs a density", mask_pattern_names[p]);
    if (density && (!text_to_real(density, &out->density) || !(out->density >= 0 && out->density <= 1)))
        return node_error(node_get(n, "density"), err, "density: %s is not between 0 and 1", density);
    if (seed && (!text_to_int(seed, &value) || value < 0))
        return node_error(node_get(n, "seed"), err, "seed: %s is no whole number", seed);
    if (seed)
        out->seed = (uint64_t)value;
    if (radius && !node_int(radius, "radius", 1, 4096, &out->radius, err))
        return false;
    if ((p == MASK_FILE) != (path != NULL))
        return node_error(path ? path : n, err, path ? "mask: only pattern file has a path" : "mask: pattern file needs a path");
    const char *text = path ? node_text(path, "path", err) : "";
    if (!text)
        return false;
    if (strlen(text) >= sizeof out->path)
        return node_error(path, err, "path: longer than %zu characters", sizeof out->path - 1);
    snprintf(out->path, sizeof out->path, "%s", text);
    return true;
}

static bool set_fields(struct layer *layer, const struct node *map, const struct node *defaults, struct error *err)
{
    struct work *work = &layer->work;
    bool known;
    for (const struct op_field *f = work->op->fields; f->name; f++) {
        const struct node *n = node_get(map, f->name);
        if (!n)
            n = node_get(defaults, f->name);
        if (n && !field_set(work, f->name, n, &known, err))
            return false;
        if (n)
            continue;
        if (f->fallback == OP_REQUIRED) {
            node_error(layer->node, err, "layer '%s': '%s' is missing (%s)", layer->name, f->name, f->what);
            return error_hint(err, "bench list op %s", work->op->name);
        }
        if (f->kind == FIELD_INT)
            *(int64_t *)(void *)((char *)work + f->offset) = f->fallback;
    }
    static const char *const rest[] = {"dtype", "layout", "math"};
    for (int i = 0; i < 3; i++) {
        const struct node *own = node_get(map, rest[i]), *n = own ? own : node_get(defaults, rest[i]);
        if (!n)
            continue;
        if (!field_set(work, rest[i], n, &known, err))
            return false;
        if (!known && own)
            return node_error(own, err, "layer '%s': %s computes nothing, so it has no math mode", layer->name, work->op->name);
    }
    /* a default math mode that does not fit a layer's own dtype is not meant for it */
    if (!node_get(map, "math") && node_get(map, "dtype") && work->op->has_math)
        work->math = math_default(work->dtype);
    return true;
}

bool layer_parse(struct scenario *s, const char *name, const struct node *map, const struct node *defaults, struct layer *out, struct error *err)
{
    const char *known[KEYS_MAX];
    size_t count = 0;
    char what[160];
    snprintf(what, sizeof what, "layer '%.100s'", name);
    *out = (struct layer){.name = xstrdup(name), .node = map, .repeat = 1};
    if (map->kind != NODE_MAP)
        return node_error(map, err, "%s: a map is expected, like {op: conv2d, c: 64, k: 64}", what);
    const struct node *op = node_get(map, "op") ? node_get(map, "op") : node_get(defaults, "op");
    if (!op)
        return node_error(map, err, "%s: 'op' is missing", what);
    int index = node_word(op, "op", op_names(), err);
    if (index < 0)
        return false;
    out->work = (struct work){.op = op_table[index], .dtype = DTYPE_F32, .layout = LAYOUT_NCHW, .data = DATA_NORMAL, .seed = 1};
    for (const struct op_field *f = out->work.op->fields; f->name; f++)
        count = add_word(known, count, f->name);
    for (int i = 0; common_keys[i]; i++)
        count = add_word(known, count, common_keys[i]);
    if (!node_check_keys(map, what, known, err) || !set_fields(out, map, defaults, err))
        return false;
    const struct node *epilogue = node_get(map, "epilogue"), *repeat = node_get(map, "repeat"), *mask = node_get(map, "mask");
    if (!epilogue && out->work.op->epilogues)
        epilogue = node_get(defaults, "epilogue");
    if (epilogue && !epilogue_parse(epilogue, &out->work, err))
        return false;
    if (mask) {
        const struct node *density = node_get(mask, "density"), *seed = node_get(mask, "seed");
        if (!mask_parse(mask, density && density->text ? density->text : NULL, seed && seed->text ? seed->text : NULL, &out->work.mask, err))
            return false;
    }
    if (repeat && !node_int(repeat, "repeat", 1, 1000000, &out->repeat, err))
        return false;
    struct error why = {0};
    if (!work_finish(&out->work, &why)) {
        node_error(map, err, "%s: %s", what, why.text);
        return why.hint[0] ? error_hint(err, "%s", why.hint) : false;
    }
    return true;
}
