/* Reads the keys that define names: params, let, define, specialise, scratch, tensor_maps, columns. */
#include "kernel/head/head.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool check_map(const struct node *m, const char *what, struct error *err)
{
    if (m->kind != NODE_MAP) {
        SCOPED char *found = node_describe(m);
        node_error(m, err, "%s must be a map, not %s", what, found);
        return false;
    }
    return m->count <= HEAD_MAX_ITEMS || node_error(m, err, "%s has %d items; at most %d", what, m->count, HEAD_MAX_ITEMS);
}

static bool check_identifier(const struct node *n, const char *what, struct error *err)
{
    return head_is_identifier(n->text) ||
           node_error(n, err, "%s '%.100s' is not a C name of at most %d characters", what, n->text, PROGRAM_NAME - 1);
}

/* A number or a word: 8, 0.5, float4. */
static bool read_value(const struct node *n, const char *what, struct value *out, struct error *err)
{
    long long i;
    double d;
    const char *s = node_text(n, what, err);
    if (!s)
        return false;
    if (!n->quoted && text_to_int(s, &i))
        *out = value_int(i);
    else if (!n->quoted && text_to_real(s, &d) && d - d == 0)
        *out = value_real(d);
    else if (strlen(s) < VALUE_TEXT_MAX && *s)
        *out = value_text(s);
    else
        return node_error(n, err, "%s: a value has 1 to %d characters", what, VALUE_TEXT_MAX - 1);
    return true;
}

static bool add_value(struct head_param *p, const struct node *n, struct error *err)
{
    struct value v;
    if (!read_value(n, p->name, &v, err))
        return false;
    if (p->count == HEAD_MAX_VALUES)
        return node_error(n, err, "parameter '%s' has more than %d values", p->name, HEAD_MAX_VALUES);
    for (int i = 0; i < p->count; i++)
        if (value_equal(&p->values[i], &v))
            return node_error(n, err, "parameter '%s': %s is listed twice", p->name, n->text);
    p->values[p->count++] = v;
    return true;
}

static bool read_value_list(struct head_param *p, const struct node *n, struct error *err)
{
    if (n->kind != NODE_LIST)
        return add_value(p, n, err);
    return ALL_OF(i, n->count, add_value(p, n->items[i], err)) &&
           (n->count > 0 || node_error(n, err, "parameter '%s' has no value", p->name));
}

static bool read_range(struct head_param *p, const struct node *m, const struct node *range, struct error *err)
{
    const struct node *step = node_get(m, "step");
    if (range->kind != NODE_LIST || range->count != 2)
        return node_error(range, err, "the range of '%s' must be [lowest, highest]", p->name);
    p->range = true;
    p->step = 1;
    return node_int(range->items[0], "lowest", INT32_MIN, INT32_MAX, &p->low, err) &&
           node_int(range->items[1], "highest", p->low, INT32_MAX, &p->high, err) &&
           (!step || node_int(step, "step", 1, INT32_MAX, &p->step, err));
}

bool head_param_allows(const struct head_param *p, const struct value *v)
{
    if (p->range)
        return v->kind == VALUE_INT && v->i >= p->low && v->i <= p->high && (v->i - p->low) % p->step == 0;
    return ANY_OF(i, p->count, value_equal(&p->values[i], v));
}

static bool read_param(struct head_param *p, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"values", "range", "step", "default", NULL};
    char what[PROGRAM_NAME + 16];
    if (n->kind != NODE_MAP) {
        if (!read_value_list(p, n, err))
            return false;
        p->fallback = p->values[0];
        return true;
    }
    snprintf(what, sizeof what, "parameter '%s'", p->name);
    if (!node_check_keys(n, what, keys, err))
        return false;
    const struct node *values = node_get(n, "values"), *range = node_get(n, "range"), *fallback = node_get(n, "default");
    if (!values == !range)
        return node_error(n, err, "%s needs either `values:` or `range:`", what);
    if (values ? !read_value_list(p, values, err) : !read_range(p, n, range, err))
        return false;
    if (values && node_get(n, "step"))
        return node_error(node_key(n, "step"), err, "%s: `step` needs `range`", what);
    p->fallback = range ? value_int(p->low) : p->values[0];
    if (!fallback)
        return true;
    return read_value(fallback, p->name, &p->fallback, err) &&
           (head_param_allows(p, &p->fallback) ||
            node_error(fallback, err, "%s: the default %s is not one of its values", what, fallback->text));
}

