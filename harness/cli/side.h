/* cli/side: what a person names as one side of a comparison, made into rows. */
#ifndef BENCH_CLI_SIDE_H
#define BENCH_CLI_SIDE_H

#include "cli/cli.h"
#include "gate/rules.h"

struct side_options {
    const char *out_dir;
    const char *const *scenarios; /* NULL-terminated; needed where something is run */
    const char *const *variants;  /* NAME=DIR, DIR in the side's own tree; NULL: none */
    const char *const *ops;       /* files of ops, or folders of them, from here: both sides are asked the same; NULL: none */
    const char *as;               /* what the variants of a bare folder are called; NULL: my */
    const char *device, *compiler, *layers, *only;
    const char *argv, *verb;
    double budget_s; /* for the rounds of a case; 0: the session's own */
};
/* `word` is, the first that fits: a baseline file; a stored run (N or N/SIDE of the database of out_dir, FILE.db, FILE.db:N, a folder that
 * holds bench.db); a bundle; a folder (a tree with kernels/variants, one in which the variants are looked up, or one of .cu files); a git
 * revision of the repository here. Folders, revisions and bundles are run, on emu unless a device is named. */
bool cli_side(const char *word, const struct side_options *o, struct gate_side *side, struct error *err);
/* Does the word name a tree: a folder or a revision, of which both sides of one run can be made? */
bool cli_side_is_tree(const char *word);
/* Both at once, of trees, on a GPU: one run of head's scenarios times what they launch differently, in turns. */
bool cli_sides_timed(const char *const words[2], const struct side_options *o, const struct gate_rules *rules, struct gate_side *base,
                     struct gate_side *head, struct error *err);

#endif
