/* steps and prepare: what runs. */
#include "kernel/head/head.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

const char *const span_cuts[] = {
    [CUT_EACH] = "each", [CUT_SAMPLED] = "sampled", [CUT_BRANCHES] = "branches", [CUT_NONE] = "whole", [CUT_NONE + 1] = NULL};

/* `yes` and `no` are numbers here, so that a value may also be an expression. */
static struct expr *read_switch(const struct node *n, struct error *err)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};
    static char number[][2] = {"0", "1"};
    struct node copy = *n;
    for (size_t i = 0; n->kind == NODE_SCALAR && i < sizeof words / sizeof *words; i++)
        if (!strcmp(n->text, words[i]))
            copy.text = number[i % 2];
    return expr_parse(&copy, err);
}

static bool read_attributes(struct head_step *s, const struct node *m, struct error *err)
{
    static const char *const keys[] = {"carveout", "cluster", "cooperative", "pdl", NULL};
    if (!node_check_keys(m, "attributes", keys, err))
        return false;
    const struct node *carveout = node_get(m, "carveout"), *cluster = node_get(m, "cluster");
    const struct node *cooperative = node_get(m, "cooperative"), *pdl = node_get(m, "pdl");
    return (!carveout || (s->carveout = expr_parse(carveout, err))) &&
           (!cluster || head_expr_list(cluster, "cluster", 3, &s->cluster, err)) &&
           (!cooperative || (s->cooperative = read_switch(cooperative, err))) && (!pdl || (s->pdl = read_switch(pdl, err)));
}

static bool read_kernel(const struct head *h, struct head_step *s, const struct node *m, struct error *err)
{
    const struct node *grid = node_get(m, "grid"), *block = node_get(m, "block"), *smem = node_get(m, "smem"), *args = node_get(m, "args");
    const struct node *attributes = node_get(m, "attributes");
    bool instance = head_is_instance(s->name);
    if (!instance && !head_is_kernel_name(s->name))
        return node_error(s->node, err, "kernel '%.100s' is not the name of a kernel, of at most %d characters", s->name, KERNEL_NAME - 1);
    if (instance && h->code != CODE_CUDA)
        return node_error(s->node, err, "kernel '%.100s': code that is compiled already has its kernels by their mangled names", s->name);
    if (!grid || !block)
        return node_error(s->node, err, "kernel '%s' has no `%s:`", s->name, grid ? "block" : "grid");
    return head_expr_list(grid, "grid", 3, &s->grid, err) && head_expr_list(block, "block", 3, &s->block, err) &&
           (!smem || (s->smem = expr_parse(smem, err))) &&
           (!args || args->kind == NODE_NULL || head_expr_list(args, "args", STEP_MAX_ARGS, &s->args, err)) &&
           (!attributes || read_attributes(s, attributes, err));
}

/* `LEFT = RIGHT`: the left word, and a node for the right side. */
static bool split_assignment(const struct node *n, const char *what, char left[PROGRAM_NAME], struct node *right, struct error *err)
{
    const char *s = node_text(n, what, err);
    if (!s)
        return false;
    size_t equals = strcspn(s, "="), length = equals;
    while (length && s[length - 1] == ' ')
        length--;
    if (!s[equals] || !length || length >= PROGRAM_NAME)
        return node_error(n, err, "%s must have the form `%s: NAME = %s`, not '%.100s'", what, what, what[0] == 'f' ? "VALUE" : "BUFFER",
                          s);
    snprintf(left, PROGRAM_NAME, "%.*s", (int)length, s);
    size_t skip = equals + 1 + strspn(s + equals + 1, " ");
    *right = *n;
    right->text = n->text + skip;
    right->column += (int)skip + n->quoted;
    right->quoted = false;
    return true;
}

/* Buffers keep a node for messages: the whole node, not the piece, because pieces do not live on. */
static bool read_move(struct head *h, struct head_step *s, const char *what, const struct node *n, struct error *err)
{
    char left[PROGRAM_NAME];
    struct node right;
    if (!split_assignment(n, what, left, &right, err))
        return false;
    s->name = xstrdup(left);
    if (s->kind == HEAD_SYMBOL) {
        if (!head_is_identifier(left))
            return node_error(n, err, "symbol '%.100s' is not a C name", left);
    } else if (!head_buffer(h, n, left, &s->to, err)) {
        return false;
    }
    if (s->kind == HEAD_FILL)
        return (s->fill = expr_parse(&right, err)) != NULL;
    if (!head_buffer(h, &right, right.text, &s->from, err))
        return false;
    s->from.node = n;
    return true;
}

