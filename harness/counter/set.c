#include "counter/set.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int set_find(const struct counter_set *set, const char *metric)
{
    return FIRST_OF(i, set->count, !strcmp(set->metrics[i], metric));
}

static int set_put(struct counter_set *set, const char *metric)
{
    int i = set_find(set, metric);
    if (i >= 0)
        return i;
    *APPEND(set->metrics, set->count) = metric;
    return set->count - 1;
}

/* The first name that the chip has. */
static bool pick_metric(struct counter_set *set, const struct counter_metric *m, const struct counter_chip *chip, int *index,
                        struct error *err)
{
    struct text tried = {0};
    *index = -1;
    for (int i = 0; i < m->count; i++)
        if (chip->has(chip->context, m->choices[i])) {
            *index = set_put(set, m->choices[i]);
            return true;
        }
    if (m->optional)
        return true;
    text_add_list(&tried, m->choices, (size_t)m->count);
    node_error(m->node, err, "%s has no metric for '%s' (%s)", chip->name, m->name, text_get(&tried));
    error_hint(err, "bench counters --chip %s --list '*PART*' lists its metrics; or use {optional: ...}", chip->name);
    text_free(&tried);
    return false;
}

/* Two groups' formulas over their own names. */
struct pair {
    const struct counter_group *a, *b;
    bool same;
};

static void compare_name(void *context, const char *name)
{
    struct pair *p = context;
    int i = counter_group_metric(p->a, name), k = counter_group_metric(p->b, name);
    if (i < 0 && k < 0)
        return; /* a fact, or a value that is compared by itself */
    p->same = p->same && i >= 0 && k >= 0 && p->a->metrics[i].count == p->b->metrics[k].count;
    for (int c = 0; p->same && c < p->a->metrics[i].count; c++)
        p->same = !strcmp(p->a->metrics[i].choices[c], p->b->metrics[k].choices[c]);
}

static bool same_meaning(const struct counter_group *a, int i, const struct counter_group *b, int k)
{
    struct pair p = {a, b,
                     !strcmp(expr_text(a->values[i].expr), expr_text(b->values[k].expr)) && !strcmp(a->values[i].unit, b->values[k].unit)};
    expr_names(a->values[i].expr, compare_name, &p);
    return p.same;
}

/* If two groups define one value name, both must mean the same: it is one column. */
static bool check_meaning(const struct counter_set *set, const struct counter_group *g, struct error *err)
{
    for (int p = 0; p < set->pick_count; p++) {
        const struct counter_group *other = set->picks[p].group;
        for (int i = 0; i < g->value_count; i++) {
            int k = counter_group_value(other, g->values[i].name);
            if (k >= 0 && !same_meaning(g, i, other, k))
                return node_error(g->values[i].node, err, "value '%s' is '%s' in group %s: a name must have one meaning", g->values[i].name,
                                  expr_text(other->values[k].expr), other->name);
        }
    }
    return true;
}

bool counter_set_make(const struct counter_group *const *groups, int count, const char *const *extra, int extra_count,
                      const struct counter_chip *chip, struct counter_set *set, struct error *err)
{
    *set = (struct counter_set){0};
    set->picks = xcalloc((size_t)count + 1, sizeof *set->picks);
    bool ok = count + extra_count > 0 || error_set(err, ERROR_USAGE, "no counter groups and no metrics are selected");
    for (int i = 0; ok && i < extra_count; i++)
        set_put(set, extra[i]);
    for (int i = 0; ok && i < count; i++) {
        bool again = ANY_OF(k, i, groups[k] == groups[i]);
        if (again)
            continue;
        ok = check_meaning(set, groups[i], err);
        struct counter_pick *pick = &set->picks[set->pick_count];
        if (!ok)
            break;
        pick->group = groups[i];
        pick->index = xcalloc((size_t)groups[i]->metric_count, sizeof *pick->index);
        set->pick_count++;
        ok = ok && ALL_OF(m, groups[i]->metric_count, pick_metric(set, &groups[i]->metrics[m], chip, &pick->index[m], err));
    }
    if (!ok)
        counter_set_free(set);
    return ok;
}

