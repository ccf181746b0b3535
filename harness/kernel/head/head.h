/* kernel/head/head: the head of a .cu as a checked structure (grammar: docs/HEAD.md). Private to kernel/.
 *
 * The reader reports every mistake that can be found without a work: in keys, words, names and places. */
#pragma once

#include "base/expr.h"
#include "base/node.h"
#include "op/op.h"
#include "op/program.h"
#include "kernel/variant.h"
#include <stddef.h>

#define HEAD_MAX_ITEMS 64  /* of any list or map of a head */
#define HEAD_MAX_VALUES 64 /* of one parameter */
#define HEAD_MAX_TABLES 4  /* of `candidates:` */
#define HEAD_MAX_ROWS 16
#define HEAD_MAX_COLUMNS 8
#define HEAD_MAX_BYTES (4u << 20) /* of a .cu file */

struct named_expr {
    char *name;
    const struct node *node; /* of the name */
    struct expr *expr;
};
struct expr_list {
    struct expr **items;
    int count;
    const struct node *node; /* NULL: the key is absent */
};
/* `[f32, f16]`, `same`; values are enum dtype or enum layout. */
struct head_choice {
    const struct node *node; /* NULL: not given */
    bool same;               /* as the input; alone or in the list */
    int values[16];
    int count;
};
struct head_buffer {
    enum buffer_kind kind; /* BUFFER_TENSOR: index is a slot of the op; BUFFER_SCRATCH: an index into head.scratch */
    int index;
    const struct node *node;
};
struct head_param {
    char *name;
    const struct node *node;
    struct value values[HEAD_MAX_VALUES];
    int count;
    bool range; /* any whole number low, low + step ... high */
    int64_t low, high, step;
    struct value fallback;
};
struct head_scratch {
    char *name;
    const struct node *node;
    enum dtype dtype; /* DTYPE_NONE: of the tensor in slot `like`; -1: of the accumulator */
    int like;
    struct expr *elements;
    bool state; /* `state u32[n]`: begun by a prepare kernel and changed by run kernels */
};
struct head_map {
    char *name;
    const struct node *node;
    struct head_buffer of;
    struct expr_list box, dims, strides, element_strides;
    struct expr *swizzle, *interleave, *l2;
    bool oob_nan;
};
struct head_row {
    char *name;
    struct expr *when; /* NULL: always */
    struct expr *values[HEAD_MAX_COLUMNS];
};
struct head_candidates {
    char *name;
    const struct node *node;
    char *columns[HEAD_MAX_COLUMNS + 1]; /* names of the values of a row, NULL behind the last */
    const struct node *nodes[HEAD_MAX_COLUMNS];
    int column_count;
    struct head_row *rows;
    int row_count;
    struct expr *least; /* cost, the least of which decides; NULL: the first feasible row is taken */
};
enum head_step_kind { HEAD_KERNEL, HEAD_FILL, HEAD_COPY, HEAD_SYMBOL, HEAD_CUDNN, HEAD_VARIANT, HEAD_CALL, HEAD_STAGES, HEAD_PYTHON };
/* Where a step `stages:` stores an image: after each stage, before those that sample, at the end of each branch, nowhere between. */
enum span_cut { CUT_EACH, CUT_SAMPLED, CUT_BRANCHES, CUT_NONE };
extern const char *const span_cuts[]; /* "each", "sampled", "branches", "whole", NULL */
#define SPAN_MOST 4096                /* launches of one program */
struct head_bind {
    const char *tensor; /* of the other variant, by name */
    struct head_buffer buffer;
};
struct head_step {
    enum head_step_kind kind;
    const struct node *node; /* the node of the name: `conv_tiles` of `kernel: conv_tiles` */
    bool prepare;
    char *name; /* kernel, symbol or variant */
    struct expr *when;
    struct expr_list grid, block, cluster, args;
    struct expr *smem, *cooperative, *pdl, *carveout;
    struct head_buffer to, from;
    struct expr *fill;
    struct head_bind binds[OP_MAX_TENSORS];
    int bind_count;
    struct named_expr *with;
    int with_count;
    const struct node *params;
    enum span_cut cut;  /* HEAD_STAGES */
    bool each_image;    /* a launch for each image of a batch */
    bool each_stream;   /* CUT_BRANCHES: each branch on a stream of its own */
    bool claimed;       /* in `select:`: taken only if the other head claims the work */
    bool same_epilogue; /* the other variant also does this one's fused epilogue */
};
struct head_mask {
    bool given;
    bool input, output, both, optional; /* `needs` */
    bool writes_output, reads_active;
    enum inactive inactive;
    bool by_tile;                 /* `by: tile`: the skipped tiles are untouched, not each inactive pixel */
    bool by_found, padding_found; /* not given: verification finds out, and reports it if that is less than all */
    bool any_padding;             /* `padding: any`: the padding bits of mask_out have no meaning */
    struct expr_list tile;        /* height, width, and how far apart its outputs are */
    struct expr *weights;
};
struct head_column {
    char *name;
    struct head_buffer of;
    struct expr *element;
};

