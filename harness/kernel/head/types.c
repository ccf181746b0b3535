/* layout, dtype, math, epilogue, mask: what a variant can take. */
#include "kernel/head/head.h"
#include <stdio.h>
#include <string.h>

int head_slot(const struct head *h, const char *name)
{
    const struct tensor_role *role = op_role(h->op, name);
    return role ? role->slot : -1;
}

bool head_has_tensor(const struct head *h, const char *name, const struct node *n, struct error *err)
{
    return op_role(h->op, name) || !op_is_tensor(name) || node_error(n, err, "%s has no %s", h->op->name, name);
}

/* Which words are layouts of this tensor. */
static void layout_words(const struct tensor_role *role, const char *out[LAYOUT_COUNT + 1])
{
    int count = 0;
    for (int i = 1; i < LAYOUT_COUNT; i++)
        if (role->layouts >> i & 1)
            out[count++] = layout_name((enum layout)i);
    if (count > 1 && !role->constant)
        out[count++] = "same";
    out[count] = NULL;
}

/* Checks the keys of a map by tensor: tensors of the op, and `more`. */
static bool check_tensors(const struct head *h, const struct node *m, const char *what, const char *more, struct error *err)
{
    const char *keys[OP_MAX_TENSORS + 2];
    int count = 0;
    for (; h->op->roles[count]; count++)
        keys[count] = h->op->roles[count]->name;
    keys[count] = more;
    keys[count + 1] = NULL;
    for (int i = 0; m->kind == NODE_MAP && i < m->count; i++)
        if (!head_has_tensor(h, m->keys[i]->text, m->keys[i], err))
            return false;
    return node_check_keys(m, what, keys, err);
}

static bool add_choice(const struct node *n, const char *what, const char *const *words, int (*parse)(const char *name),
                       struct head_choice *out, struct error *err)
{
    int word = node_word(n, what, words, err);
    if (word < 0)
        return false;
    if (!strcmp(words[word], "same")) {
        if (out->same)
            return node_error(n, err, "%s: 'same' is listed twice", what);
        out->same = true;
        return true;
    }
    int value = parse(words[word]);
    for (int i = 0; i < out->count; i++)
        if (out->values[i] == value)
            return node_error(n, err, "%s: '%s' is listed twice", what, words[word]);
    out->values[out->count++] = value;
    return true;
}

static bool read_choice(const struct node *n, const char *what, const char *const *words, int (*parse)(const char *name),
                        struct head_choice *out, struct error *err)
{
    out->node = n;
    if (n->kind != NODE_LIST)
        return add_choice(n, what, words, parse, out, err);
    return ALL_OF(i, n->count, add_choice(n->items[i], what, words, parse, out, err)) &&
           (n->count > 0 || node_error(n, err, "%s is an empty list", what));
}

static int parse_layout(const char *name)
{
    return (int)layout_parse(name);
}

static int parse_dtype(const char *name)
{
    return (int)dtype_parse(name);
}

static bool read_layouts(struct head *h, const struct node *m, struct error *err)
{
    if (!check_tensors(h, m, "layout", NULL, err))
        return false;
    for (int i = 0; i < m->count; i++) {
        const struct tensor_role *role = op_role(h->op, m->keys[i]->text);
        const char *words[LAYOUT_COUNT + 1];
        char what[64];
        snprintf(what, sizeof what, "layout of %s", role->name);
        layout_words(role, words);
        if (!read_choice(m->items[i], what, words, parse_layout, &h->layout[role->slot], err))
            return false;
    }
    const struct head_choice *first = &h->layout[h->op->roles[0]->slot];
    return !first->same || node_error(first->node, err, "the input's layout cannot be 'same', which means the layout of the input");
}

