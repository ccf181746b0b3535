/* base/expr_parse: the syntax tree of struct expr. Private to base/expr*.c. */
#pragma once

#include "base/expr.h"
#include <stddef.h>

#define EXPR_MAX_TEXT 4096  /* characters */
#define EXPR_MAX_HEIGHT 128 /* of the tree: bounds the recursion of parser and evaluator */
#define EXPR_MAX_ARGS 16

enum term_kind { TERM_VALUE, TERM_NAME, TERM_CALL, TERM_UNARY, TERM_BINARY };
enum term_op { OP_OR, OP_AND, OP_NOT, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_NEG };

struct term {
    enum term_kind kind;
    enum term_op op;    /* TERM_UNARY, TERM_BINARY */
    struct value value; /* TERM_VALUE */
    char *name;         /* TERM_NAME, TERM_CALL */
    int builtin;        /* TERM_CALL: index of bench's own function; -1: the environment's */
    struct term **args; /* operands, or arguments of the call */
    int count;
    int height;
    size_t begin, end; /* in the source text, its parentheses included */
    bool parens;
    size_t at; /* where an error about it points: the operator or the name */
};
struct expr {
    char *text;
    char *file;       /* NULL: not from a file */
    int line, column; /* of text[0] */
    struct term *root;
};

/* expr_error of an unknown name or function, with the nearest known one as the hint. */
bool expr_unknown(const struct expr *e, const struct term *t, const char *const *names, struct error *err);
/* A condition in words, as it follows "needs": "c to be a multiple of 8"; of its opposite when negated. Malloc'd. */
char *expr_needed(const struct expr *e, const struct term *t, bool negated);
/* "c = 3, CC = 8": the values of the names in it; "" when there are none. Malloc'd. */
char *expr_values(const struct expr *e, const struct term *t, const struct expr_env *env);
/* Evaluates a part of the expression, without a message when it fails. */
bool expr_term_value(const struct expr *e, const struct term *t, const struct expr_env *env, struct value *out);
bool term_is_comparison(const struct term *t);
