/* kernel/variant: a variant: a .cu with a head (grammar: docs/HEAD.md). Nothing is compiled here.
 *
 * A variant's name is FOLDER/FILE without .cu: `conv2d/naive` for kernels/variants/conv2d/naive.cu, `my/halo_regs` for a user's folder
 * given as --variants my=DIR. A file whose first comment does not begin with `bench 1` is not a variant and is skipped (--variants: with a
 * note). */
#pragma once

#include "base/error.h"
#include "base/node.h"
#include "base/text.h"
#include "op/op.h"
#include "op/program.h"

enum variant_given { GIVEN_INSTALLED, GIVEN_FOLDER, GIVEN_FILE }; /* with bench, by --variants NAME=DIR, by --variants NAME=FILE */
struct variant_file {                                             /* a file that a head is `like:`, nearest first */
    char *path, *text;                                            /* absolute */
    size_t bytes;
    struct node *root; /* emptied: its keys moved to the variant's head, and their nodes keep their file */
};
struct variant {
    enum variant_given given;
    char *name;          /* "conv2d/naive" */
    char *folder;        /* "conv2d": its folder in the set; not always its op */
    char *path;          /* absolute */
    char *text;          /* the file */
    char *code;          /* absolute path of the file that is compiled; without code of its own, that of the nearest parent with code */
    const char *include; /* folder of the headers that its kernels share, borrowed; NULL: kernels/include of this installation */
    const struct op *op;
    char *what, *from, *algorithm;
    char hash[HASH_TEXT]; /* hash of the file, of those it is like, and of foreign code */
    struct node *head;    /* the YAML of the head, joined with what it is like; each node has its own file and place */
    struct variant_file *parents;
    int parent_count;
    void *parsed; /* private to kernel/: struct head */
};
/* A variant's own name, after its folder: "naive" in "conv2d/naive". Points into `name`. */
const char *variant_own_name(const char *name);
struct variant_set {
    struct variant **items; /* sorted by name */
    int count;
    char **notes; /* "my/util.cu: no `bench 1` head, passed over" */
    int note_count;
};

/* By full name; NULL: there is none. */
const struct variant *variant_exact(const struct variant_set *set, const char *name);
/* By full name, or by short name inside the op's own folder ("naive" for conv2d). Error with the nearest name at `where` (may be NULL). */
const struct variant *variant_find(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                                   struct error *err);

/* True if it is a baseline of the vendor's library, with which the others are compared: its file is called cudnn... */
bool variant_is_library(const struct variant *v);

/* One configuration of a variant's parameters: "CC=16,TW=32" sorted by name. */
struct variant_config {
    const struct variant *variant;
    int count;
    char (*names)[PROGRAM_NAME];
    struct value *values;
    char *label; /* "BPS=2,CC=16": all parameters, sorted; "" if the variant has none */
};
void variant_config_clear(struct variant_config *config);
void variant_configs_free(struct variant_config *configs, int count);