static bool read_params(struct head *h, const struct node *m, struct error *err)
{
    if (!check_map(m, "params", err))
        return false;
    h->params = xcalloc((size_t)m->count, sizeof *h->params);
    for (int i = 0; i < m->count; i++) {
        struct head_param *p = &h->params[h->param_count++];
        p->name = xstrdup(m->keys[i]->text);
        p->node = m->keys[i];
        if (!check_identifier(m->keys[i], "parameter", err) || !read_param(p, m->items[i], err))
            return false;
    }
    return true;
}

static bool read_named(const struct node *m, const char *what, struct named_expr **items, int *count, struct error *err)
{
    if (!check_map(m, what, err))
        return false;
    *items = xcalloc((size_t)m->count, sizeof **items);
    for (int i = 0; i < m->count; i++) {
        if (!check_identifier(m->keys[i], what, err))
            return false;
        struct expr *e = expr_parse(m->items[i], err);
        if (!e)
            return false;
        (*items)[(*count)++] = (struct named_expr){xstrdup(m->keys[i]->text), m->keys[i], e};
    }
    return true;
}

static bool read_specialise(struct head *h, const struct node *n, struct error *err)
{
    const char *const *symbols = work_symbol_names(h->op);
    const struct node *const one[] = {n};
    const struct node *const *items = n->kind == NODE_LIST ? (const struct node *const *)n->items : one;
    int total = n->kind == NODE_LIST ? n->count : 1;
    if (total > HEAD_MAX_ITEMS)
        return node_error(n, err, "specialise has %d items; at most %d", total, HEAD_MAX_ITEMS);
    h->specialise = xcalloc((size_t)total, sizeof *h->specialise);
    for (int i = 0; i < total; i++) {
        if (node_word(items[i], "specialise", symbols, err) < 0)
            return false;
        for (int j = 0; j < h->specialise_count; j++)
            if (!strcmp(h->specialise[j], items[i]->text))
                return node_error(items[i], err, "specialise: '%s' is listed twice", items[i]->text);
        h->specialise[h->specialise_count++] = xstrdup(items[i]->text);
    }
    return true;
}

/* `u32[tiles]`: reads the word before the bracket, parses the expression inside it. */
static struct expr *read_bracket(const struct node *n, const char *what, char word[PROGRAM_NAME], struct error *err)
{
    const char *s = node_text(n, what, err);
    if (!s)
        return NULL;
    size_t length = strcspn(s, "["), total = strlen(s);
    while (total && s[total - 1] == ' ')
        total--;
    if (length >= PROGRAM_NAME || length == 0 || length >= total || s[total - 1] != ']') {
        node_error(n, err, "%s must have the form NAME[NUMBER], not '%.100s'", what, s);
        return NULL;
    }
    struct node inside = *n;
    inside.text = xstrndup(s + length + 1, total - length - 2);
    inside.column += (int)length + 1 + n->quoted;
    inside.quoted = false;
    while (length && s[length - 1] == ' ')
        length--;
    snprintf(word, PROGRAM_NAME, "%.*s", (int)length, s);
    struct expr *e = expr_parse(&inside, err);
    free(inside.text);
    return e;
}

int head_scratch_find(const struct head *h, const char *name)
{
    return FIRST_OF(i, h->scratch_count, !strcmp(h->scratch[i].name, name));
}

