/* counter/find: the values that a table, or a comparison, shows, group by group. */
#include "counter/group.h"

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