static bool read_cudnn(struct head *h, struct head_step *s, const struct node *n, struct error *err)
{
    const char *name = node_text(n, "cudnn", err);
    if (!name)
        return false;
    s->name = xstrdup(name);
    return !strcmp(name, h->op->name) || node_error(n, err, "cudnn: '%.80s' should be the op of the head, %s", name, h->op->name);
}

static bool read_call(struct head_step *s, const struct node *n, struct error *err)
{
    const char *name = node_text(n, "call", err);
    if (!name)
        return false;
    s->name = xstrdup(name);
    return head_is_identifier(name) || node_error(n, err, "call: '%.100s' is not a C name", name);
}

static bool read_stages(struct head_step *s, const struct node *m, struct error *err)
{
    static const char *const words[] = {"together", "each", NULL};
    const struct node *images = node_get(m, "images"), *streams = node_get(m, "streams");
    int cut = node_word(s->node, "stages", span_cuts, err),
        each = cut < 0  ? -1
               : images ? node_word(images, "images", words, err)
                        : 0,
        stream = each < 0  ? -1
                 : streams ? node_word(streams, "streams", words, err)
                           : 0;
    s->cut = (enum span_cut)cut;
    s->each_image = each == 1;
    s->each_stream = stream == 1;
    if (s->each_stream && s->cut != CUT_BRANCHES)
        return node_error(streams, err, "streams: each needs `stages: branches`: other launches read what the ones before them wrote");
    return stream >= 0;
}

static bool read_with(struct head_step *s, const struct node *m, struct error *err)
{
    if (m->kind != NODE_MAP || m->count > HEAD_MAX_ITEMS)
        return node_error(m, err, "`with` must be a map of fields of the other op");
    s->with = xcalloc((size_t)m->count, sizeof *s->with);
    for (int i = 0; i < m->count; i++) {
        struct expr *e = expr_parse(m->items[i], err);
        if (!e)
            return false;
        s->with[s->with_count++] = (struct named_expr){xstrdup(m->keys[i]->text), m->keys[i], e};
    }
    return true;
}

static bool read_variant(struct head *h, struct head_step *s, const struct node *m, struct error *err)
{
    const struct node *with = node_get(m, "with"), *epilogue = node_get(m, "epilogue"), *claimed = node_get(m, "claimed");
    if (claimed && !h->selects)
        return node_error(node_key(m, "claimed"), err, "`claimed:` is only for an item of `select:`; a step always runs");
    if (claimed && !node_bool(claimed, "claimed", &s->claimed, err))
        return false;
    s->params = node_get(m, "params");
    for (int i = 0; i < m->count; i++) {
        struct head_bind *b = &s->binds[s->bind_count];
        const char *tensor = m->keys[i]->text, *name = op_is_tensor(tensor) ? node_text(m->items[i], tensor, err) : NULL;
        if (!op_is_tensor(tensor))
            continue;
        if (!name || s->bind_count == OP_MAX_TENSORS || !head_buffer(h, m->items[i], name, &b->buffer, err))
            return false;
        b->tensor = tensor;
        s->bind_count++;
    }
    if (epilogue) {
        const char *word = node_text(epilogue, "epilogue", err);
        if (!word || strcmp(word, "same"))
            return word ? node_error(epilogue, err, "the epilogue of a step must be `same` or absent, not '%.80s'", word) : false;
        s->same_epilogue = true;
    }
    return !with || read_with(s, with, err);
}

/* A variant is given buffers by the names of its tensors. */
static bool check_keys(const struct node *m, const char *const *keys, bool tensors, struct error *err)
{
    const char *all[128];
    int count = 0;
    for (; *keys; keys++)
        all[count++] = *keys;
    for (const char *const *name = op_tensor_names(); tensors && *name && count < 127; name++)
        all[count++] = *name;
    all[count] = NULL;
    return node_check_keys(m, "the step", all, err);
}

