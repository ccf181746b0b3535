/* base/expr: the small expressions of heads and scenarios: `ceil(q, TW)`, `c % CC == 0 and k % KB == 0`, `type(input)`.
 *
 * Grammar (docs/HEAD.md): or, and, not, == != < <= > >=, + -, * / %, unary -, calls, parentheses, integers, reals, names, 'text'.
 * `/` of two integers must divide exactly, else evaluation fails with both values (use ceil or floor); % is the
 * mathematical remainder (never negative). Built-in calls: ceil(a,b) floor(a,b) min max abs log2 pow2(x: the least power of two >= x)
 * select(cond,a,b) pair(low,high) bits(x) bits64(x). ceil, floor of one real. Everything else is asked of the environment. */
#pragma once

#include "base/error.h"
#include "base/node.h"
#include <stdbool.h>
#include <stdint.h>

enum value_kind { VALUE_INT, VALUE_REAL, VALUE_TEXT }; /* a truth value is VALUE_INT 0 or 1 */
#define VALUE_TEXT_MAX 64
struct value {
    enum value_kind kind;
    int64_t i;
    double d;
    char text[VALUE_TEXT_MAX];
};
struct value value_int(int64_t i);
struct value value_real(double d);
struct value value_text(const char *s);
bool value_equal(const struct value *a, const struct value *b);
/* The number without rounding; 0 of a text. */
long double value_exact(const struct value *v);
/* NaN of a text. */
double value_number(const struct value *v);
/* "12", "0.5", "NHWC" */
void value_print(const struct value *v, char *out, size_t bytes);

/* Names and calls that are not built in. Return false and leave err unchanged if the name is unknown: expr then adds the error with the
 * nearest of `names`. After a real failure set err and return false. */
struct expr_env {
    void *context;
    bool (*name)(void *context, const char *name, struct value *out, struct error *err);
    bool (*call)(void *context, const char *name, const struct value *args, int count, struct value *out, struct error *err);
    const char *const *names; /* NULL-terminated, for suggestions; may be NULL */
};

struct expr;
/* Parses a scalar node (a number is an expression too). Errors carry the position inside the file. NULL on error. */
struct expr *expr_parse(const struct node *n, struct error *err);
void expr_free(struct expr *e);
bool expr_eval(const struct expr *e, const struct expr_env *env, struct value *out, struct error *err);
bool expr_eval_int(const struct expr *e, const struct expr_env *env, int64_t *out, struct error *err);
/* Evaluates a condition. When it is false, `why` says what it needs, and the values of the names: "c to be a multiple of 8 (c = 3)",
 * "a residual". `and` is split so that only the failing clause is named. */
bool expr_test(const struct expr *e, const struct expr_env *env, bool *truth, char *why, size_t why_bytes, struct error *err);
/* The failing clause of a false expression, without values. Malloc'd. */
char *expr_failing(const struct expr *e, const struct expr_env *env);
/* The values of the names in that clause: "c = 3, CC = 8". Malloc'd. */
char *expr_failing_values(const struct expr *e, const struct expr_env *env);
/* The source text. */
const char *expr_text(const struct expr *e);
/* Calls visit for every name that the expression uses. */
void expr_names(const struct expr *e, void (*visit)(void *context, const char *name), void *context);

/* Where it begins in its file; 0, 0 when it is not from a file. */
void expr_place(const struct expr *e, int *line, int *column);
/* The name if the expression is a single name; else NULL. */
const char *expr_name(const struct expr *e);
/* Asks `known` about every name and every call that is not built in, without evaluating; the first unknown one is an error at its
 * place with the nearest of `names`. */
bool expr_check(const struct expr *e, bool (*known)(void *context, const char *name, bool call), void *context, const char *const *names,
                struct error *err);
/* "FILE:LINE:COLUMN: message" at the beginning of the expression, or at offset `at` of its text: a usage error. Returns false. */
#define expr_fail(e, err, ...) expr_error(e, 0, err, __VA_ARGS__)
bool expr_error(const struct expr *e, size_t at, struct error *err, const char *format, ...) __attribute__((format(printf, 4, 5)));