struct head {
    const struct op *op;
    struct expr_list needs, where;
    struct expr_list claims;   /* claims to be at par with the library if all hold; absent: claims nothing */
    struct expr_list measured; /* of `select:`: its rules were measured if all hold; absent: everywhere */
    struct head_choice layout[OP_MAX_TENSORS], dtype[OP_MAX_TENSORS], accumulate; /* by slot */
    struct expr *slices[OP_MAX_TENSORS]; /* by slot: whether the tensor may be a slice of a larger one; NULL: it may not */
    enum math math[MATH_COUNT];
    int math_count;
    bool exact, checked, graph;
    char *source;               /* a sidecar's: the file beside it that holds the code; NULL: the head is in a .cu */
    enum code code;             /* by its suffix */
    struct head_python *python; /* what Python made for a work; NULL: nothing yet, or no Python (head/python.h) */
    bool on_host;               /* on: [cuda, emu]: a library that also computes in host memory */
    bool scales;                /* its expressions use scale(epilogue): it can fuse a scaled residual */
    enum epilogue_kind epilogue[EPILOGUE_COUNT];
    int epilogue_count;
    struct head_mask mask;
    struct head_param *params;
    int param_count;
    struct named_expr *lets, *defines;
    int let_count, define_count;
    struct head_candidates *tables;
    int table_count;
    char **specialise;
    int specialise_count;
    struct head_scratch *scratch;
    int scratch_count;
    struct head_map *maps;
    int map_count;
    bool selects;            /* `select:`: the steps are variants; the first that can do the whole work is taken */
    struct head_step *steps; /* prepare steps first; those of `race:` last */
    int step_count, race_count;
    struct head_column *columns;
    int column_count;
    bool ablations[ABLATE_COUNT];
    struct expr *predict[PREDICT_COUNT]; /* NULL: not predicted */
    char **names;                        /* every name that an expression may use, NULL-terminated, for suggestions */
    int name_count;
};

/* Place of the head in a file. HEAD_ABSENT: the first block comment is another one (`later`: line of a head further down, or 0). */
enum head_found { HEAD_ABSENT, HEAD_PRESENT, HEAD_BROKEN };
struct head_place {
    size_t begin, end; /* the YAML */
    int line;          /* of its first character; the column is 1 */
    int later;
};
enum head_found head_find(const char *file, const char *text, size_t bytes, struct head_place *out, struct error *err);

/* Folders in which `like:` of a head is looked up, besides the head's own. */
struct head_places {
    const char *installed;    /* a tree of OP/FILE.cu; NULL: that of this installation */
    const char *const *extra; /* the user's folders, "NAME=DIR" or "NAME=FILE", NULL-terminated; may be NULL */
};
/* Loads one file as a variant, with `like:` resolved. If the file is not a variant, sets `*note` instead of the error ("": nothing to
 * report).
 */
struct variant *head_load(const char *path, const char *folder, const struct head_places *places, char **note, struct error *err);
/* The same, but a file that is not a variant is an error. */
struct variant *head_load_only(const char *path, const char *folder, const struct head_places *places, struct error *err);
/* The note on a .cu that has no head; the caller frees it. */
char *head_absent_note(const char *folder, const char *base);
/* Adds the keys of the heads that v->head is `like:`; sets v->parents and v->code. */
bool head_inherit(struct variant *v, const char *folder, const struct head_places *places, struct error *err);

/* Reads the YAML tree of a head; NULL on error. `root` must outlive it. */
struct head *head_read(const struct node *root, struct error *err);
void head_free(struct head *h);

/* For the parts of the reader. */
bool head_is_identifier(const char *s);
bool head_is_instance(const char *s);
bool head_is_kernel_name(const char *s); /* ... as PTX has them: with $, up to 1,023 bytes */
/* Appends one expression; a list of them, in brackets or separated by commas outside parentheses. */
bool head_expr_add(struct expr_list *out, const struct node *n, const char *what, int max, struct error *err);
bool head_expr_list(const struct node *n, const char *what, int max, struct expr_list *out, struct error *err);
bool head_buffer(const struct head *h, const struct node *n, const char *name, struct head_buffer *out, struct error *err);
bool head_read_steps(struct head *h, const struct node *root, struct error *err);
bool head_read_types(struct head *h, const struct node *root, struct error *err);
bool head_read_values(struct head *h, const struct node *root, struct error *err);
bool head_read_candidates(struct head *h, const struct node *root, struct error *err);
void head_candidates_free(struct head *h);
/* Checks that no let and no value of a table needs itself, and no two tables need each other's choice. */
bool head_check_depends(const struct head *h, struct error *err);
/* Checks names and arguments of kernels, after everything is read. */
bool head_check(struct head *h, struct error *err);
/* The name that an argument consists of, also through lets that are only a name (`let: {other: stored}`); NULL: it is computed. */
const char *head_argument(const struct head *h, const struct expr *e);
bool head_has_epilogue(const struct head *h, enum epilogue_kind kind);
bool head_param_allows(const struct head_param *p, const struct value *v);
int head_scratch_find(const struct head *h, const char *name);
int head_map_find(const struct head *h, const char *name);
int head_param_find(const struct head *h, const char *name);
int head_let_find(const struct head *h, const char *name);
/* The table with this name (*column -1) or with a value of this name; -1: none. */
int head_candidates_find(const struct head *h, const char *name, int *column);
int head_slot(const struct head *h, const char *name); /* of a tensor of the op; -1: it has none of that name */
/* Refuses the name of a tensor that only other ops have. */
bool head_has_tensor(const struct head *h, const char *name, const struct node *n, struct error *err);
/* The names of chip symbols and functions, NULL-terminated. Functions from HEAD_OF_MASK on take `mask`, from HEAD_OF_EPILOGUE on
 * `epilogue`. */
enum { HEAD_OF_MASK = 5, HEAD_OF_EPILOGUE = 8 };
extern const char *const head_chip_symbols[];
extern const char *const head_functions[];
/* True for a word that is a constant: a type, layout, math mode, d2s mode, tensor of the op or of the ops in C, epilogue item, `mask`,
 * `epilogue`, `accumulate`. */
bool head_is_word(const struct op *op, const char *name);
/* The -D name of a specialised symbol: "r" -> "R". Caller frees. */
char *head_upper(const char *name);