int head_map_find(const struct head *h, const char *name)
{
    return FIRST_OF(i, h->map_count, !strcmp(h->maps[i].name, name));
}

int head_param_find(const struct head *h, const char *name)
{
    return FIRST_OF(i, h->param_count, !strcmp(h->params[i].name, name));
}

int head_let_find(const struct head *h, const char *name)
{
    return FIRST_OF(i, h->let_count, !strcmp(h->lets[i].name, name));
}

static bool read_scratch(struct head *h, const struct node *m, bool prepare, struct error *err)
{
    if (!check_map(m, "scratch", err))
        return false;
    h->scratch = xcalloc((size_t)m->count, sizeof *h->scratch);
    for (int i = 0; i < m->count; i++) {
        char word[PROGRAM_NAME], what[PROGRAM_NAME + 32];
        struct head_scratch *s = &h->scratch[h->scratch_count++];
        s->name = xstrdup(m->keys[i]->text);
        s->node = m->keys[i];
        if (!check_identifier(m->keys[i], "scratch", err))
            return false;
        snprintf(what, sizeof what, "scratch buffer '%s'", s->name);
        s->elements = read_bracket(m->items[i], what, word, err);
        if (!s->elements)
            return false;
        s->state = !strncmp(word, "state ", 6);
        if (s->state)
            memmove(word, word + 6, strlen(word + 6) + 1);
        if (s->state && !prepare)
            return node_error(m->items[i], err, "%s is state, which `prepare:` must initialise; this head has no `prepare:`", what);
        s->dtype = dtype_parse(word);
        s->like = head_slot(h, word);
        if (s->dtype == DTYPE_NONE && s->like < 0 && strcmp(word, "accumulate")) {
            node_error(m->items[i], err, "%s: '%.60s' is neither a type nor a tensor", what, word);
            size_t n = 0;
            while (dtype_names[n])
                n++;
            const char *near = text_nearest(word, dtype_names, n);
            return near ? error_hint(err, "did you mean '%s'?", near) : error_hint(err, "the types are f32 f16 bf16 f64 i8 u8 i32 u32 u16");
        }
    }
    return true;
}

/* Finds a tensor of the op or a scratch buffer by name. */
bool head_buffer(const struct head *h, const struct node *n, const char *name, struct head_buffer *out, struct error *err)
{
    const struct tensor_role *role = op_role(h->op, name);
    int scratch = head_scratch_find(h, name);
    out->node = n;
    if (!head_has_tensor(h, name, n, err))
        return false;
    if (role || scratch >= 0) {
        out->kind = role ? BUFFER_TENSOR : BUFFER_SCRATCH;
        out->index = role ? role->slot : scratch;
        if (role && tensor_role_is_mask(role) && !h->mask.given)
            return node_error(n, err, "'%s' is used, but the head has no `mask:`", name);
        return true;
    }
    const char *words[OP_MAX_TENSORS + HEAD_MAX_ITEMS];
    size_t count = 0;
    for (int i = 0; h->op->roles[i]; i++)
        words[count++] = h->op->roles[i]->name;
    for (int i = 0; i < h->scratch_count; i++)
        words[count++] = h->scratch[i].name;
    node_error(n, err, "'%.80s' is neither a tensor nor a scratch buffer", name);
    const char *near = text_nearest(name, words, count);
    if (near)
        error_hint(err, "did you mean '%s'?", near);
    return false;
}

