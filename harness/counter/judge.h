/* counter/judge: the rules of a group on numbers that are known by name, as a stored row holds them: no metrics, no chip. */
#pragma once

#include "counter/group.h"

struct counter_finding {
    const struct counter_group *group;
    const struct counter_rule *rule;
    const char *says, *remedy; /* with the numbers in them */
    double gain;               /* % of the time, 0 to 100; NaN: cannot be estimated */
    double unit;               /* how busy the unit is that the rule is about, in %; NaN: about none */
};
/* `known` returns both the group's values and facts. A rule with an absent name does not hold. */
void counter_group_judge(const struct counter_group *group, const struct counter_known *known,
                         void (*visit)(void *context, const struct counter_finding *finding), void *context);
/* One of the group's values: as it is known, or computed. NaN when absent. */
double counter_group_number(const struct counter_group *group, int value, const struct counter_known *known);
/* Does the rule speak of that name, in its condition or its sentence? */
bool counter_rule_reads(const struct counter_rule *rule, const char *name);

/* The rules for rows without counters (harness/counter/rules): their values are computed from facts alone. They may use values of the
 * counted groups. */
bool counter_rules_load(const struct counter_groups *counted, struct counter_groups *rules, struct error *err);
