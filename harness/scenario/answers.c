/* answers: what the report works out over the rows, checked here so that no run ends with a question that cannot be answered. */
#include "base/text.h"
#include "scenario/private.h"
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 256

/* What rows differ in: the layer, the axes, and the parts of the mask. */
static bool has_mask(const struct scenario *s)
{
    const struct parsed *p = s->parsed;
    for (int i = 0; i < p->axis_count; i++)
        if (p->axes[i].is_mask)
            return true;
    return false;
}

static void coordinate_names(const struct scenario *s, const char **out)
{
    static const char *const parts[] = {"mask.density", "mask.pattern", "mask.radius", "mask.seed"};
    const struct parsed *p = s->parsed;
    size_t count = 0;
    out[count++] = "layer";
    for (int i = 0; i < p->axis_count && count < NAMES_MAX - 8; i++)
        out[count++] = p->axes[i].name;
    for (size_t i = 0; has_mask(s) && i < sizeof parts / sizeof *parts; i++)
        out[count++] = parts[i];
    out[count] = NULL;
}

static bool check_against(const struct scenario *s, const char *kind, const struct node *answer, const struct node *n, struct error *err)
{
    const char *names[SCENARIO_MAX_ITEMS + 1];
    char what[WHAT_MAX];
    if (!n)
        return node_error(answer, err, "answer %s: 'against' (a variant) is missing", kind);
    for (int i = 0; i < s->variant_count; i++)
        names[i] = s->variants[i].name;
    names[s->variant_count] = NULL;
    snprintf(what, sizeof what, "answer %s: against", kind);
    return node_word(n, what, names, err) >= 0;
}

static bool check_answer(const struct scenario *s, const struct node *n, struct error *err)
{
    static const char *const kinds[] = {"break_even", "best_per_layer", NULL}, *const keys[] = {"over", "by", "against", NULL};
    const char *names[NAMES_MAX];
    char what[WHAT_MAX];
    if (n->kind != NODE_MAP || n->count != 1)
        return node_error(n, err, "answers: an item is a map of one key, like {best_per_layer: {against: cudnn}}");
    int kind = node_word(n->keys[0], "answers", kinds, err);
    const struct node *answer = n->items[0];
    if (kind < 0)
        return false;
    snprintf(what, sizeof what, "answer %s", kinds[kind]);
    if (!node_check_keys(answer, what, kind == 0 ? keys : keys + 1, err))
        return false;
    const struct node *over = node_get(answer, "over"), *by = node_get(answer, "by");
    coordinate_names(s, names);
    if (kind == 0 && !over)
        return node_error(answer, err, "%s: 'over' (an axis) is missing", what);
    snprintf(what, sizeof what, "answer %s: over", kinds[kind]);
    if (over && node_word(over, what, names + 1, err) < 0)
        return false;
    snprintf(what, sizeof what, "answer %s: by", kinds[kind]);
    if (by && by->kind != NODE_LIST)
        return node_word(by, what, names, err) >= 0 && check_against(s, kinds[kind], answer, node_get(answer, "against"), err);
    for (int i = 0; by && i < by->count; i++)
        if (node_word(by->items[i], what, names, err) < 0)
            return false;
    return check_against(s, kinds[kind], answer, node_get(answer, "against"), err);
}

bool answers_parse(struct scenario *s, const struct node *list, struct error *err)
{
    s->answers = list;
    if (!list)
        return true;
    if (list->kind != NODE_LIST || !list->count || list->count > SCENARIO_MAX_ITEMS)
        return node_error(list, err, "answers: a list is expected, like [{best_per_layer: {against: cudnn}}]");
    for (int i = 0; i < list->count; i++)
        if (!check_answer(s, list->items[i], err))
            return false;
    return true;
}
