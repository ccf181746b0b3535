/* counter/set: the metrics that one chip must count for several groups, each once, and the groups' values from the measured metrics. */
#pragma once

#include "counter/group.h"

/* One group in a set: for each of its metrics the index in the set, or -1 where the chip has none of an optional metric's names. */
struct counter_pick {
    const struct counter_group *group;
    int *index;
};
struct counter_set {
    const char **metrics; /* CUPTI's names; owned by the groups (or by the caller, for extra ones) */
    int count;
    struct counter_pick *picks;
    int pick_count;
};
/* What the chip has: a question that device/cupti answers. */
struct counter_chip {
    const char *name;
    bool (*has)(void *context, const char *metric);
    void *context;
};
/* `extra`: further metrics by name, unchecked, put first. An error if the chip lacks every alternative of a metric that is not optional,
 * if two groups define one value name differently, or if nothing is asked for. */
bool counter_set_make(const struct counter_group *const *groups, int count, const char *const *extra, int extra_count,
                      const struct counter_chip *chip, struct counter_set *set, struct error *err);
void counter_set_free(struct counter_set *set);
/* The metrics to count for a slow row, as indices in which[set->count]; returns their number. They are those that groups mark as slow and
 * the extra ones, except those that CUPTI counts by patching the code (`_sass_` in the name), which takes about 25 times as long. */
int counter_set_slow(const struct counter_set *set, int *which);
/* Can the value be computed on the set's chip (facts aside)? */
bool counter_set_offers(const struct counter_set *set, int pick, int value);

/* The values of a picked group from measured[set->count] (NaN = absent). values[group->value_count]; NaN where something it needs is absent
 * or it divides by zero. `facts` may be NULL. */
void counter_set_values(const struct counter_set *set, int pick, const double *measured, const struct counter_known *facts, double *values);
/* Visits every computable value of the groups, each name once: a row stores it as hw.NAME. */
void counter_set_each(const struct counter_set *set, const double *measured, const struct counter_known *facts,
                      void (*visit)(void *context, const struct counter_value *value, double number), void *context);
