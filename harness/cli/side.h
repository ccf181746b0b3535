/* cli/side: one side of a comparison, as a person names it, made into rows. */
#pragma once

#include "cli/cli.h"
#include "gate/rules.h"

struct side_options {
    const char *out_dir;
    const char *const *scenarios; /* NULL-terminated; needed where something is run */
    const char *const *variants;  /* NAME=DIR, DIR in the side's own tree; NULL: none */
    const char *const *ops;       /* op files, or folders of them, relative to here, for both sides; NULL: none */
    const char *as;               /* folder name for the variants of a bare folder; NULL: my */
    const char *gpus;             /* as in session_options */
    const char *device, *compiler, *layers, *only;
    const char *argv, *verb;
    double budget_s; /* for the rounds of a case; 0: the session's own */
};
/* `word` is the first of these that fits: a baseline file; a stored run (N or N/SIDE in the database of out_dir, FILE.db, FILE.db:N, a
 * folder with bench.db); a bundle; a folder (a tree with kernels/variants, one in which the variants are looked up, or one of .cu files);
 * a git revision of this repository. Folders, revisions and bundles are run, on emu unless a device is named. */
bool cli_side(const char *word, const struct side_options *o, struct gate_side *side, struct error *err);
/* Does the word name a tree: a folder or a revision, of which both sides of one run can be made? */
bool cli_side_is_tree(const char *word);
/* Both sides at once, for trees on a GPU: one run of head's scenarios times the rows whose launches differ, interleaved. */
bool cli_sides_timed(const char *const words[2], const struct side_options *o, const struct gate_rules *rules, struct gate_side *base,
                     struct gate_side *head, struct error *err);
