/* Reads the keys that only the file of an op of images has (docs/OP.md, "Ops of images"). */
#include "op/file/private.h"
#include "op/formula.h"
#include "op/reference/image.h"
#include "op/reach.h"
#include "op/shape.h"
#include "op/sides.h"
#include <string.h>

/* Lists the roles: the input, the named tensors, then those of the epilogue and the mask. All listings have this order. */
static bool read_tensors(struct op_file *f, const struct node *n, struct error *err)
{
    static const char *const words[] = {"input", "filter", "stored", "second", NULL};
    const struct tensor_role **roles = xcalloc(SLOT_COUNT + 1, sizeof *roles);
    bool named[4] = {true};
    int count = 0;
    f->op.roles = roles;
    for (int i = 0; n && i < (n->kind == NODE_LIST ? n->count : 1); i++) {
        int word = node_word(n->kind == NODE_LIST ? n->items[i] : n, "tensors", words, err);
        if (word < 0)
            return false;
        named[word] = true;
    }
    const struct {
        bool there;
        enum shape_slot slot;
    } all[] = {{true, SLOT_INPUT},
               {named[1], SLOT_FILTER},
               {named[2], SLOT_STORED},
               {named[3], SLOT_SECOND},
               {named[3] && f->op.masks, SLOT_MASK_SECOND},
               {f->op.epilogues, SLOT_BIAS},
               {f->op.epilogues, SLOT_RESIDUAL},
               {f->op.epilogues >> EPILOGUE_PRELU & 1, SLOT_SLOPES},
               {f->op.masks, SLOT_MASK_IN},
               {f->op.masks, SLOT_MASK_OUT},
               {true, SLOT_OUTPUT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there)
            roles[count++] = &shape_roles[all[i].slot];
    f->op.has_filter = f->op.has_math = named[1];
    f->op.on_card = named[1] ? REFERENCE_SUMS : named[2] || named[3] ? REFERENCE_CPU : REFERENCE_FORMULA;
    return true;
}

static bool read_epilogue(struct op_file *f, const struct node *n, struct error *err)
{
    bool all = false;
    if (n && n->kind == NODE_LIST) {
        for (int i = 0; i < n->count; i++) {
            int word = node_word(n->items[i], "epilogue", epilogue_names, err);
            if (word < 0)
                return false;
            f->op.epilogues |= BIT(word);
        }
        return true;
    }
    if (n && !node_bool(n, "epilogue", &all, err))
        return false;
    f->op.epilogues = all ? EPILOGUES_ALL : 0;
    return true;
}

/* Compiles the formula once for a work of no size, so that every mistake in it is reported at the file. */
static bool read_formula(struct op_file *f, const struct node *n, enum formula_of of, struct expr **out, struct error *err)
{
    struct formula tried;
    const struct work none = {.op = &f->op, .groups = 1};
    if (!n)
        return true;
    *out = expr_parse(n, err);
    if (!*out || !formula_make(*out, &none, of, &tried, err))
        return false;
    bool product = tried.count == 4 && tried.steps[0].kind == FORMULA_SUM && tried.steps[3].kind == FORMULA_MUL;
    for (int i = 1; i < 3 && product; i++) /* in this order */
        product = tried.steps[i].kind == FORMULA_READ && tried.steps[i].arg == (i == 1 ? SLOT_INPUT : SLOT_FILTER);
    return of != FORMULA_OF_VALUES || !f->op.has_filter || (product && out == &f->output) ||
           node_error(n, err, "an op with a filter must be `output: sum(input * filter)`; only its reads may differ");
}

/* {rows: ..., columns: ..., planes: ...}; an axis that is not given reads its own coordinate. */
static bool read_axes(struct op_file *f, const char *key, struct expr **to, struct error *err)
{
    static const char *const words[] = {"rows", "columns", "planes", NULL}, *const own[] = {"y", "x", "z"};
    const struct node *map = node_get(f->root, key);
    bool reads = to == f->reads;
    if (map && (map->kind != NODE_MAP || !node_check_keys(map, key, words, err)))
        return map->kind == NODE_MAP ? false
                                     : node_error(map, err, "%s: a map is expected, like {rows: y * stride + tap, columns: x}", key);
    if (map && f->op.volume && !reads)
        return node_error(map, err, "weight: not supported for taps of volumes");
    if (node_get(map, "planes") && !f->op.volume)
        return node_error(node_key(map, "planes"), err, "planes: only for volumes (`d`, `o`)");
    for (int i = 0; i < IMAGE_AXES; i++) {
        struct node same = {.kind = NODE_SCALAR, .text = (char *)(uintptr_t)own[i]};
        const struct node *n = node_get(map, words[i]);
        if (!read_formula(f, n ? n : reads ? &same : NULL, op_image_axes[i], &to[i], err))
            return false;
    }
    return true;
}

static bool read_changes(struct op_file *f, const struct node *n, struct error *err)
{
    bool plain = n && (!strcmp(n->text ? n->text : "", "yes") || !strcmp(n->text ? n->text : "", "no"));
    if (!n || plain)
        return !n || node_bool(n, "changes", &f->op.passes_changes, err);
    f->op.passes_changes = true;
    return (f->op.of_changes = node_text(n, "changes", err)) != NULL;
}

/* True if the file defines this size, as a field or a let. */
static bool known_size(const struct op_file *f, const char *name)
{
    return ANY_OF(i, f->field_count, !strcmp(f->op.fields[i].name, name)) || ANY_OF(i, f->let_count, !strcmp(f->let_names[i], name));
}

/* `norm:` is max, l2 or rms, or a field whose words are some of these, in any order. */
static bool read_norm(struct op_file *f, const struct node *n, struct error *err)
{
    const char *names[WORK_VALUES + TRUNCATE_COUNT + 1];
    int count = 0, word = 0;
    for (int i = 0; i < TRUNCATE_COUNT; i++)
        names[count++] = truncate_names[i];
    for (int i = 0; i < f->field_count; i++)
        names[count++] = f->op.fields[i].name;
    names[count] = NULL;
    if (n && (word = node_word(n, "norm", names, err)) < 0)
        return false;
    if (word < TRUNCATE_COUNT)
        return f->sent_norm = (enum truncate)word, true;
    f->sent_field = &f->op.fields[word - TRUNCATE_COUNT];
    if (f->sent_field->kind != FIELD_WORD)
        return node_error(n, err, "norm: the field '%s' needs `words:` of max, l2 and rms", names[word]);
    for (int i = 0; f->sent_field->words[i]; i++)
        if (op_image_norm(f->sent_field->words[i]) == TRUNCATE_COUNT)
            return node_error(n, err, "norm: the word '%s' of the field '%s' is not max, l2 or rms", f->sent_field->words[i], names[word]);
    return true;
}

static bool read_sent(struct op_file *f, const struct node *n, struct error *err)
{
    static const char *const keys[] = {"above", "norm", NULL};
    if (!n)
        return true;
    if (n->kind != NODE_MAP || !node_get(n, "above"))
        return node_error(n, err, "sent: a map is expected, like {above: above, norm: norm}");
    if (f->op.has_filter || f->op.volume || node_get(f->root, "reads") || known_size(f, "p") || known_size(f, "q"))
        return node_error(n, err, "sent: only for an op of images whose outputs read their own pixel: no filter, no `reads:`, no p or q");
    f->op.settle = op_image_settle;
    return node_check_keys(n, "sent", keys, err) && op_file_optional(f, n, "above", &f->sent_above, err) &&
           read_norm(f, node_get(n, "norm"), err);
}

static bool adds_up(const struct op_file *f)
{
    struct formula made;
    const struct work none = {.op = &f->op, .groups = 1};
    return f->output && formula_make(f->output, &none, FORMULA_OF_VALUES, &made, NULL) &&
           (formula_has(&made, FORMULA_SUM) || formula_has(&made, FORMULA_MEAN));
}

static void note_side(void *context, const char *name)
{
    struct op *op = context;
    for (int i = 0; i < SIDE_COUNT; i++)
        if (!strcmp(side_symbol((enum work_side)i).name, name))
            op->apart |= BIT(i);
}

/* A file that says `pad` for every side has layers of that kind only. */
static void note_sides(struct op_file *f)
{
    for (int i = 0; i < IMAGE_AXES; i++)
        expr_names(f->reads[i], note_side, &f->op);
    for (int i = 0; i < f->let_count; i++)
        expr_names(f->lets[i], note_side, &f->op);
}

bool op_image_read(struct op_file *f, struct error *err)
{
    static const char *const tasks[] = {
        [TASK_POINTWISE] = "pointwise", [TASK_DEPTH_TO_SPACE] = "depth_to_space", [TASK_LAYOUT] = "layout", [TASK_SEQUENCE] = "conv2d"};
    const struct node *mask = node_get(f->root, "mask"), *taps = node_get(f->root, "taps"), *spreads = node_get(f->root, "spreads");
    bool masked = false;
    int64_t count = 0;
    struct op *op = &f->op;
    op->file = NULL;
    op->image = f;
    op->layouts = LAYOUTS_ALL;
    static const char *const windows[] = {"image", NULL}, *const seconds[] = {"channel", NULL};
    const struct node *window = node_get(f->root, "window"), *second = node_get(f->root, "second");
    op->whole_window = window != NULL;
    op->of_channels = second != NULL;
    if ((window && node_word(window, "window", windows, err) < 0) || (second && node_word(second, "second", seconds, err) < 0) ||
        (mask && !node_bool(mask, "mask", &masked, err)) || (taps && !node_int(taps, "taps", 1, 16, &count, err)) ||
        (spreads && !node_bool(spreads, "spreads", &op->spreads, err)) || !read_epilogue(f, node_get(f->root, "epilogue"), err))
        return false;
    op->taps = (int)count;
    op->masks = masked ? "[{pattern: iid, density: 0.10}, {pattern: blobs, radius: 3, density: 0.25}]" : NULL;
    for (int i = 0; op->fields[i].name; i++)
        op->tap_sums |= !strcmp(op->fields[i].name, "kernel");
    if (!read_tensors(f, node_get(f->root, "tensors"), err) || !read_axes(f, "reads", f->reads, err) ||
        !read_axes(f, "weight", f->weight, err) || !read_formula(f, node_get(f->root, "output"), FORMULA_OF_VALUES, &f->output, err) ||
        !read_formula(f, node_get(f->root, "magnitude"), FORMULA_OF_VALUES, &f->size, err) ||
        !read_changes(f, node_get(f->root, "changes"), err) || !read_sent(f, node_get(f->root, "sent"), err))
        return false;
    note_sides(f);
    if (!op->has_filter && !f->terms && adds_up(f))
        return node_error(node_get(f->root, "output"), err, "output: it sums its taps, so it needs `terms:`, such as `terms: r * s`");
    op->tap_sums &= !op->has_filter;
    op->tensors = shape_tensors;
    op->raw_output = shape_raw_output;
    op->reference_row = op_image_row;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        if (tasks[i] && !strcmp(tasks[i], op->name))
            op->task = (enum op_task)i;
    return true;
}

void op_image_free(struct op_file *f)
{
    struct expr *const all[] = {f->size,      f->output,    f->reads[0],  f->reads[1],  f->reads[2],
                                f->weight[0], f->weight[1], f->weight[2], f->sent_above};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expr_free(all[i]);
}