static bool read_step(struct head *h, struct head_step *s, const struct node *m, struct error *err)
{
    static const struct {
        const char *word;
        const char *keys[12];
    } kinds[] = {
        {"kernel", {"kernel", "when", "grid", "block", "smem", "args", "attributes", NULL}},
        {"fill", {"fill", "when", NULL}},
        {"copy", {"copy", "when", NULL}},
        {"symbol", {"symbol", "when", NULL}},
        {"cudnn", {"cudnn", "when", NULL}},
        {"variant", {"variant", "when", "claimed", "with", "params", "epilogue", NULL}}, /* and tensors */
        {"call", {"call", "when", NULL}},
        {"stages", {"stages", "when", "images", "streams", NULL}},
        {"python", {"python", NULL}},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    if (m->kind != NODE_MAP)
        return node_error(m, err, "a step must be a map with kernel, fill, copy, symbol, cudnn or variant");
    int kind = 0;
    while (kind < KINDS && !node_get(m, kinds[kind].word))
        kind++;
    if (kind == KINDS) {
        static const char *const words[] = {"kernel", "fill", "copy", "symbol", "cudnn", "variant"};
        const char *near = m->count ? text_nearest(m->keys[0]->text, words, sizeof words / sizeof *words) : NULL;
        node_error(m->count ? m->keys[0] : m, err, "the step needs one of kernel, fill, copy, symbol, cudnn, variant");
        return near ? error_hint(err, "did you mean '%s'?", near) : false;
    }
    if (!check_keys(m, kinds[kind].keys, (enum head_step_kind)kind == HEAD_VARIANT, err))
        return false;
    const struct node *n = node_get(m, kinds[kind].word), *when = node_get(m, "when");
    s->kind = (enum head_step_kind)kind;
    s->node = n;
    if (when && !(s->when = expr_parse(when, err)))
        return false;
    if (s->kind == HEAD_FILL || s->kind == HEAD_COPY || s->kind == HEAD_SYMBOL)
        return read_move(h, s, kinds[kind].word, n, err);
    if (s->kind == HEAD_CUDNN)
        return read_cudnn(h, s, n, err);
    if (s->kind == HEAD_CALL)
        return read_call(s, n, err);
    if (s->kind == HEAD_STAGES)
        return read_stages(s, m, err);
    const char *name = node_text(n, kinds[kind].word, err);
    if (!name)
        return false;
    s->name = xstrdup(name);
    if (s->kind == HEAD_PYTHON)
        return head_is_identifier(name) || node_error(n, err, "python: '%.100s' is not the name of a function", name);
    return s->kind == HEAD_KERNEL ? read_kernel(h, s, m, err) : read_variant(h, s, m, err);
}

static bool read_list(struct head *h, const struct node *list, const char *what, bool prepare, struct error *err)
{
    if (list->kind != NODE_LIST)
        return node_error(list, err, "%s must be a list of steps: `- kernel: NAME`", what);
    int most = h->selects ? 4 * HEAD_MAX_ITEMS : HEAD_MAX_ITEMS; /* only one of a rule's items becomes steps */
    if (!list->count || list->count > most)
        return node_error(list, err, list->count ? "%s has more than %d items" : "%s is an empty list", what, most);
    h->steps = xrealloc(h->steps, (size_t)(h->step_count + list->count) * sizeof *h->steps);
    for (int i = 0; i < list->count; i++) {
        struct head_step *s = &h->steps[h->step_count++];
        *s = (struct head_step){.prepare = prepare};
        if (!read_step(h, s, list->items[i], err))
            return false;
    }
    return true;
}

/* Items of `select:` or `race:` have the form of steps that are variants, without buffers: each would do the whole work. */
static bool read_items(struct head *h, const struct node *list, const char *what, struct error *err)
{
    static const char *const keys[] = {"variant", "when", "claimed", "params", NULL};
    for (int i = 0; list->kind == NODE_LIST && i < list->count; i++)
        if (list->items[i]->kind != NODE_MAP || !node_get(list->items[i], "variant"))
            return node_error(list->items[i], err, "an item of %s must be `variant: NAME`, optionally with `when:` and `params:`", what);
        else if (!node_check_keys(list->items[i], "the item", keys, err))
            return false;
    return read_list(h, list, what, false, err);
}

static bool read_select(struct head *h, const struct node *root, const struct node *list, struct error *err)
{
    static const char *const alone[] = {"scratch", "tensor_maps", "prepare", "steps", "define", "specialise", "columns"};
    const struct node *race = node_get(root, "race");
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (node_get(root, alone[i]))
            return node_error(node_get(root, alone[i]), err, "a head with `select:` must not have `%s:`", alone[i]);
    h->selects = true;
    if (!read_items(h, list, "select", err) || (race && !read_items(h, race, "race", err)))
        return false;
    h->race_count = race ? race->count : 0;
    return true;
}

bool head_read_steps(struct head *h, const struct node *root, struct error *err)
{
    const struct node *select = node_get(root, "select");
    if (select)
        return read_select(h, root, select, err);
    if (node_get(root, "measured"))
        return node_error(node_get(root, "measured"), err, "`measured:` is only for rules (`select:`); use `claims:` for a kernel");
    if (node_get(root, "race"))
        return node_error(node_get(root, "race"), err, "`race:` is only for rules (`select:`)");
    const struct node *prepare = node_get(root, "prepare");
    return (!prepare || read_list(h, prepare, "prepare", true, err)) && read_list(h, node_get(root, "steps"), "steps", false, err);
}
