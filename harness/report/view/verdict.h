/* report/view/verdict: judges the rows of a case once: their bottlenecks and estimated gains, by the rules of the counter groups
 * (harness/counter/groups) and, without counters, of harness/counter/rules, from stored numbers. */
#pragma once

#include "counter/judge.h"
#include "report/view/breakdown.h"

/* The rule files, read once for a report. */
struct judge {
    bool ready; /* false: they were not found and nothing is judged; `missing` says why */
    struct counter_groups rules, groups;
    struct chip_model **models; /* of the chips that have one */
    int model_count;
    struct stored_times *stored; /* times of stored runs (report/view/stored.h) */
    struct error missing;
};
void judge_open(struct judge *j);
void judge_close(struct judge *j);

struct verdict {
    const struct counter_group *group; /* whose rule: "occupancy", "row" */
    const struct counter_rule *rule;
    int step;
    double gain;         /* estimated gain: at most this share of the row's time, in per cent; NaN: not known */
    double unit;         /* how busy the unit is that leads the row, in per cent; NaN: the finding is about no unit that leads */
    int order;           /* its place among the findings before they were sorted */
    bool close;          /* so near to the first finding that another run may name it first */
    char *says, *remedy; /* with the numbers in them; of a row of several steps beginning with the step's name and share */
};
/* Judges every row of the case; view->verdicts and case->judge live until case_view_free. */
void case_judge(struct case_view *c, const struct judge *j);
void verdicts_free(struct verdicts *v);
/* The bottleneck of the first verdict, such as "memory"; "": none, or it is open which. */
const char *verdict_word(const struct view *v);
/* Appends it, or those that it may be: "memory or tail, 2 more". False: no rule holds. */
bool verdict_words(const struct view *v, struct text *t);
/* Does a verdict of the row use that value or fact? */
bool verdict_reads(const struct view *v, const char *name);
/* Appends "estimated speed-up up to 1.43x", the time without the gain; false, and nothing, when no gain is known. */
bool verdict_speedup(const struct verdict *v, struct text *t);
/* A value of a group, of a row of several launches that of all of them; NaN when absent. The case is judged. */
double verdict_number(const struct case_view *c, const struct view *v, const struct counter_group *g, int value);
/* True unless known values of the row's longest step contradict the formula. NULL always holds. */
bool verdict_holds(const struct case_view *c, const struct view *v, const struct expr *formula);
/* A threshold by name (harness/counter/limits.yaml); NaN: the case was not judged, or there is none of that name. */
double case_limit(const struct case_view *c, const char *name);
/* The case's counter groups; NULL where it was not judged. */
const struct counter_groups *case_groups(const struct case_view *c);
