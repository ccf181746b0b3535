/* answers: questions that the report answers from the rows; checked here, so that no run ends with one it cannot answer. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 256

/* Coordinates in which rows differ: the layer, the axes, and the parts of the mask. */
static bool has_mask(const struct scenario *s)
{
    const struct parsed *p = s->parsed;
    return ANY_OF(i, p->axis_count, p->axes[i].is_mask);
}

static bool named(const char **names, size_t count, const char *name)
{
    return ANY_OF(i, count, !strcmp(names[i], name));
}

static void coordinate_names(const struct scenario *s, bool masks, const char **out)
{
    static const char *const parts[] = {"mask.density", "mask.pattern", "mask.radius", "mask.seed"};
    const struct parsed *p = s->parsed;
    size_t count = 0;
    out[count++] = "layer";
    for (int i = 0; i < p->axis_count && count < NAMES_MAX - 8; i++)
        out[count++] = p->axes[i].name;
    for (int i = 0; i < s->sequence_count; i++)
        for (int k = 0; k < s->sequences[i].axis_count && count < NAMES_MAX - 8; k++)
            if (!named(out, count, s->sequences[i].axes[k].axis))
                out[count++] = s->sequences[i].axes[k].axis;
    for (size_t i = 0; masks && has_mask(s) && i < sizeof parts / sizeof *parts; i++)
        out[count++] = parts[i];
    out[count] = NULL;
}

/* Checks that a value is one of the scenario's variants. */
static bool check_variant_node(const struct scenario *s, const char *kind, const struct node *n, const char *key, struct error *err)
{
    const char *names[SCENARIO_MAX_ITEMS + 1];
    char what[WHAT_MAX];
    for (int i = 0; i < s->variant_count; i++)
        names[i] = s->variants[i].name;
    names[s->variant_count] = NULL;
    snprintf(what, sizeof what, "answer %s: %s", kind, key);
    struct node variant = *n; /* without parameters: conv2d/delta_tile[VERY_SPARSE=0] */
    SCOPED char *name = n->kind == NODE_SCALAR ? text_format("%.*s", (int)strcspn(n->text, "["), n->text) : NULL;
    variant.text = name;
    return node_word(&variant, what, names, err) >= 0;
}

static bool check_variant(const struct scenario *s, const char *kind, const struct node *answer, const char *key, struct error *err)
{
    const struct node *n = node_get(answer, key);
    return n ? check_variant_node(s, kind, n, key, err) : node_error(answer, err, "answer %s: '%s' (a variant) is missing", kind, key);
}

/* Checks that the key's value is one of the coordinates, or a list of them. */
static bool check_names(const char *kind, const struct node *answer, const char *key, const char *const *names, struct error *err)
{
    const struct node *n = node_get(answer, key);
    char what[WHAT_MAX];
    snprintf(what, sizeof what, "answer %s: %s", kind, key);
    if (n && n->kind != NODE_LIST)
        return node_word(n, what, names, err) >= 0;
    for (int i = 0; n && i < n->count; i++)
        if (node_word(n->items[i], what, names, err) < 0)
            return false;
    return true;
}

static bool check_curves(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, true, names);
    if (!names[1])
        return node_error(answer, err, "answer %s: a curve needs an axis, and the scenario has none", kind);
    if (!node_get(answer, "over"))
        return node_error(answer, err, "answer %s: 'over' (an axis) is missing", kind);
    return check_names(kind, answer, "over", names + 1, err) && check_names(kind, answer, "by", names, err) &&
           check_variant(s, kind, answer, "against", err);
}

static bool check_best(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, true, names);
    return check_names(kind, answer, "by", names, err) && check_variant(s, kind, answer, "against", err);
}

static bool check_compare(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, false, names);
    for (size_t i = 0; has_mask(s) && i < NAMES_MAX - 2; i++)
        if (!names[i]) {
            names[i] = "mask.density";
            names[i + 1] = NULL;
            break;
        }
    const struct node *imported = node_get(answer, "imported"); /* no variant of the scenario */
    if (imported && (imported->kind != NODE_SCALAR || !strchr(imported->text, '/') || node_get(answer, "than")))
        return node_error(imported, err, "answer compare: 'imported' must be the name of an imported row, TOOL/OP, in place of 'than'");
    return check_names(kind, answer, "over", names, err) && check_variant(s, kind, answer, "what", err) &&
           (imported || check_variant(s, kind, answer, "than", err));
}

/* Coordinates, and where there are masks those parts of theirs that a comparison can follow. */
static bool check_best_value(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    const struct node *param = node_get(answer, "param");
    coordinate_names(s, true, names);
    if (!param || param->kind != NODE_SCALAR)
        return node_error(answer, err, "answer best: 'param' (a parameter of the variant) is missing");
    return check_names(kind, answer, "over", names, err) && check_names(kind, answer, "each", names, err) &&
           check_variant(s, kind, answer, "of", err);
}