static bool read_dtypes(struct head *h, const struct node *m, struct error *err)
{
    const char *words[DTYPE_COUNT + 1] = {0};
    int types = 0;
    for (; dtype_names[types]; types++)
        words[types] = dtype_names[types];
    words[types] = "same";
    if (!check_tensors(h, m, "dtype", "accumulate", err))
        return false;
    for (int i = 0; i < m->count; i++) {
        int slot = head_slot(h, m->keys[i]->text);
        char what[64];
        snprintf(what, sizeof what, "dtype of %s", m->keys[i]->text);
        if (!read_choice(m->items[i], what, words, parse_dtype, slot < 0 ? &h->accumulate : &h->dtype[slot], err))
            return false;
    }
    const struct head_choice *first = &h->dtype[h->op->roles[0]->slot];
    return !first->same || node_error(first->node, err, "the input's dtype cannot be 'same', which means the dtype of the input");
}

/* A list of words, or one word; each once. */
static bool read_word_list(const struct node *n, const char *what, const char *const *words, int *out, int *count, struct error *err)
{
    const struct node *const one[] = {n};
    const struct node *const *items = n->kind == NODE_LIST ? (const struct node *const *)n->items : one;
    int total = n->kind == NODE_LIST ? n->count : 1;
    for (int i = 0; i < total; i++) {
        int word = node_word(items[i], what, words, err);
        if (word < 0)
            return false;
        for (int j = 0; j < *count; j++)
            if (out[j] == word)
                return node_error(items[i], err, "%s: '%s' is listed twice", what, words[word]);
        out[(*count)++] = word;
    }
    return true;
}

static bool read_math(struct head *h, const struct node *n, struct error *err)
{
    int words[MATH_COUNT], count = 0;
    if (!h->op->has_math)
        return node_error(n, err, "%s only moves data: it has no math mode", h->op->name);
    if (!read_word_list(n, "math", math_names, words, &count, err))
        return false;
    for (int i = 0; i < count; i++)
        h->math[h->math_count++] = math_parse(math_names[words[i]]);
    return count > 0 || node_error(n, err, "math is an empty list");
}

static bool read_epilogue(struct head *h, const struct node *n, struct error *err)
{
    int words[EPILOGUE_COUNT], count = 0;
    if (!read_word_list(n, "epilogue", epilogue_names, words, &count, err))
        return false;
    for (int i = 0; i < count; i++)
        h->epilogue[h->epilogue_count++] = (enum epilogue_kind)words[i];
    return true;
}

bool head_has_epilogue(const struct head *h, enum epilogue_kind kind)
{
    return ANY_OF(i, h->epilogue_count, h->epilogue[i] == kind);
}

static bool read_tile(struct head *h, const struct node *m, struct error *err)
{
    const struct node *tile = node_get(m, "tile"), *weights = node_get(m, "weights");
    if (tile && !head_expr_list(tile, "tile", 3, &h->mask.tile, err))
        return false;
    if (tile && h->mask.tile.count < 2)
        return node_error(
            tile, err,
            "tile of mask: height and width in outputs are expected, such as [8, 16]; for conv3d also the depth, such as [4, 4, 32]");
    if (weights && !tile)
        return node_error(weights, err, "weights of mask are bytes per tile, but the mask has no `tile:`");
    return !weights || (h->mask.weights = expr_parse(weights, err)) != NULL;
}

/* Reads which parts of the outputs and of the written mask are not compared. */
static bool read_leave(struct head *h, const struct node *m, struct error *err)
{
    static const char *const by_words[] = {"pixel", "tile", NULL}, *const padding_words[] = {"zero", "any", NULL};
    const struct node *by = node_get(m, "by"), *padding = node_get(m, "padding");
    int b = by ? node_word(by, "by of mask", by_words, err) : 0;
    int p = b < 0 ? -1 : padding ? node_word(padding, "padding of mask", padding_words, err) : 0;
    h->mask.by_tile = b == 1;
    h->mask.by_found = !by && !h->mask.tile.count;
    h->mask.padding_found = !padding;
    h->mask.any_padding = p == 1;
    if (p >= 0 && b == 1 && (h->mask.inactive != INACTIVE_UNTOUCHED || !h->mask.tile.count))
        return node_error(by, err, h->mask.tile.count ? "by: tile needs `inactive: untouched`" : "by: tile needs `tile:` of the mask");
    if (p >= 0 && padding && !h->mask.writes_output)
        return node_error(padding, err, "padding of mask needs `writes: output`");
    return p >= 0;
}

