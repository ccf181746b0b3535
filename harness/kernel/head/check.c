/* Checks a head whose keys are all valid: unknown or ambiguous names, and kernel arguments that are tensors the head does not claim.
 */
#include "kernel/head/head.h"
#include "base/text.h"
#include <string.h>

const char *const head_chip_symbols[] = {"sm_count",
                                         "smem_per_block_optin",
                                         "smem_per_block",
                                         "smem_per_sm",
                                         "warp_size",
                                         "threads_per_block",
                                         "registers_per_sm",
                                         "cc",
                                         "l2_bytes",
                                         "follows",
                                         NULL};
const char *const head_functions[] = {"type",       "size",    "layout",
                                      "pitch",      "has",     [HEAD_OF_MASK] = "marks",
                                      "pattern",    "density", [HEAD_OF_EPILOGUE] = "slope",
                                      "block",      "mode",    "scale",
                                      "activation", "low",     "high",
                                      NULL};

static bool among(const char *name, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (words[i][0] == name[0] && !strcmp(name, words[i])) /* a start reads 60,000 names */
            return true;
    return false;
}

bool head_is_word(const struct op *op, const char *name)
{
    static const char *const others[] = {"DCR", "CRD", "mask", "epilogue", "accumulate", NULL};
    return op_role(op, name) || op_is_tensor(name) || among(name, epilogue_names) || among(name, dtype_names) ||
           among(name, layout_names) || among(name, math_names) || among(name, others);
}

static void add_name(struct head *h, const char *name)
{
    h->names = xrealloc(h->names, (size_t)(h->name_count + 2) * sizeof *h->names);
    h->names[h->name_count++] = xstrdup(name);
    h->names[h->name_count] = NULL;
}

static void add_names(struct head *h, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        add_name(h, names[i]);
}

static void collect_names(struct head *h)
{
    for (int i = 0; i < h->param_count; i++)
        add_name(h, h->params[i].name);
    for (int i = 0; i < h->let_count; i++)
        add_name(h, h->lets[i].name);
    for (int i = 0; i < h->table_count; i++) {
        add_name(h, h->tables[i].name);
        add_names(h, (const char *const *)h->tables[i].columns);
    }
    for (int i = 0; i < h->scratch_count; i++)
        add_name(h, h->scratch[i].name);
    for (int i = 0; i < h->map_count; i++)
        add_name(h, h->maps[i].name);
    for (int i = 0; h->op->roles[i]; i++)
        add_name(h, h->op->roles[i]->name);
    add_names(h, work_symbol_names(h->op));
    add_names(h, head_chip_symbols);
    add_names(h, head_functions);
    add_names(h, epilogue_names);
}

/* A head's own name must not have a meaning already. It may hide a chip's symbol: that list grows. */
static bool check_own_name(const struct head *h, const char *what, const char *name, const struct node *n, struct error *err)
{
    const char *taken = NULL;
    if (among(name, work_symbol_names(h->op)))
        taken = "a symbol of the op";
    else if (op_role(h->op, name) || op_is_tensor(name))
        taken = "a tensor";
    else if (head_is_word(h->op, name))
        taken = "a word of the grammar";
    else if (!strcmp(name, "and") || !strcmp(name, "or") || !strcmp(name, "not"))
        taken = "an operator";
    return !taken || node_error(n, err, "%s '%s': that name is already %s", what, name, taken);
}

struct own_name {
    const char *what, *name;
    const struct node *node;
};
static bool check_own_names(const struct head *h, struct error *err)
{
    struct own_name all[4 * HEAD_MAX_ITEMS + HEAD_MAX_TABLES * (HEAD_MAX_COLUMNS + 1)];
    int count = 0;
    for (int i = 0; i < h->param_count; i++)
        all[count++] = (struct own_name){"parameter", h->params[i].name, h->params[i].node};
    for (int i = 0; i < h->let_count; i++)
        all[count++] = (struct own_name){"let", h->lets[i].name, h->lets[i].node};
    for (int i = 0; i < h->table_count; i++) {
        all[count++] = (struct own_name){"candidates", h->tables[i].name, h->tables[i].node};
        for (int c = 0; c < h->tables[i].column_count; c++)
            all[count++] = (struct own_name){"value", h->tables[i].columns[c], h->tables[i].nodes[c]};
    }
    for (int i = 0; i < h->scratch_count; i++)
        all[count++] = (struct own_name){"scratch buffer", h->scratch[i].name, h->scratch[i].node};
    for (int i = 0; i < h->map_count; i++)
        all[count++] = (struct own_name){"tensor map", h->maps[i].name, h->maps[i].node};
    for (int i = 0; i < count; i++) {
        if (!check_own_name(h, all[i].what, all[i].name, all[i].node, err))
            return false;
        for (int j = 0; j < i; j++)
            if (!strcmp(all[i].name, all[j].name))
                return node_error(all[i].node, err, "%s '%s': a %s has that name already, at line %d", all[i].what, all[i].name,
                                  all[j].what, all[j].node->line);
    }
    return true;
}

