/* counter/choice: which counters a run takes: those that the user asks for, else the scenario's `counters:`, else the basic groups. */
#pragma once

#include "base/glob_list.h"
#include "counter/group.h"

/* As the command line has it. */
struct counter_wish {
    bool off;                   /* --no-counters */
    bool source;                /* --source: stall reasons by source line as well */
    bool required;              /* --require-counters: counters that cannot be taken are an ERROR_ENVIRONMENT */
    const char *set;            /* --set basic | full; NULL = not given */
    const char *const *groups;  /* --group, each "A,B" or FILE.yaml; NULL-terminated; may be NULL */
    const char *const *metrics; /* --metrics, each "a.sum,b.avg" as ncu names them; NULL-terminated; may be NULL */
};
struct counter_choice {
    struct counter_groups known;
    const struct counter_group **groups; /* of `known`, each once */
    int count;
    const char **metrics; /* asked for by name; not yet checked against a chip */
    int metric_count;
    bool unasked;                  /* none was named: the basic groups */
    struct glob_list metric_words; /* holds the metrics' names */
};
/* `scenario`: the scenario's `counters:` list or NULL. Its names are always checked; an error names its place. --set, --group and
 * --metrics add up and replace the scenario's list. Nothing is chosen if counters are off. */
bool counter_choose(const struct counter_wish *wish, const struct node *scenario, struct counter_choice *choice, struct error *err);
void counter_choice_free(struct counter_choice *choice);
/* True if a row takes so long that only groups marked slow are worth their passes: the basic set runs a row nine times, and once with
 * patched code, which takes as long as 25 runs (on an H200). That is a row of more than 10 ms, or of more than 2 ms and five times the
 * fastest of its case. NaN: not timed. */
bool counter_row_is_slow(double time_ns, double fastest_ns);
