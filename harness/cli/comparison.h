/* cli/comparison: what bench compare, gate and baseline share. */
#pragma once

#include "cli/side.h"
#include "gate/asked.h"
#include "gate/compare.h"

struct comparison_arguments {
    struct side_options side;
    const char *out, *format, *to, *junit, *against, *head;
    struct option_list scenarios, variants, ops;
    bool across, annotate;
    struct gate_asked asked; /* of --layer and --only */
};
/* The options of all three verbs; options[0..COMPARISON_OPTION_COUNT), which write into `a`. */
#define COMPARISON_OPTION_COUNT 11
void comparison_options(struct comparison_arguments *a, struct option *options);
/* After parsing; `a` then has all that was given. */
bool comparison_finish(struct comparison_arguments *a, const struct verb *verb, int argc, char **argv, struct error *err);
void comparison_arguments_free(struct comparison_arguments *a);
/* Reads the rules in `path` (NULL: the default rules). They apply where the command line says nothing. */
bool comparison_rules(struct comparison_arguments *a, const char *path, struct gate_rules *rules, struct error *err);
/* True if --scenario, --layer or --only was given. */
bool comparison_asks_for_some(const struct comparison_arguments *a);
/* Moves the rows of a baseline or of a stored run that --scenario, --layer and --only leave out from `base` and `head` to `aside`. */
void comparison_set_aside(const struct comparison_arguments *a, struct gate_side *base, struct gate_side *head, struct gate_side *aside);
/* Notes in `c` which op files (--ops) differ between the two trees: both sides are judged by the files that are here. A baseline knows the
 * files by which its rows were judged, if comparison_keep_ops noted them in the side that was written. */
void comparison_keep_ops(const struct comparison_arguments *a, struct gate_side *side);
void comparison_note_ops(const struct comparison_arguments *a, struct gate_comparison *c);
/* Writes the comparison in the form that was asked for. */
bool comparison_put(const struct comparison_arguments *a, const struct gate_comparison *c, const int *exit_code, struct error *err);
