/* counter/judge: the rules of a group on numbers that are known by name, as a stored row holds them: no metrics, no chip. */
#ifndef BENCH_COUNTER_JUDGE_H
#define BENCH_COUNTER_JUDGE_H

#include "counter/set.h"

/* known->fact is asked for the group's values and for facts alike; NaN where a row has none. Rules that need an absent name do not hold. */
void counter_group_judge(const struct counter_group *group, const struct counter_known *known,
                         void (*visit)(void *context, const struct counter_rule *rule, const char *says, const char *advice),
                         void *context);

/* The rules for rows without counters (harness/counter/rules): groups whose values are computed from facts alone. */
bool counter_rules_load(struct counter_groups *groups, struct error *err);

#endif
