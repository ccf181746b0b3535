/* counter/group: a counter group is a file: hardware metrics with fallbacks for other chips, values computed from them, rules that judge
 * the values, and a paragraph that explains. To add a group: one YAML in harness/counter/groups/, or anywhere (`--group my.yaml`).
 *
 *   group: shared                       # = the file's name
 *   about: one line
 *   basic: yes                          # counted in a run that names no groups; left out: only when asked for
 *   slow: yes                           # also counted for rows so slow that few passes must do; or the metrics that are: [wavefronts]
 *   order: 3                            # its place on a page; left out: after those that have one, by name
 *   largest_first: 0.5                  # values by size, without those below this per cent; left out: in this order
 *   teaches: |
 *     a paragraph
 *   metrics:                            # names for formulas; of a list, the first that the chip has
 *     wavefronts: l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
 *     dram_read:  [dram__bytes_read.sum, fbpa__dram_read_bytes.sum]   # or emu.NAME, in a group of rules
 *     gmma:       {optional: smsp__warps_issue_stalled_gmma.sum}      # values that need it are absent on chips without
 *     moves:      {optional: sm__x_op_moves.sum, else: 0}             # its value on a chip without it
 *   values:                             # base/expr over metrics, facts, limits and the values above
 *     conflict_share: {value: 100 * conflicts / wavefronts, unit: "%", what: ..., head: "confl. %", brief: yes,
 *                      more: "bank conflicts in {this} instead of {that}", from: 1.5}
 *   rules:
 *     - when: conflict_share >= conflicts_many
 *       bottleneck: conflicts                # one of counter_bottleneck_names
 *       says: "{conflict_share} of the shared wavefronts are conflicts"
 *       gain: min(conflict_share * pipe / 100, headroom)
 *       why: a whole sentence that says where the formula comes from
 *       try: what to do
 *       unit: dram_throughput                # the share of its peak at which the unit works that the rule is about
 *
 * `head`: the value is a column of the table of bottlenecks of a case; with `brief` also of the case's own table on a terminal.
 * `more`: the sentence about two rows of which the slower one has `from` times as much or more, or, below 1, or less; {ratio}, {this},
 * {that} and {other} (its name) are filled in, and text in [] is left out once the other row was named. `more_if`: only if this holds for
 * the slower row.
 * `shown_if`: the case's own table has the value only if this holds for the row.
 * `state`: the value is the share of a warp's time in that state, and is called stall_STATE: reports sort and compare a row's states.
 * `gain`: at most this share of the time (in per cent) would be saved if the rule's cause went away and all else stayed. Of a list, the
 * first formula whose names are known. `gain: none`: cannot be estimated; the rule ranks after those that can. No gain is more than the
 * row is above its own speed of light. `unit`: if the share is at least the limit `idle`, the rule ranks before rules that name no busy
 * unit, because a busy unit limits the row more than a cause that keeps a unit idle.
 * A percentage is 0 to 100, as in ncu. If two groups of a set define one value name, both must mean the same. */
#pragma once

#include "base/error.h"
#include "base/expr.h"
#include "base/node.h"
#include "base/text.h"
#include <stdbool.h>

/* Bottlenecks that a rule can name. */
enum counter_bottleneck {
    COUNTER_BOTTLENECK_LATENCY,
    COUNTER_BOTTLENECK_MEMORY,
    COUNTER_BOTTLENECK_COMPUTE,
    COUNTER_BOTTLENECK_OCCUPANCY,
    COUNTER_BOTTLENECK_SPILLS,
    COUNTER_BOTTLENECK_CONFLICTS,
    COUNTER_BOTTLENECK_DIVERGENCE,
    COUNTER_BOTTLENECK_LAUNCH,
    COUNTER_BOTTLENECK_TAIL,
    COUNTER_BOTTLENECK_SMALL_GRID,
};
extern const char *const counter_bottleneck_names[]; /* NULL-terminated, in that order */

/* What formulas may use besides metrics: known of a row without counters. */
struct counter_fact {
    const char *name, *unit, *what;
};
extern const struct counter_fact counter_facts[]; /* ends with name NULL */

/* A number that rules compare with, decided once: harness/counter/limits.yaml. Formulas use its name. */
struct counter_limit {
    const char *name, *unit, *why;
    double value;
};
struct counter_limits {
    struct counter_limit *items;
    int count;
    struct node *root;
};
/* The shipped ones. Each has value:, unit: and why:. */
struct counter_limits *counter_limits_load(struct error *err);
void counter_limits_free(struct counter_limits *limits);
/* NaN: there is none of that name. */
double counter_limit(const struct counter_limits *limits, const char *name);

