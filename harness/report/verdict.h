/* report/verdict: what binds a row, by the rules of the counter groups (harness/counter/groups) and of rows without counters
 * (harness/counter/rules); the numbers are those the row has stored. */
#ifndef BENCH_REPORT_VERDICT_H
#define BENCH_REPORT_VERDICT_H

#include "counter/group.h"
#include "report/account.h"

struct verdict_item {
    enum counter_bind binds;
    char group[32]; /* whose rule: "occupancy", "row" */
    bool counted;   /* of a counter group: hardware counters say so */
    char says[256], remedy[256];
};
#define VERDICTS_MAX 24
struct verdicts {
    struct verdict_item items[VERDICTS_MAX];
    int count;    /* 0: no rule holds */
    bool rules;   /* the rule files were found */
    bool counted; /* the row has hardware counters */
};
/* All rules that hold for the row's longest step, what binds it first. The first is the verdict. Order: a launch too small for the GPU; a
 * side at its roof; spills; conflicts; divergence; waste of bandwidth; what the warps wait for; the tail; occupancy; that neither side is
 * busy. */
void verdicts_of(const struct case_view *c, const struct view *v, struct verdicts *out);
/* The installed counter groups, in the order of their names; NULL when they are not found. Kept for the process. */
const struct counter_groups *verdict_groups(void);
/* A value of a counter group, or a fact of counter_facts, as the rules see it: NaN where the row has none. */
double verdict_value(const struct case_view *c, const struct view *v, const struct account *a, const char *name);

#endif