static bool read_mask(struct head *h, const struct node *m, struct error *err)
{
    static const char *const keys[] = {"needs", "writes", "inactive", "by", "padding", "reads", "tile", "weights", NULL};
    static const char *const needs_words[] = {"input", "output", "optional", "both", NULL}, *const writes_words[] = {"none", "output",
                                                                                                                     NULL};
    static const char *const inactive_words[] = {"untouched", "zero", "bias", NULL}, *const reads_words[] = {"all", "active", NULL};
    if (!node_check_keys(m, "mask", keys, err))
        return false;
    h->mask.given = true;
    const struct node *needs = node_get(m, "needs"), *writes = node_get(m, "writes"), *inactive = node_get(m, "inactive"),
                      *reads = node_get(m, "reads");
    if (!needs)
        return node_error(m, err, "the mask has no `needs:` (input, output, both, optional)");
    int words[4], count = 0;
    if (!read_word_list(needs, "needs of mask", needs_words, words, &count, err))
        return false;
    if (!count)
        return node_error(needs, err, "needs of mask is an empty list");
    for (int i = 0; i < count; i++) {
        h->mask.input |= words[i] == 0;
        h->mask.output |= words[i] == 1;
        h->mask.optional |= words[i] == 2;
        h->mask.both |= words[i] == 3;
    }
    if (!h->mask.input && !h->mask.output && !h->mask.both)
        h->mask.input = h->mask.output = true; /* `optional` alone: whichever the case marks */
    int w = writes ? node_word(writes, "writes of mask", writes_words, err) : 0;
    int i = w < 0 ? -1 : inactive ? node_word(inactive, "inactive of mask", inactive_words, err) : 0;
    int r = i < 0 ? -1 : reads ? node_word(reads, "reads of mask", reads_words, err) : 0;
    h->mask.writes_output = w == 1;
    h->mask.reads_active = r == 1;
    h->mask.inactive = i == 1 ? INACTIVE_ZERO : i == 2 ? INACTIVE_BIAS : INACTIVE_UNTOUCHED;
    return r >= 0 && read_tile(h, m, err) && read_leave(h, m, err);
}

/* slices: [input, output], or {input: yes, output: CONDITION} */
static bool read_slices(struct head *h, const struct node *n, struct error *err)
{
    static const struct node yes = {.kind = NODE_SCALAR, .text = (char *)(uintptr_t) "1"};
    if (n->kind == NODE_SCALAR)
        return node_error(n, err, "slices: a list of tensors, or a map of tensors and conditions, is expected");
    for (int i = 0; i < n->count; i++) {
        const struct node *name = n->kind == NODE_MAP ? n->keys[i] : n->items[i];
        const char *of = node_text(name, "slices", err);
        int slot = of ? head_slot(h, of) : -1;
        if (slot < 0)
            return of && node_error(name, err, "slices: op %s has no tensor '%.80s'", h->op->name, of);
        expr_free(h->slices[slot]);
        h->slices[slot] = expr_parse(n->kind == NODE_MAP ? n->items[i] : &yes, err);
        if (!h->slices[slot])
            return false;
    }
    return true;
}

bool head_read_types(struct head *h, const struct node *root, struct error *err)
{
    const struct node *layout = node_get(root, "layout"), *dtype = node_get(root, "dtype"), *math = node_get(root, "math");
    const struct node *epilogue = node_get(root, "epilogue"), *mask = node_get(root, "mask"), *slices = node_get(root, "slices");
    return (!layout || read_layouts(h, layout, err)) && (!dtype || read_dtypes(h, dtype, err)) && (!math || read_math(h, math, err)) &&
           (!epilogue || read_epilogue(h, epilogue, err)) && (!mask || read_mask(h, mask, err)) && (!slices || read_slices(h, slices, err));
}
