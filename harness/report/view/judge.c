/* The rule files that a report judges by, and their limits. */
#include "report/view/verdict.h"
#include <math.h>

void judge_open(struct judge *j)
{
    *j = (struct judge){0};
    j->ready = counter_groups_load(NULL, NULL, &j->groups, &j->missing) && counter_rules_load(&j->groups, &j->rules, &j->missing);
}

void judge_close(struct judge *j)
{
    counter_groups_free(&j->rules);
    counter_groups_free(&j->groups);
    *j = (struct judge){0};
}

const struct counter_groups *case_groups(const struct case_view *c)
{
    return c->judge && c->judge->ready ? &c->judge->groups : NULL;
}

double case_limit(const struct case_view *c, const char *name)
{
    return c->judge ? counter_limit(c->judge->groups.limits, name) : NAN;
}
