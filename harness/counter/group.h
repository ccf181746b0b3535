/* counter/group: a counter group is a file: hardware metrics with fallbacks for other chips, values computed from them, rules that judge
 * the values, and a paragraph that teaches. To add a group: one YAML in harness/counter/groups/, or anywhere (`--group my.yaml`).
 *
 *   group: shared                       # = the file's name
 *   about: one line
 *   basic: yes                          # counted in a run that names no groups; left out: only when asked for
 *   teaches: |
 *     a paragraph
 *   metrics:                            # names for formulas; the first of a list that the chip has is taken
 *     wavefronts: l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
 *     dram_read:  [dram__bytes_read.sum, fbpa__dram_read_bytes.sum]
 *     gmma:       {optional: smsp__warps_issue_stalled_gmma.sum}      # values that need it are absent on chips without
 *     moves:      {optional: sm__x_op_moves.sum, else: 0}             # a chip without the metric has no such thing: this number stands for
 * it values:                             # base/expr over metrics, facts and the values above conflict_share: {value: 100 * conflicts /
 * wavefronts, unit: "%", what: ...} rules:
 *     - when: conflict_share >= 10
 *       binds: conflicts                # one of counter_bind_names
 *       says: "{conflict_share} of the shared wavefronts are conflicts"
 *       try: what to do
 *
 * A percentage is 0 to 100, as ncu has it. A name that two groups of a set give a value must mean the same in both. */
#ifndef BENCH_COUNTER_GROUP_H
#define BENCH_COUNTER_GROUP_H

#include "base/error.h"
#include "base/expr.h"
#include "base/node.h"
#include <stdbool.h>

/* What a rule says the kernel is bound by. */
enum counter_bind {
    COUNTER_BIND_LATENCY,
    COUNTER_BIND_MEMORY,
    COUNTER_BIND_COMPUTE,
    COUNTER_BIND_OCCUPANCY,
    COUNTER_BIND_SPILLS,
    COUNTER_BIND_CONFLICTS,
    COUNTER_BIND_DIVERGENCE,
    COUNTER_BIND_LAUNCH,
    COUNTER_BIND_TAIL,
};
extern const char *const counter_bind_names[]; /* NULL-terminated, in that order */

/* What formulas may use besides metrics: known of a row without counters. */
struct counter_fact {
    const char *name, *unit, *what;
};
extern const struct counter_fact counter_facts[]; /* ends with name NULL */

struct counter_metric {
    const char *name;     /* in formulas */
    const char **choices; /* CUPTI's names, the preferred first */
    int count;
    bool optional;
    double otherwise; /* what an optional metric is on a chip without; NaN: absent */
    const struct node *node;
};
struct counter_value {
    const char *name, *unit, *what;
    struct expr *expr;
    const struct node *node;
};
struct counter_rule {
    struct expr *when;
    enum counter_bind binds;
    const char *says, *remedy;
};
struct counter_group {
    char *path;
    const char *name, *about, *teaches;
    bool basic;
    struct counter_metric *metrics;
    int metric_count;
    struct counter_value *values;
    int value_count;
    struct counter_rule *rules;
    int rule_count;
    struct node *root; /* owns the strings */
};

/* Reads and checks a file: every error is FILE:LINE:COLUMN with the nearest valid word. */
struct counter_group *counter_group_load(const char *path, struct error *err);
struct counter_group *counter_group_parse(const char *file, const char *text, size_t bytes, struct error *err);
void counter_group_free(struct counter_group *group);
/* Index of the metric / value of that name, -1 when there is none. */
int counter_group_metric(const struct counter_group *group, const char *name);
int counter_group_value(const struct counter_group *group, const char *name);

/* The groups that can be asked for. */
struct counter_groups {
    struct counter_group **items; /* by name */
    int count;
};
/* All groups of a folder; NULL: the shipped ones. A folder without any is an error. */
bool counter_groups_load(const char *dir, struct counter_groups *groups, struct error *err);
void counter_groups_free(struct counter_groups *groups);
/* By name; a name that ends in .yaml is read from that file and kept with the others. Error with the nearest name. */
const struct counter_group *counter_groups_find(struct counter_groups *groups, const char *name, struct error *err);
/* A scenario's `counters:` list (NULL = none): every name must be a group; the error stands at the name. */
bool counter_groups_check(struct counter_groups *groups, const struct node *list, struct error *err);

#endif