int counter_set_slow(const struct counter_set *set, int *which)
{
    int count = 0;
    for (int i = 0; i < set->count; i++) {
        bool slow = false, wanted = false; /* of a slow row, by any group */
        for (int p = 0; p < set->pick_count; p++)
            for (int m = 0; m < set->picks[p].group->metric_count; m++)
                if (set->picks[p].index[m] == i) {
                    wanted = true;
                    slow |= set->picks[p].group->metrics[m].slow;
                }
        if ((slow || !wanted) && !strstr(set->metrics[i], "_sass_"))
            which[count++] = i;
    }
    return count;
}

void counter_set_free(struct counter_set *set)
{
    for (int i = 0; i < set->pick_count; i++)
        free(set->picks[i].index);
    free(set->picks);
    free(set->metrics);
    *set = (struct counter_set){0};
}

/* What a formula of a picked group sees. */
struct view {
    const struct counter_set *set;
    const struct counter_pick *pick;
    const double *measured; /* NULL: only asks which metrics exist */
    const struct counter_known *facts;
    const double *values; /* computed so far */
    int value_count;
    bool absent;
};

static double set_number(const struct view *v, const char *name)
{
    const struct counter_group *g = v->pick->group;
    int i = counter_group_metric(g, name);
    if (i >= 0)
        return v->pick->index[i] < 0 ? g->metrics[i].otherwise : v->measured ? v->measured[v->pick->index[i]] : 1;
    i = counter_group_value(g, name);
    if (i >= 0)
        return i < v->value_count ? v->values[i] : NAN;
    double limit = counter_limit(g->limits, name);
    return !isnan(limit) ? limit : v->facts ? v->facts->fact(v->facts->context, name) : v->measured ? NAN : 1;
}

static double known_number(void *context, const char *name)
{
    return set_number(context, name);
}

static void check_absent(void *context, const char *name)
{
    struct view *v = context;
    v->absent = v->absent || !isfinite(set_number(v, name));
}

bool counter_set_offers(const struct counter_set *set, int pick, int value)
{
    const struct counter_pick *p = &set->picks[pick];
    SCOPED double *values = xcalloc((size_t)p->group->value_count, sizeof *values);
    struct view v = {.set = set, .pick = p, .values = values};
    for (int i = 0; i <= value; i++) { /* only presence counts: formulas are not evaluated with invented numbers */
        v.value_count = i;
        v.absent = false;
        expr_names(p->group->values[i].expr, check_absent, &v);
        values[i] = v.absent ? NAN : 1;
    }
    return isfinite(values[value]);
}

void counter_set_values(const struct counter_set *set, int pick, const double *measured, const struct counter_known *facts, double *values)
{
    const struct counter_pick *p = &set->picks[pick];
    struct view v = {.set = set, .pick = p, .measured = measured, .facts = facts, .values = values};
    const struct counter_known known = {.fact = known_number, .context = &v};
    for (int i = 0; i < p->group->value_count; i++) {
        v.value_count = i;
        if (!counter_compute(p->group->values[i].expr, &known, &values[i]))
            values[i] = NAN;
    }
}

void counter_set_each(const struct counter_set *set, const double *measured, const struct counter_known *facts,
                      void (*visit)(void *context, const struct counter_value *value, double number), void *context)
{
    for (int p = 0; p < set->pick_count; p++) {
        const struct counter_group *g = set->picks[p].group;
        SCOPED double *values = xcalloc((size_t)g->value_count, sizeof *values);
        counter_set_values(set, p, measured, facts, values);
        for (int i = 0; i < g->value_count; i++) {
            bool again = ANY_OF(k, p, counter_group_value(set->picks[k].group, g->values[i].name) >= 0);
            if (!again && isfinite(values[i]))
                visit(context, &g->values[i], values[i]);
        }
    }
}
