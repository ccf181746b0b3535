/* counter/limits: the numbers that rules compare with, each decided once. */
#include "base/file.h"
#include "base/text.h"
#include "counter/group.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool limits_parse(struct counter_limits *l, struct error *err)
{
    static const char *const keys[] = {"value", "unit", "why", NULL};
    if (l->root->kind != NODE_MAP)
        return node_error(l->root, err, "a map of limits is expected");
    l->items = xcalloc((size_t)l->root->count + 1, sizeof *l->items);
    for (int i = 0; i < l->root->count; i++) {
        const struct node *n = l->root->items[i];
        struct counter_limit *limit = &l->items[l->count];
        if (!node_check_keys(n, "limit", keys, err))
            return false;
        for (int k = 0; keys[k]; k++)
            if (!node_get(n, keys[k]))
                return node_error(n, err, "a limit needs value:, unit: and why:; %s: is missing", keys[k]);
        if (!isnan(counter_limit(l, l->root->keys[i]->text)))
            return node_error(l->root->keys[i], err, "'%s' is listed twice", l->root->keys[i]->text);
        if (!node_real(node_get(n, "value"), "value", 0, 1e12, &limit->value, err))
            return false;
        limit->name = l->root->keys[i]->text;
        limit->unit = node_get(n, "unit")->text ? node_get(n, "unit")->text : "";
        limit->why = node_text(node_get(n, "why"), "why", err);
        if (!limit->why)
            return false;
        l->count++;
    }
    return true;
}

struct counter_limits *counter_limits_load(struct error *err)
{
    SCOPED char *path = file_share("harness/counter/limits.yaml");
    struct counter_limits *l = xcalloc(1, sizeof *l);
    l->root = node_parse_file(path, err);
    if (!l->root || !limits_parse(l, err)) {
        counter_limits_free(l);
        l = NULL;
    }
    return l;
}

void counter_limits_free(struct counter_limits *limits)
{
    if (limits) {
        node_free(limits->root);
        free(limits->items);
    }
    free(limits);
}

double counter_limit(const struct counter_limits *limits, const char *name)
{
    for (int i = 0; limits && i < limits->count; i++)
        if (!strcmp(limits->items[i].name, name))
            return limits->items[i].value;
    return NAN;
}

struct compute {
    const struct counter_known *known;
    bool absent;
};

static bool name_value(void *context, const char *name, struct value *out, struct error *err)
{
    const struct compute *c = context;
    *out = value_real(c->known->fact(c->known->context, name));
    return true;
}

static void check_absent(void *context, const char *name)
{
    struct compute *c = context;
    c->absent = c->absent || !isfinite(c->known->fact(c->known->context, name));
}

bool counter_compute(const struct expr *formula, const struct counter_known *known, double *out)
{
    struct compute c = {.known = known};
    struct expr_env env = {.context = &c, .name = name_value};
    struct value value;
    expr_names(formula, check_absent, &c);
    if (c.absent || !expr_eval(formula, &env, &value, NULL) || value.kind == VALUE_TEXT)
        return false;
    *out = value.kind == VALUE_INT ? (double)value.i : value.d;
    return isfinite(*out);
}
