/* Lists the configurations of a variant's parameters that a scenario asks for. */
#include "kernel/head/head.h"
#include "kernel/variant.h"
#include "kernel/head/load.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGS_MAX 4096

/* The values of one parameter in the product; owned. */
struct chosen {
    struct value *values;
    int count;
};

static bool refuse(const struct head_param *p, const struct node *n, const char *variant, struct error *err)
{
    SCOPED_TEXT t = {0};
    char s[VALUE_TEXT_MAX];
    if (p->range)
        text_addf(&t, "%lld to %lld in steps of %lld", (long long)p->low, (long long)p->high, (long long)p->step);
    for (int i = 0; i < p->count; i++) {
        value_print(&p->values[i], s, sizeof s);
        text_addf(&t, "%s%s", i ? ", " : "", s);
    }
    node_error(n, err, "%s has no %s = %.60s; its values are %s", variant, p->name, n->text, text_get(&t));
    return false;
}

static bool configs_add(struct chosen *c, const struct head_param *p, const struct node *n, const char *variant, struct error *err)
{
    long long i;
    double d;
    const char *s = node_text(n, p->name, err);
    if (!s)
        return false;
    struct value v = text_to_int(s, &i) ? value_int(i) : text_to_real(s, &d) ? value_real(d) : value_text(s);
    if (!head_param_allows(p, &v))
        return refuse(p, n, variant, err);
    for (int k = 0; k < c->count; k++)
        if (value_equal(&c->values[k], &v))
            return node_error(n, err, "%s = %s is listed twice", p->name, s);
    *APPEND(c->values, c->count) = v;
    return true;
}

static bool choose_all(struct chosen *c, const struct head_param *p, const struct node *n, struct error *err)
{
    int64_t total = p->range ? (p->high - p->low) / p->step + 1 : p->count;
    if (total > CONFIGS_MAX)
        return node_error(n, err, "%s has %lld values; at most %d configurations are made", p->name, (long long)total, CONFIGS_MAX);
    c->values = xcalloc((size_t)total, sizeof *c->values);
    for (c->count = 0; c->count < total; c->count++)
        c->values[c->count] = p->range ? value_int(p->low + c->count * p->step) : p->values[c->count];
    return true;
}

/* Parameters that the scenario does not name keep their default, or, for a search, take all values. */
static bool choose(struct chosen *c, const struct head_param *p, const struct node *n, bool whole, const char *variant, struct error *err)
{
    if (!n && whole)
        return choose_all(c, p, n, err);
    if (!n) {
        c->values = xcalloc(1, sizeof *c->values);
        c->values[c->count++] = p->fallback;
        return true;
    }
    struct value all = value_text("all");
    if (n->kind == NODE_SCALAR && !strcmp(n->text, "all") && !head_param_allows(p, &all))
        return choose_all(c, p, n, err);
    if (n->kind != NODE_LIST)
        return configs_add(c, p, n, variant, err);
    return ALL_OF(i, n->count, configs_add(c, p, n->items[i], variant, err)) &&
           (n->count > 0 || node_error(n, err, "%s has no value", p->name));
}

static bool check_override(const struct variant *v, const struct head *h, const struct node *override, struct error *err)
{
    const char *names[HEAD_MAX_ITEMS + 1] = {0};
    char what[256];
    for (int i = 0; i < h->param_count; i++)
        names[i] = h->params[i].name;
    if (h->param_count == 0 && override->kind == NODE_MAP && override->count)
        return node_error(override->keys[0], err, "%s has no parameters", v->name);
    snprintf(what, sizeof what, "the parameters of %s", v->name);
    return node_check_keys(override, what, names, err);
}

/* Sorts parameters by name, for the label. */
static void sort_order(const struct head *h, int order[HEAD_MAX_ITEMS])
{
    for (int i = 0; i < h->param_count; i++) {
        int at = i;
        for (; at > 0 && strcmp(h->params[order[at - 1]].name, h->params[i].name) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void make_config(const struct variant *v, const struct head *h, const struct chosen *chosen, const int *order, int index,
                        struct variant_config *out)
{
    struct text label = {0};
    char s[VALUE_TEXT_MAX];
    *out = (struct variant_config){.variant = v, .count = h->param_count};
    out->names = xcalloc((size_t)h->param_count, sizeof *out->names);
    out->values = xcalloc((size_t)h->param_count, sizeof *out->values);
    for (int i = h->param_count - 1; i >= 0; i--) { /* the last name changes fastest */
        const struct chosen *c = &chosen[order[i]];
        out->values[i] = c->values[index % c->count];
        index /= c->count;
    }
    for (int i = 0; i < h->param_count; i++) {
        snprintf(out->names[i], sizeof out->names[i], "%s", h->params[order[i]].name);
        value_print(&out->values[i], s, sizeof s);
        text_addf(&label, "%s%s=%s", i ? "," : "", out->names[i], s);
    }
    out->label = text_take(&label);
}

static int expand(const struct variant *v, const struct node *override, bool whole, struct variant_config **configs, struct error *err)
{
    const struct head *h = v->parsed;
    struct chosen chosen[HEAD_MAX_ITEMS] = {0};
    int order[HEAD_MAX_ITEMS], count = -1;
    int64_t total = 1;
    *configs = NULL;
    if (override && override->kind == NODE_NULL)
        override = NULL;
    if (override && !check_override(v, h, override, err))
        goto done;
    for (int i = 0; i < h->param_count; i++) {
        if (!choose(&chosen[i], &h->params[i], node_get(override, h->params[i].name), whole, v->name, err))
            goto done;
        total *= chosen[i].count;
        if (total > CONFIGS_MAX) {
            node_error(override, err, "%s: more than %d configurations", v->name, CONFIGS_MAX);
            goto done;
        }
    }
    sort_order(h, order);
    *configs = xcalloc((size_t)total, sizeof **configs);
    for (count = 0; count < total; count++)
        make_config(v, h, chosen, order, count, &(*configs)[count]);
done:
    for (int i = 0; i < h->param_count; i++)
        free(chosen[i].values);
    return count;
}

int variant_configs(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err)
{
    return expand(v, override, false, configs, err);
}

int variant_space(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err)
{
    return expand(v, override, true, configs, err);
}

bool variant_at(const struct variant *v, const char *label, struct variant_config **config, struct error *err)
{
    SCOPED_TEXT t = {0};
    text_add(&t, "{");
    for (const char *c = label; *c; c++) { /* MT=8,NT=4 -> {MT: 8, NT: 4} */
        if (*c == '=')
            text_add(&t, ": ");
        else
            text_add_bytes(&t, c, 1);
        if (*c == ',')
            text_add(&t, " ");
    }
    text_add(&t, "}");
    SCOPED_BY(node_leave) struct node *node = node_parse_text(v->name, text_get(&t), t.len, 1, 1, err);
    int count = node ? variant_configs(v, node, config, err) : -1;
    if (count > 0 && (count > 1 || strcmp((*config)->label, label))) { /* a parameter was added or taken away since */
        error_set(err, ERROR_USAGE, "%s has no configuration '%s' (nearest: %s)", v->name, label, (*config)->label);
        variant_configs_free(*config, count);
        *config = NULL;
        count = -1;
    }
    return count == 1;
}