struct counter_metric {
    const char *name;     /* in formulas */
    const char **choices; /* CUPTI's names, the preferred first */
    int count;
    bool optional, slow;
    double otherwise; /* the value of an optional metric on a chip without it; NaN: absent */
    const struct node *node;
};
struct counter_value {
    const char *name, *unit, *what;
    const char *head, *more; /* NULL: none */
    const char *state;       /* the warp state whose share of time the value is; NULL: it is not such a share */
    bool brief;
    double from;
    struct expr *more_if;  /* NULL: always; of the slower row */
    struct expr *shown_if; /* NULL: always */
    struct expr *expr;
    const struct node *node;
};
#define COUNTER_GAINS 4
struct counter_rule {
    struct expr *when;
    enum counter_bottleneck bottleneck;
    const char *says, *remedy, *why;   /* of the remedy what is in [] is for works that tensor cores could compute and do not */
    struct expr *gains[COUNTER_GAINS]; /* none: the gain cannot be estimated */
    int gain_count;
    struct expr *unit; /* NULL: the rule is about no unit */
};
struct counter_group {
    char *path;
    const char *name, *about, *teaches;
    bool basic;
    bool computed; /* no counter of the hardware is in it: its values are computed when a row is judged, and not stored */
    int order;     /* INT_MAX: after all groups that have one */
    bool largest_first;
    double least;                        /* then: below it a value is not worth a line */
    const char *least_gain;              /* the limit below which a gain is no finding, whatever else holds; NULL: `gain_least` */
    const struct counter_limits *limits; /* not the group's own */
    struct counter_metric *metrics;
    int metric_count;
    struct counter_value *values;
    int value_count;
    struct counter_rule *rules;
    int rule_count;
    struct node *root; /* owns the strings */
};

/* Reads and checks a text: every error is FILE:LINE:COLUMN with the nearest valid word. limits may be NULL and outlive the group. */
struct counter_group *counter_group_parse(const char *file, const char *text, size_t bytes, const struct counter_limits *limits,
                                          struct error *err);
void counter_group_free(struct counter_group *group);
/* Index of the metric or value of that name; -1: none. */
int counter_group_metric(const struct counter_group *group, const char *name);
int counter_group_value(const struct counter_group *group, const char *name);
/* Appends the hardware metrics that a value is computed from, as `ncu --metrics` takes them (comma-separated; of alternatives the first).
 * Nothing for a value of emu's counters. */
void counter_value_metrics(const struct counter_group *group, int value, struct text *names);
/* Numbers by name; NaN where one is not known. */
struct counter_known {
    double (*fact)(void *context, const char *name);
    const char *(*word)(void *context, const char *name); /* of a fact that is a text; NULL: it is none, or not known. May be NULL */
    void *context;
    double idle; /* > 0: in place of the limit of that name */
};
/* Evaluates a formula; false if any name in it is absent, even in a branch not taken, or if the result is not finite. */
bool counter_compute(const struct expr *formula, const struct counter_known *known, double *out);

/* The groups that can be asked for. */
struct counter_groups {
    struct counter_group **items; /* in the order of a page */
    int count;
    struct counter_limits *limits;
};
/* Loads all groups of a folder (NULL: the shipped ones); a folder without groups is an error. Rules may use values of all groups in the
 * folder, and of `others`. */
bool counter_groups_load(const char *dir, const struct counter_groups *others, struct counter_groups *groups, struct error *err);
void counter_groups_free(struct counter_groups *groups);
/* The values that have a `head`, or `more`, in the order of a page, each name once: `for (struct counter_place p = {0};
 * counter_next(groups, &p, COUNTER_HEAD);)`. groups may be NULL. */
enum counter_shown { COUNTER_HEAD, COUNTER_MORE };
struct counter_place {
    const struct counter_group *group;
    int value; /* of the group */
    int index, next;
};
bool counter_next(const struct counter_groups *groups, struct counter_place *p, enum counter_shown shown);
/* By name; a name that ends in .yaml is read from that file and kept with the others. Error with the nearest name. */
const struct counter_group *counter_groups_find(struct counter_groups *groups, const char *name, struct error *err);
/* A scenario's `counters:` list (NULL: none): every name must be a group; the error names its place. */
bool counter_groups_check(struct counter_groups *groups, const struct node *list, struct error *err);
