/* Reads the keys of a head that are neither types (types.c), values (values.c) nor steps (steps.c). */
#include "kernel/head/head.h"
#include "kernel/head/python.h"
#include "base/text.h"
#include "op/file/ops.h"
#include <stdlib.h>
#include <string.h>

static void head_expr_list_free(struct expr_list *l)
{
    for (int i = 0; i < l->count; i++)
        expr_free(l->items[i]);
    free(l->items);
    *l = (struct expr_list){0};
}

static bool read_algorithm(const struct node *root, struct error *err)
{
    static const char *const words[] = {"direct", "implicit_gemm", "split3", "winograd", "collapsed", "fft", "library", NULL};
    const struct node *n = node_get(root, "algorithm");
    return !n || node_word(n, "algorithm", words, err) >= 0;
}

static bool read_check(struct head *h, const struct node *root, struct error *err)
{
    static const char *const words[] = {"output", "none", NULL};
    const struct node *check = node_get(root, "check"), *exact = node_get(root, "exact");
    int word = check ? node_word(check, "check", words, err) : 0;
    const struct node *graph = node_get(root, "graph");
    h->checked = word == 0;
    h->exact = true;
    return word >= 0 && (!graph || node_bool(graph, "graph", &h->graph, err)) && (!exact || node_bool(exact, "exact", &h->exact, err));
}

static bool read_op(struct head *h, const struct node *root, struct error *err)
{
    const struct node *n = node_get(root, "op");
    const char *name = node_text(n, "op", err);
    if (!name)
        return false;
    h->op = op_find(name);
    if (h->op)
        return true;
    const char *const *names = op_names();
    size_t count = 0;
    while (names[count])
        count++;
    SCOPED_TEXT list = {0};
    text_add_list(&list, names, count);
    node_error(n, err, "unknown op '%.80s'; the ops are %s", name, text_get(&list));
    return op_unknown_name(name, err);
}

/* Checks that `what` and `from`, which struct variant keeps, are texts. */
static bool read_words(const struct node *root, struct error *err)
{
    static const char *const required[] = {"op", "what", "steps"};
    size_t count = sizeof required / sizeof *required - (node_get(root, "select") != NULL); /* in place of steps */
    for (size_t i = 0; i < count; i++)
        if (!node_get(root, required[i]))
            return node_error(root, err, "the head has no `%s:`", required[i]);
    const struct node *from = node_get(root, "from");
    return node_text(node_get(root, "what"), "what", err) && (!from || node_text(from, "from", err));
}

static bool read_predict(struct head *h, const struct node *root, struct error *err)
{
    const struct node *m = node_get(root, "predict");
    if (!m)
        return true;
    if (!node_check_keys(m, "predict", predict_names, err))
        return false;
    for (int i = 0; i < PREDICT_COUNT; i++)
        if (node_get(m, predict_names[i]) && !(h->predict[i] = expr_parse(node_get(m, predict_names[i]), err)))
            return false;
    return true;
}

static bool read_ablate(struct head *h, const struct node *root, struct error *err)
{
    const struct node *n = node_get(root, "ablate");
    for (int i = 0; n && i < (n->kind == NODE_LIST ? n->count : 1); i++) {
        const struct node *one = n->kind == NODE_LIST ? n->items[i] : n;
        int word = node_word(one, "ablate", ablation_names, err);
        if (word < 0)
            return false;
        if (h->ablations[word])
            return node_error(one, err, "%s is listed twice", ablation_names[word]);
        h->ablations[word] = true;
    }
    return true;
}

/* Reads conditions that must all hold. A single one goes to the parser whole: a comma separates nothing here. */
static bool read_all_of(const struct node *root, const char *key, struct expr_list *out, struct error *err)
{
    const struct node *n = node_get(root, key);
    if (!n)
        return true;
    out->node = n;
    return n->kind == NODE_LIST ? head_expr_list(n, key, HEAD_MAX_ITEMS, out, err) : head_expr_add(out, n, key, 1, err);
}

static bool read_conditions(struct head *h, const struct node *root, struct error *err)
{
    return read_all_of(root, "needs", &h->needs, err) && read_all_of(root, "where", &h->where, err) &&
           read_all_of(root, "claims", &h->claims, err) && read_all_of(root, "measured", &h->measured, err);
}

/* Reads the keys of a sidecar, and refuses those that need source code. */
static bool read_source(struct head *h, const struct node *root, struct error *err)
{
    static const char *const suffixes[] = {".ptx", ".cubin", ".so"}, *const devices[] = {"cuda", "emu", NULL},
                             *const compiled[] = {"define", "specialise"};
    const struct node *source = node_get(root, "source"), *on = node_get(root, "on");
    h->code = CODE_CUDA;
    if (!source)
        return !on || node_error(node_key(root, "on"), err, "`on:` is only for a sidecar with `source: NAME.so`");
    const char *name = node_text(source, "source", err);
    if (!name)
        return false;
    size_t length = strlen(name);
    for (int i = 0; i < 3; i++)
        if (length > strlen(suffixes[i]) && !strcmp(name + length - strlen(suffixes[i]), suffixes[i]))
            h->code = (enum code)(CODE_PTX + i);
    bool cuda = text_ends(name, ".cu"), python = text_ends(name, ".py");
    if (python)
        h->code = CODE_PTX;
    if (text_ends(name, ".call")) /* of a Python function (kernels/python) */
        h->code = CODE_LIBRARY;
    if (h->code == CODE_CUDA && !cuda)
        return node_error(source, err, "source: '%.80s' is not a .cu, .ptx, .cubin, .so or .py", name);
    h->source = xstrdup(name);
    for (size_t i = 0; i < 2 && !cuda; i++)
        if (node_get(root, compiled[i]))
            return node_error(node_key(root, compiled[i]), err, "`%s:` has no effect: %s is already compiled", compiled[i], name);
    if (on && h->code != CODE_LIBRARY)
        return node_error(node_key(root, "on"), err, "`on:` is only for a library: emu runs every .ptx and no .cubin");
    for (int i = 0; on && i < (on->kind == NODE_LIST ? on->count : 1); i++) {
        int word = node_word(on->kind == NODE_LIST ? on->items[i] : on, "on", devices, err);
        if (word < 0)
            return false;
        h->on_host |= word == 1;
    }
    return true;
}