static bool check_variants(const struct scenario *s, const char *kind, const struct node *answer, int least, struct error *err)
{
    const struct node *of = node_get(answer, "of");
    if (!of || of->kind != NODE_LIST || of->count < least)
        return node_error(answer, err, "answer %s: 'of' (a list of variants) is missing", kind);
    return ALL_OF(i, of->count, check_variant_node(s, kind, of->items[i], "of", err));
}

static bool check_list(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    return check_variants(s, kind, answer, 1, err);
}

/* Columns in percent of the tables of cases: those of the group core, which every run counts, and SOL. */
static bool check_share(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    static const char *const values[] = {"tensor_active", "issue_active", "occupancy_achieved", "dram_throughput", "speed_of_light", NULL};
    const struct node *value = node_get(answer, "value");
    if (!value)
        return node_error(answer, err, "answer share: 'value' (such as tensor_active) is missing");
    return node_word(value, "answer share: value", values, err) >= 0 &&
           (!node_get(answer, "of") || check_variants(s, kind, answer, 1, err));
}

static bool check_rank(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, true, names);
    return check_variants(s, kind, answer, 2, err) && check_names(kind, answer, "over", names, err) &&
           check_names(kind, answer, "each", names, err);
}

/* Along an axis of a sequence, or another one. */
static bool check_accuracy(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, false, names);
    if (!node_get(answer, "over"))
        return node_error(answer, err, "answer accuracy: 'over' (an axis, or layer) is missing");
    return check_names(kind, answer, "over", names, err) && check_variant(s, kind, answer, "of", err);
}

static bool check_knee(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    const char *names[NAMES_MAX];
    coordinate_names(s, false, names);
    return node_get(answer, "over") ? check_names(kind, answer, "over", names + 1, err)
                                    : node_error(answer, err, "answer knee: 'over' (an axis of numbers) is missing");
}

static bool check_plan(const struct scenario *s, const char *kind, const struct node *answer, struct error *err)
{
    static const char *const ways[] = {"layout", "launch", NULL};
    const struct node *by = node_get(answer, "by");
    return by ? node_word(by, "answer plan: by", ways, err) >= 0
              : node_error(answer, err, "answer plan: 'by' is missing (layout or launch: the parameter whose values are compared)");
}

static bool check_answer(const struct scenario *s, const struct node *n, struct error *err)
{
    static const char *const names[] = {"break_even", "best_per_layer", "compare", "plan",  "best",   "calls", "rank",
                                        "accuracy",   "knee",           "rate",    "share", "limits", NULL};
    static const struct {
        const char *keys[6];
        bool (*check)(const struct scenario *s, const char *kind, const struct node *answer, struct error *err);
    } kinds[] = {{{"question", "over", "by", "against"}, check_curves},
                 {{"question", "by", "against"}, check_best},
                 {{"question", "what", "than", "imported", "over"}, check_compare},
                 {{"question", "by"}, check_plan},
                 {{"question", "of", "param", "over", "each"}, check_best_value},
                 {{"question"}, NULL},
                 {{"question", "of", "over", "each"}, check_rank},
                 {{"question", "of", "over"}, check_accuracy},
                 {{"question", "over"}, check_knee},
                 {{"question", "of"}, check_list},
                 {{"question", "value", "of"}, check_share},
                 {{"question", "of"}, check_list}};
    char what[WHAT_MAX];
    if (n->kind != NODE_MAP || n->count != 1)
        return node_error(n, err, "answers: an item must be a map with one key, such as {best_per_layer: {against: cudnn}}");
    int kind = node_word(n->keys[0], "answers", names, err);
    if (kind < 0)
        return false;
    const struct node *question = node_get(n->items[0], "question");
    snprintf(what, sizeof what, "answer %s", names[kind]);
    if (question && (question->kind != NODE_SCALAR || !*question->text))
        return node_error(question, err, "%s: 'question' must be a text, which the report prints before its own question", what);
    return node_check_keys(n->items[0], what, kinds[kind].keys, err) &&
           (!kinds[kind].check || kinds[kind].check(s, names[kind], n->items[0], err));
}

bool answers_parse(struct scenario *s, const struct node *list, struct error *err)
{
    if (!list)
        return true;
    if (list->kind != NODE_LIST || !list->count || list->count > SCENARIO_MAX_ITEMS)
        return node_error(list, err, "answers: a list is expected, like [{best_per_layer: {against: cudnn}}]");
    return ALL_OF(i, list->count, check_answer(s, list->items[i], err));
}
