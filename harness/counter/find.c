/* counter/find: metrics and values by name, the metrics of a value, and the values that a table, or a comparison, shows, group by group. */
#include "counter/group.h"
#include <string.h>

int counter_group_metric(const struct counter_group *group, const char *name)
{
    return FIRST_OF(i, group->metric_count, !strcmp(group->metrics[i].name, name));
}

int counter_group_value(const struct counter_group *group, const char *name)
{
    return FIRST_OF(i, group->value_count, !strcmp(group->values[i].name, name));
}

struct metric_names {
    const struct counter_group *group;
    struct text *names;
    bool *named; /* by metric of the group: its first choice is among the names */
};

/* A value in the formula stands for the metrics of its own formula. Formulas use only values above them, so the recursion ends. */
static void add_metric_name(void *context, const char *name)
{
    struct metric_names *to = context;
    int metric = counter_group_metric(to->group, name), value = counter_group_value(to->group, name);
    if (value >= 0)
        expr_names(to->group->values[value].expr, add_metric_name, to);
    if (metric < 0)
        return;
    const char *first = to->group->metrics[metric].choices[0];
    for (int i = 0; i < to->group->metric_count; i++)
        if (to->named[i] && strcmp(to->group->metrics[i].choices[0], first) == 0)
            return;
    to->named[metric] = true;
    if (strncmp(first, "emu.", 4) != 0)
        text_addf(to->names, "%s%s", to->names->len ? ", " : "", first);
}

void counter_value_metrics(const struct counter_group *group, int value, struct text *names)
{
    SCOPED bool *named = xcalloc((size_t)group->metric_count + 1, sizeof *named);
    expr_names(group->values[value].expr, add_metric_name, &(struct metric_names){group, names, named});
}

static bool group_has(const struct counter_group *g, int value, enum counter_shown shown)
{
    return value >= 0 && (shown == COUNTER_HEAD ? g->values[value].head : g->values[value].more);
}

bool counter_next(const struct counter_groups *groups, struct counter_place *p, enum counter_shown shown)
{
    for (; groups && p->index < groups->count; p->index++, p->next = 0) {
        p->group = groups->items[p->index];
        while (p->next < p->group->value_count) {
            bool again = false;
            p->value = p->next++;
            for (int j = 0; j < p->index && !again; j++)
                again = group_has(groups->items[j], counter_group_value(groups->items[j], p->group->values[p->value].name), shown);
            if (!again && group_has(p->group, p->value, shown))
                return true;
        }
    }
    return false;
}