/* Checks the steps: a library is called, compiled code is launched. */
static bool check_source(const struct head *h, struct error *err)
{
    for (int i = 0; i < h->step_count; i++) {
        const struct head_step *s = &h->steps[i];
        bool python = s->kind == HEAD_PYTHON, file = h->source && text_ends(h->source, ".py");
        if (python != file || (python && h->step_count > 1))
            return node_error(s->node, err, "`source: FILE.py` and one step `python: FUNCTION` belong together");
        bool call = s->kind == HEAD_CALL, own = s->kind == HEAD_KERNEL || s->kind == HEAD_SYMBOL;
        if (call && h->code != CODE_LIBRARY)
            return node_error(s->node, err, "call: only a sidecar with `source: NAME.so` can call functions");
        if (own && h->code == CODE_LIBRARY)
            return node_error(s->node, err, "%s is a library: its step is `call: FUNCTION`", h->source);
    }
    return true;
}

struct head *head_read(const struct node *root, struct error *err)
{
    static const char *const keys[] = {"op",        "what",   "from",       "needs",      "layout",   "dtype",       "math",
                                       "algorithm", "exact",  "check",      "graph",      "epilogue", "mask",        "params",
                                       "let",       "where",  "define",     "specialise", "scratch",  "tensor_maps", "prepare",
                                       "steps",     "select", "columns",    "predict",    "ablate",   "source",      "on",
                                       "claims",    "like",   "candidates", "measured",   "slices",   "race",        NULL};
    struct head *h = xcalloc(1, sizeof *h);
    if (node_check_keys(root, "the head", keys, err) && read_words(root, err) && read_op(h, root, err) && read_check(h, root, err) &&
        read_algorithm(root, err) && head_read_types(h, root, err) && read_conditions(h, root, err) && head_read_values(h, root, err) &&
        head_read_candidates(h, root, err) && read_source(h, root, err) && head_read_steps(h, root, err) && read_predict(h, root, err) &&
        read_ablate(h, root, err) && check_source(h, err) && head_check(h, err))
        return h;
    head_free(h);
    return NULL;
}

static void free_named(struct named_expr *items, int count)
{
    for (int i = 0; i < count; i++) {
        free(items[i].name);
        expr_free(items[i].expr);
    }
    free(items);
}

static void free_step(struct head_step *s)
{
    struct expr_list *lists[] = {&s->grid, &s->block, &s->cluster, &s->args};
    struct expr *exprs[] = {s->when, s->smem, s->cooperative, s->pdl, s->carveout, s->fill};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        head_expr_list_free(lists[i]);
    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++)
        expr_free(exprs[i]);
    free_named(s->with, s->with_count);
    free(s->name);
}

static void free_map(struct head_map *m)
{
    struct expr_list *lists[] = {&m->box, &m->dims, &m->strides, &m->element_strides};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        head_expr_list_free(lists[i]);
    expr_free(m->swizzle);
    expr_free(m->interleave);
    expr_free(m->l2);
    free(m->name);
}

void head_free(struct head *h)
{
    if (!h)
        return;
    head_python_free(h->python);
    head_expr_list_free(&h->needs);
    head_expr_list_free(&h->where);
    head_expr_list_free(&h->claims);
    head_expr_list_free(&h->measured);
    head_expr_list_free(&h->mask.tile);
    expr_free(h->mask.weights);
    free_named(h->lets, h->let_count);
    free_named(h->defines, h->define_count);
    head_candidates_free(h);
    for (int i = 0; i < h->param_count; i++)
        free(h->params[i].name);
    for (int i = 0; i < h->scratch_count; i++) {
        free(h->scratch[i].name);
        expr_free(h->scratch[i].elements);
    }
    for (int i = 0; i < h->map_count; i++)
        free_map(&h->maps[i]);
    for (int i = 0; i < h->step_count; i++)
        free_step(&h->steps[i]);
    for (int i = 0; i < h->column_count; i++) {
        free(h->columns[i].name);
        expr_free(h->columns[i].element);
    }
    for (int i = 0; i < PREDICT_COUNT; i++)
        expr_free(h->predict[i]);
    for (int i = 0; i < OP_MAX_TENSORS; i++)
        expr_free(h->slices[i]);
    pointers_free(h->specialise, h->specialise_count);
    pointers_free(h->names, h->name_count);
    FREE_ALL(h->params, h->scratch, h->maps, h->steps, h->columns, h->source, h);
}