/* Refuses two -D of one name: their order would decide. */
static bool check_defines(const struct head *h, struct error *err)
{
    for (int i = 0; i < h->define_count; i++)
        if (head_param_find(h, h->defines[i].name) >= 0)
            return node_error(h->defines[i].node, err, "define '%s': the parameter of that name is already defined", h->defines[i].name);
    for (int i = 0; i < h->specialise_count; i++) {
        SCOPED char *upper = head_upper(h->specialise[i]);
        bool taken = head_param_find(h, upper) >= 0;
        const struct node *at = taken ? h->params[head_param_find(h, upper)].node : NULL;
        for (int j = 0; j < h->define_count && !taken; j++)
            if (!strcmp(h->defines[j].name, upper)) {
                taken = true;
                at = h->defines[j].node;
            }
        if (taken)
            node_error(at, err, "'%s' is also what `specialise: [%s]` defines", upper, h->specialise[i]);
        if (taken)
            return false;
    }
    return true;
}

static bool known(void *context, const char *name, bool call)
{
    const struct head *h = context;
    if (call && !strcmp(name, "scale"))
        ((struct head *)context)->scales = true;
    if (call)
        return among(name, head_functions);
    return head_is_word(h->op, name) || among(name, (const char *const *)h->names);
}

static bool check_expr(const struct head *h, const struct expr *e, struct error *err)
{
    return !e || expr_check(e, known, (void *)h, (const char *const *)h->names, err);
}

static bool check_list(const struct head *h, const struct expr_list *l, struct error *err)
{
    return ALL_OF(i, l->count, check_expr(h, l->items[i], err));
}

static bool check_named(const struct head *h, const struct named_expr *items, int count, struct error *err)
{
    return ALL_OF(i, count, check_expr(h, items[i].expr, err));
}

const char *head_argument(const struct head *h, const struct expr *e)
{
    const char *name = expr_name(e);
    for (int let = name ? head_let_find(h, name) : -1; let >= 0; let = name ? head_let_find(h, name) : -1)
        name = expr_name(h->lets[let].expr);
    return name;
}

/* A tensor that only some layers have must be claimed by the head, else the kernel would get nothing. */
static bool check_arg(const struct head *h, const struct expr *e, struct error *err)
{
    const char *name = head_argument(h, e);
    const struct tensor_role *role = name ? op_role(h->op, name) : NULL;
    if (name && !role && op_is_tensor(name))
        return expr_fail(e, err, "%s has no %s", h->op->name, name);
    if (!role)
        return true;
    bool mask = tensor_role_is_mask(role);
    if (mask && !h->mask.given)
        return expr_fail(e, err, "'%s' is an argument, but the head has no `mask:`", name);
    if (mask && role->output && !h->mask.writes_output && !h->mask.output)
        return expr_fail(e, err, "'%s' is an argument, but `mask:` says neither `writes: output` nor `needs: output`", name);
    if (!role->item || head_has_epilogue(h, (enum epilogue_kind)epilogue_kind_of(role->item)))
        return true;
    expr_fail(e, err, "'%s' is an argument, but `epilogue:` does not name it", name);
    return error_hint(err, "add it to `epilogue:` if the kernel applies it; otherwise pass 0 for a null pointer");
}

static bool check_steps(const struct head *h, struct error *err)
{
    for (int i = 0; i < h->step_count; i++) {
        const struct head_step *s = &h->steps[i];
        if (!check_expr(h, s->when, err) || !check_list(h, &s->grid, err) || !check_list(h, &s->block, err) ||
            !check_expr(h, s->smem, err) || !check_list(h, &s->args, err) || !check_list(h, &s->cluster, err) ||
            !check_expr(h, s->carveout, err) || !check_expr(h, s->cooperative, err) || !check_expr(h, s->pdl, err) ||
            !check_expr(h, s->fill, err) || !check_named(h, s->with, s->with_count, err))
            return false;
        if (!ALL_OF(j, s->args.count, check_arg(h, s->args.items[j], err)))
            return false;
    }
    return true;
}

static bool check_candidates(const struct head *h, struct error *err)
{
    for (int i = 0; i < h->table_count; i++) {
        const struct head_candidates *t = &h->tables[i];
        for (int r = 0; r < t->row_count; r++) {
            if (!check_expr(h, t->rows[r].when, err))
                return false;
            if (!ALL_OF(c, t->column_count, check_expr(h, t->rows[r].values[c], err)))
                return false;
        }
        if (!check_expr(h, t->least, err))
            return false;
    }
    return true;
}

bool head_check(struct head *h, struct error *err)
{
    collect_names(h);
    if (!check_own_names(h, err) || !check_defines(h, err) || !check_named(h, h->lets, h->let_count, err) || !check_candidates(h, err) ||
        !head_check_depends(h, err) || !check_named(h, h->defines, h->define_count, err) || !check_list(h, &h->needs, err) ||
        !check_list(h, &h->where, err) || !check_list(h, &h->claims, err) || !check_list(h, &h->measured, err) ||
        !check_list(h, &h->mask.tile, err) || !check_expr(h, h->mask.weights, err) || !check_steps(h, err))
        return false;
    if (!ALL_OF(i, h->scratch_count, check_expr(h, h->scratch[i].elements, err)))
        return false;
    for (int i = 0; i < h->map_count; i++) {
        const struct head_map *m = &h->maps[i];
        if (!check_list(h, &m->box, err) || !check_list(h, &m->dims, err) || !check_list(h, &m->strides, err) ||
            !check_list(h, &m->element_strides, err) || !check_expr(h, m->swizzle, err) || !check_expr(h, m->interleave, err) ||
            !check_expr(h, m->l2, err))
            return false;
    }
    return ALL_OF(i, h->column_count, check_expr(h, h->columns[i].element, err)) &&
           ALL_OF(i, OP_MAX_TENSORS, check_expr(h, h->slices[i], err)) && ALL_OF(i, PREDICT_COUNT, check_expr(h, h->predict[i], err));
}
