/* kernel/variant: reads the head of each .cu and binds it to a work (grammar: docs/HEAD.md). Nothing is compiled here.
 *
 * A variant's name is FOLDER/FILE without .cu: `conv2d/naive` for kernels/variants/conv2d/naive.cu, `my/halo_regs` for a user's
 * folder given as --variants my=DIR. A file whose first comment does not begin with `bench 1` is not a variant and is passed over
 * (--variants: with a note). */
#ifndef BENCH_VARIANT_VARIANT_H
#define BENCH_VARIANT_VARIANT_H

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

/* By full name; NULL: there is none. */
const struct variant *variant_exact(const struct variant_set *set, const char *name);
/* By full name, or by short name inside the op's own folder ("naive" for conv2d). Error with the nearest name at `where` (may be NULL). */
const struct variant *variant_find(const struct variant_set *set, const char *name, const struct op *op, const struct node *where,
                                   struct error *err);

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
void variant_configs_free(struct variant_config *configs, int count);

#endif
