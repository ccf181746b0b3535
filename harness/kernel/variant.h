/* kernel/variant: reads the head of each .cu and binds it to a work (grammar: docs/HEAD.md). Nothing is compiled here.
 *
 * A variant's name is FOLDER/FILE without .cu: `conv2d/naive` for kernels/variants/conv2d/naive.cu, `my/halo_regs` for a user's
 * folder given as --variants my=DIR. A file whose first comment does not begin with `bench 1` is not a variant and is passed over
 * (--variants: with a note). */
#ifndef BENCH_VARIANT_VARIANT_H
#define BENCH_VARIANT_VARIANT_H

#include "device/chip/chip.h"
#include "base/error.h"
#include "base/node.h"
#include "base/text.h"
#include "op/op.h"
#include "op/program.h"

enum variant_given { GIVEN_INSTALLED, GIVEN_FOLDER, GIVEN_FILE }; /* with bench, by --variants NAME=DIR, by --variants NAME=FILE */
struct variant_file {                                             /* another file that a head is `like:`, nearest first */
    char *path, *text;                                            /* absolute */
    size_t bytes;
    struct node *root; /* empty: its keys went to the variant's head, and their nodes name it */
};
struct variant {
    enum variant_given given;
    char *name;          /* "conv2d/naive" */
    char *folder;        /* "conv2d", where it stands in the set; not always its op */
    char *path;          /* absolute */
    char *text;          /* the file */
    char *code;          /* absolute: the file that is compiled; a file without code of its own has that of the nearest parent with some */
    const char *include; /* folder of the headers that its kernels share, borrowed; NULL: kernels/include of this installation */
    const struct op *op;
    char *what, *from, *algorithm;
    char hash[HASH_TEXT]; /* of the file, of those it is like, and of foreign code */
    struct node *head;    /* the YAML of the head, joined with what it is like; each node has its own file and place */
    struct variant_file *parents;
    int parent_count;
    void *parsed; /* private to variant/ */
};
/* A variant's own name, behind its folder: "naive" of "conv2d/naive". Part of the text. */
const char *variant_own_name(const char *name);
struct variant_set {
    struct variant **items; /* sorted by name */
    int count;
    char **notes; /* "my/util.cu: no `bench 1` head, passed over" */
    int note_count;
};

/* Loads every variant under the installation's kernels/variants and each extra "NAME=DIR" or "NAME=FILE" (that file alone; NULL-terminated
 * list; may be NULL). One bad head is an error naming FILE:LINE:COLUMN. */
bool variant_set_load(const char *const *extra, struct variant_set *set, struct error *err);
/* The same of another build: its variants under `root`, their shared headers under `include` (borrowed); NULL: the installation's. */
bool variant_set_load_from(const char *root, const char *include, const char *const *extra, struct variant_set *set, struct error *err);
void variant_set_free(struct variant_set *set);
/* One file alone (bench try, bench list). Name is `folder`/basename. */
struct variant *variant_load(const char *path, const char *folder, struct error *err);
void variant_free(struct variant *v);
/* By full name; NULL: there is none. */
const struct variant *variant_exact(const struct variant_set *set, const char *name);
/* By full name, or by short name inside the op's own folder ("naive" for conv2d). Error with the nearest name at `where` (may be NULL). */
const struct variant *variant_find(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                                   struct error *err);

/* The file as it is; of a head that is like another, all it says in one file: every key with the file and line it stands in as a comment,
 * then the code. */
void variant_show(const struct variant *v, struct text *t);

/* Has its head a `mask:`? One without it runs dense wherever it runs. */
bool variant_reads_mask(const struct variant *v);
/* Is it a rule (`select:`), whose steps are another variant's? */
bool variant_selects(const struct variant *v);
/* Does it stand for the vendor's library (its file is called cudnn...), with which the others are compared? */
bool variant_is_library(const struct variant *v);

/* One configuration of a variant's parameters: "CC=16,TW=32" sorted by name. */
struct variant_config {
    const struct variant *variant;
    int count;
    char (*names)[PROGRAM_NAME];
    struct value *values;
    char *label; /* "BPS=2,CC=16"; only parameters named by the scenario or not at default ... all of them, sorted; "" when the variant has
                    none */
};
/* Expands parameters: `override` is a scenario's map {TH: [8, 16], CC: 16} (NULL: defaults only). Values outside the head's list are an
 * error at their place unless the head gives a range. Returns the count, configurations malloc'd; -1 on error. */
int variant_configs(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err);
/* The same, but a parameter that the override does not name takes all its values: what a search goes through. */
int variant_space(const struct variant *v, const struct node *override, struct variant_config **configs, struct error *err);
/* The one configuration that a label names ("BPS=2,CC=16"). False when the variant has no such configuration (any more). */
bool variant_at(const struct variant *v, const char *label, struct variant_config **config, struct error *err);
void variant_configs_free(struct variant_config *configs, int count);

/* Binds a point to a work on a chip. False only for a broken head (an expression that cannot be evaluated: error at its place). An
 * infeasible configuration is a success with program->feasible = false and the reason: condition, layout, dtype, math, epilogue, mask,
 * parameter clause, limits of the chip (threads, shared memory, grid). `set` provides the completing variants (pointwise/epilogue,
 * depth_to_space/d2s_native, layout/...) for epilogue items that the variant does not fuse. */
bool variant_bind(const struct variant_set *set, const struct variant_config *config, const struct work *work, const struct chip *chip,
                  struct program *program, struct error *err);
/* The same for a rule (`select:`) whose choice is known, from a search instead of from its items; the program says it is the rule's. */
bool variant_bind_choice(const struct variant_set *set, const struct variant_config *rule, const struct variant_config *choice,
                         const struct work *work, const struct chip *chip, struct program *program, struct error *err);

/* `bench new OP FILE.cu`: the file's text with a head filled in from its first __global__ function's signature, every line explained. */
/* And of an op that does not exist yet: a file for it (docs/OP.md), to be filled in. */
char *variant_new_op(const char *op, const char *source_text, const char *kernel_name, struct error *err);
char *variant_new(const struct op *op, const char *source_text, const char *kernel_name, struct error *err);

#endif