static bool read_map(struct head *h, struct head_map *map, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"of", "box", "dims", "strides", "element_strides", "swizzle", "interleave", "l2", "oob", NULL},
                             *const oob_words[] = {"zero", "nan", NULL};
    char what[PROGRAM_NAME + 16];
    snprintf(what, sizeof what, "tensor map '%s'", map->name);
    if (!node_check_keys(n, what, keys, err))
        return false;
    const struct node *of = node_get(n, "of"), *box = node_get(n, "box"), *oob = node_get(n, "oob");
    if (!of || !box)
        return node_error(n, err, "%s has no `%s:`", what, of ? "box" : "of");
    const char *name = node_text(of, "of", err);
    if (!name || !head_buffer(h, of, name, &map->of, err) || !head_expr_list(box, "box", 5, &map->box, err))
        return false;
    if (map->of.kind == BUFFER_SCRATCH && !node_get(n, "dims"))
        return node_error(n, err, "%s is a view of a scratch buffer, so it needs `dims:`", what);
    struct {
        const char *key;
        struct expr_list *list;
    } lists[] = {{"dims", &map->dims}, {"strides", &map->strides}, {"element_strides", &map->element_strides}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct node *list = node_get(n, lists[i].key);
        if (list && !head_expr_list(list, lists[i].key, 5, lists[i].list, err))
            return false;
        int want = map->box.count - (lists[i].list == &map->strides);
        if (list && lists[i].list->count != want)
            return node_error(list, err, "%s: %s has %d items; the box has %d dimensions, so %d are expected", what, lists[i].key,
                              lists[i].list->count, map->box.count, want);
    }
    struct {
        const char *key;
        struct expr **expr;
    } exprs[] = {{"swizzle", &map->swizzle}, {"interleave", &map->interleave}, {"l2", &map->l2}};
    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++) {
        const struct node *e = node_get(n, exprs[i].key);
        if (e && !(*exprs[i].expr = expr_parse(e, err)))
            return false;
    }
    int word = oob ? node_word(oob, "oob", oob_words, err) : 0;
    map->oob_nan = word == 1;
    return word >= 0;
}

static bool read_maps(struct head *h, const struct node *m, struct error *err)
{
    if (!check_map(m, "tensor_maps", err))
        return false;
    h->maps = xcalloc((size_t)m->count, sizeof *h->maps);
    for (int i = 0; i < m->count; i++) {
        struct head_map *map = &h->maps[h->map_count++];
        map->name = xstrdup(m->keys[i]->text);
        map->node = m->keys[i];
        if (!check_identifier(m->keys[i], "tensor map", err) || !read_map(h, map, m->items[i], err))
            return false;
    }
    return true;
}

static bool read_columns(struct head *h, const struct node *m, struct error *err)
{
    if (!check_map(m, "columns", err))
        return false;
    h->columns = xcalloc((size_t)m->count, sizeof *h->columns);
    for (int i = 0; i < m->count; i++) {
        char word[PROGRAM_NAME], what[PROGRAM_NAME + 16];
        struct head_column *c = &h->columns[h->column_count++];
        c->name = xstrdup(m->keys[i]->text);
        if (!check_identifier(m->keys[i], "column", err))
            return false;
        snprintf(what, sizeof what, "column '%s'", c->name);
        c->element = read_bracket(m->items[i], what, word, err);
        if (!c->element || !head_buffer(h, m->items[i], word, &c->of, err))
            return false;
    }
    return true;
}

bool head_read_values(struct head *h, const struct node *root, struct error *err)
{
    const struct node *params = node_get(root, "params"), *let = node_get(root, "let"), *define = node_get(root, "define");
    const struct node *specialise = node_get(root, "specialise"), *scratch = node_get(root, "scratch"),
                      *maps = node_get(root, "tensor_maps");
    const struct node *columns = node_get(root, "columns");
    return (!params || read_params(h, params, err)) && (!let || read_named(let, "let", &h->lets, &h->let_count, err)) &&
           (!define || read_named(define, "define", &h->defines, &h->define_count, err)) &&
           (!specialise || read_specialise(h, specialise, err)) && (!scratch || read_scratch(h, scratch, node_get(root, "prepare"), err)) &&
           (!maps || read_maps(h, maps, err)) && (!columns || read_columns(h, columns, err));
}
