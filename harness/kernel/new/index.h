/* kernel/new/index: reads an index expression of a kernel as a sum of products of sizes (`rows`, `dim / 2`, 4) and of what runs (a block's
 * or thread's index, a loop's variable). */
#pragma once

#include "kernel/new/shapes.h"

#define FACTORS_MAX 6
#define TERMS_MAX 24
#define LOCALS_MAX 128
#define DEPTH_MAX 12
#define STEPS_MAX 20000
#define VALUE_MAX 8 /* terms of a local variable */

/* A product in an index. */
struct product {
    char sizes[FACTORS_MAX][SHAPE_TEXT];
    int size_count, runs;    /* runs: how many factors are not sizes */
    char what[64], with[64]; /* the first two of them: "blockIdx.x", "i" */
    char label[64];          /* the local variable that it is, or "" */
    char bound[SHAPE_TEXT];  /* it runs from 0 up to here, "a * b"; "": not known */
    int by;                  /* 1 + the pointer whose element it is; 0: none */
    bool less;               /* it is subtracted */
};
struct sum {
    struct product terms[TERMS_MAX];
    int count;
    bool unknown; /* too long, or no expression */
};
/* `NAME = ...`; of: the pointer that it begins with (its parameter), or -1. */
struct local {
    char name[64];
    const char *value;
    int of;
    bool opaque; /* its value is not looked up: it is being read, or too long */
};
/* `NAME < BOUND` at `at`. */
struct bound {
    char name[64], bound[SHAPE_TEXT];
    const char *at;
};
struct reader {
    const struct signature *s;
    struct shapes *out;
    const char *file, *body, *end, *p;
    struct local locals[LOCALS_MAX];
    struct bound bounds[LOCALS_MAX];
    int local_count, bound_count, depth, steps; /* steps: at most STEPS_MAX operands are read */
    bool names;                                 /* sizes that no number gives may get names */
};

/* Lists the kernel's numbers. */
void index_numbers(struct reader *r);
/* The expression at r->p, behind which r->p then stands. */
void index_parse(struct reader *r, struct sum *out);
/* The sizes of a product, "a * b"; "1" of none. */
void index_join(const struct product *t, char out[SHAPE_TEXT]);
/* The text of a sum of sizes alone; false if something runs in it. */
bool index_size(const struct sum *s, char out[SHAPE_TEXT]);
void index_add(struct sum *to, const struct sum *s);

/* Names of the body. pointer: the parameter, -1 if there is none. bound: the last one before the place, else the first behind it; NULL:
 * none. */
int index_pointer(const struct reader *r, const char *name);
struct local *index_local(struct reader *r, const char *name);
const char *index_bound(const struct reader *r, const char *name, const char *at);

/* Text. is_word: a letter, digit or _. word: copies the word at p and returns what follows it. closed: behind the bracket that closes the
 * one at p. */
bool index_is_word(char c);
const char *index_skip(const char *p);
const char *index_word(const char *p, char out[64]);
const char *index_closed(const char *p);
void index_lower(char *s);
