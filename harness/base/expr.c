/* Values and evaluation; the parser is expr_parse.c. */
#include "base/expr.h"
#include "base/expr_parse.h"
#include "base/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct eval {
    const struct expr *e;
    const struct expr_env *env;
    struct error *err;
};

static bool eval(struct eval *x, const struct term *t, struct value *out);

static __attribute__((noinline)) bool eval_name(struct eval *x, const struct term *t, struct value *out)
{
    struct error own; /* its 3 kB are not cleared: names are asked for at every pixel */
    own.kind = ERROR_NONE;
    own.text[0] = own.hint[0] = own.file[0] = 0;
    own.line = 0;
    if (x->env && x->env->name && x->env->name(x->env->context, t->name, out, &own))
        return true;
    if (own.kind == ERROR_NONE)
        return expr_unknown(x->e, t, x->env ? x->env->names : NULL, x->err);
    if (x->err)
        *x->err = own;
    return false;
}

static bool overflow(struct eval *x, const struct term *t, const struct value *a, const struct value *b)
{
    char sa[VALUE_TEXT_MAX], sb[VALUE_TEXT_MAX];
    value_print(a, sa, sizeof sa);
    value_print(b, sb, sizeof sb);
    return expr_error(x->e, t->at, x->err, "the result of %s %s %s is out of range", sa,
                      t->op == OP_ADD   ? "+"
                      : t->op == OP_SUB ? "-"
                                        : "*",
                      sb);
}

static bool wants_number(struct eval *x, const struct term *t, const struct value *v)
{
    if (v->kind != VALUE_TEXT)
        return true;
    return expr_error(x->e, t->at, x->err, "a number is expected here, not the text '%s'", v->text);
}

static bool divide(struct eval *x, const struct term *t, int64_t a, int64_t b, struct value *out)
{
    const char *op = t->op == OP_DIV ? "/" : "%";
    if (b == 0)
        return expr_error(x->e, t->at, x->err, "division by zero: %lld %s 0", (long long)a, op);
    if (t->op == OP_MOD) { /* b = -1 is apart: INT64_MIN % -1 traps */
        int64_t rest = b == -1 ? 0 : a % b;
        *out = value_int(rest < 0 ? (b < 0 ? rest - b : rest + b) : rest);
        return true;
    }
    if (b == -1 ? a == INT64_MIN : a % b != 0) {
        expr_error(x->e, t->at, x->err, "%lld / %lld is not an integer", (long long)a, (long long)b);
        return error_hint(x->err, "round it: ceil(a, b) or floor(a, b)");
    }
    *out = value_int(a / b);
    return true;
}

static bool arithmetic(struct eval *x, const struct term *t, const struct value *a, const struct value *b, struct value *out)
{
    if (!wants_number(x, t->args[0], a) || !wants_number(x, t->args[1], b))
        return false;
    if (a->kind == VALUE_INT && b->kind == VALUE_INT) {
        int64_t r = 0;
        bool over = false;
        switch (t->op) {
        case OP_ADD: over = __builtin_add_overflow(a->i, b->i, &r); break;
        case OP_SUB: over = __builtin_sub_overflow(a->i, b->i, &r); break;
        case OP_MUL: over = __builtin_mul_overflow(a->i, b->i, &r); break;
        default: return divide(x, t, a->i, b->i, out);
        }
        *out = value_int(r);
        return !over || overflow(x, t, a, b);
    }
    double l = (double)value_exact(a), r = (double)value_exact(b), d;
    switch (t->op) {
    case OP_ADD: d = l + r; break;
    case OP_SUB: d = l - r; break;
    case OP_MUL: d = l * r; break;
    case OP_MOD: return expr_error(x->e, t->at, x->err, "%% needs two integers");
    default:
        if (r == 0)
            return expr_error(x->e, t->at, x->err, "division by zero: %g / 0", l);
        d = l / r;
    }
    if (!isfinite(d))
        return overflow(x, t, a, b);
    *out = value_real(d);
    return true;
}

static bool compare(struct eval *x, const struct term *t, const struct value *a, const struct value *b, bool *truth)
{
    bool text = a->kind == VALUE_TEXT;
    if (text != (b->kind == VALUE_TEXT)) {
        /* A parameter may be a number or a word: `TILE == 'auto'` is not a mistake when TILE is 8. */
        const struct term *written = t->args[text ? 0 : 1];
        if (written->kind == TERM_VALUE && (t->op == OP_EQ || t->op == OP_NE)) {
            *truth = t->op == OP_NE;
            return true;
        }
        char s[VALUE_TEXT_MAX];
        value_print(text ? b : a, s, sizeof s);
        return expr_error(x->e, t->at, x->err, "the text '%s' cannot be compared with the number %s", text ? a->text : b->text, s);
    }
    if (t->op == OP_EQ || t->op == OP_NE) {
        *truth = value_equal(a, b) == (t->op == OP_EQ);
        return true;
    }
    if (text)
        return expr_error(x->e, t->at, x->err, "texts cannot be ordered: '%s', '%s'", a->text, b->text);
    long double l = value_exact(a), r = value_exact(b);
    *truth = t->op == OP_LT ? l < r : t->op == OP_LE ? l <= r : t->op == OP_GT ? l > r : l >= r;
    return true;
}

static bool eval_truth(struct eval *x, const struct term *t, bool *truth)
{
    struct value v;
    if (!eval(x, t, &v) || !wants_number(x, t, &v))
        return false;
    *truth = value_exact(&v) != 0;
    return true;
}

static bool eval_binary(struct eval *x, const struct term *t, struct value *out)
{
    bool truth = false;
    if (t->op == OP_AND || t->op == OP_OR) {
        if (!eval_truth(x, t->args[0], &truth))
            return false;
        if (truth == (t->op == OP_AND) && !eval_truth(x, t->args[1], &truth))
            return false;
        *out = value_int(truth);
        return true;
    }
    struct value a, b;
    if (!eval(x, t->args[0], &a) || !eval(x, t->args[1], &b))
        return false;
    if (!term_is_comparison(t))
        return arithmetic(x, t, &a, &b, out);
    if (!compare(x, t, &a, &b, &truth))
        return false;
    *out = value_int(truth);
    return true;
}

static bool eval_unary(struct eval *x, const struct term *t, struct value *out)
{
    struct value v;
    bool truth;
    if (t->op == OP_NOT) {
        if (!eval_truth(x, t->args[0], &truth))
            return false;
        *out = value_int(!truth);
        return true;
    }
    if (!eval(x, t->args[0], &v) || !wants_number(x, t->args[0], &v))
        return false;
    if (v.kind == VALUE_INT && v.i == INT64_MIN)
        return expr_error(x->e, t->at, x->err, "the result of -(%lld) is out of range", (long long)v.i);
    *out = v.kind == VALUE_INT ? value_int(-v.i) : value_real(-v.d);
    return true;
}

/* A double that is a whole number in the range of int64. */
static bool whole(struct eval *x, const struct term *t, double d, struct value *out)
{
    if (!(d >= -9.2233720368547e18 && d <= 9.2233720368547e18))
        return expr_error(x->e, t->at, x->err, "%g is out of range", d);
    *out = value_int((int64_t)d);
    return true;
}

/* ceil(a, b), floor(a, b): of the exact quotient; with one argument: of a real number. */
static bool rounded(struct eval *x, const struct term *t, const struct value *v, struct value *out)
{
    bool up = t->name[0] == 'c';
    struct value one = value_int(1);
    const struct value *a = v, *b = t->count == 2 ? v + 1 : &one;
    if (value_exact(b) == 0)
        return expr_error(x->e, t->at, x->err, "division by zero in %s(..., 0)", t->name);
    if (a->kind == VALUE_INT && b->kind == VALUE_INT) {
        if (b->i == -1 && a->i == INT64_MIN)
            return expr_error(x->e, t->at, x->err, "the result of %s is out of range", t->name);
        int64_t quotient = a->i / b->i;
        bool inexact = a->i % b->i != 0, positive = (a->i < 0) == (b->i < 0);
        *out = value_int(quotient + (inexact && up && positive) - (inexact && !up && !positive));
        return true;
    }
    double d = (double)(value_exact(a) / value_exact(b));
    return whole(x, t, up ? ceil(d) : floor(d), out);
}

static bool least_or_most(const struct term *t, const struct value *v, struct value *out)
{
    bool least = t->name[1] == 'i';
    int best = 0;
    for (int i = 1; i < t->count; i++)
        if (least ? value_exact(&v[i]) < value_exact(&v[best]) : value_exact(&v[i]) > value_exact(&v[best]))
            best = i;
    *out = v[best];
    return true;
}

static bool power_of_two(struct eval *x, const struct term *t, const struct value *v, struct value *out)
{
    if (v->kind != VALUE_INT || v->i > (INT64_C(1) << 62))
        return expr_error(x->e, t->at, x->err, "pow2 needs an integer up to 2^62");
    int64_t p = 1;
    while (p < v->i)
        p *= 2;
    *out = value_int(p);
    return true;
}

static bool logarithm(struct eval *x, const struct term *t, const struct value *v, struct value *out)
{
    if (!(value_exact(v) > 0))
        return expr_error(x->e, t->at, x->err, "log2 needs a number above 0");
    bool power = v->kind == VALUE_INT && (v->i & (v->i - 1)) == 0;
    *out = power ? value_int(63 - __builtin_clzll((unsigned long long)v->i)) : value_real(log2((double)value_exact(v)));
    return true;
}

/* pair(low, high): the whole number of 8 bytes that holds two of 4 bytes, as a struct by value does. */
static bool halves(struct eval *x, const struct term *t, const struct value *v, struct value *out)
{
    for (int i = 0; i < 2; i++)
        if (v[i].kind != VALUE_INT || v[i].i < INT32_MIN || v[i].i > (int64_t)UINT32_MAX)
            return expr_error(x->e, t->at, x->err, "pair takes two integers of 4 bytes");
    *out = value_int((int64_t)((uint64_t)v[1].i << 32 | (uint32_t)v[0].i));
    return true;
}

/* bits(x), bits64(x): the bytes of a float, of a double, as a whole number. */
static bool pattern(const struct term *t, const struct value *v, struct value *out)
{
    const double d = (double)value_exact(v);
    const float f = (float)d;
    uint32_t narrow;
    uint64_t wide;
    memcpy(&narrow, &f, sizeof narrow);
    memcpy(&wide, &d, sizeof wide);
    *out = value_int(strcmp(t->name, "bits") ? (int64_t)wide : (int64_t)narrow);
    return true;
}

/* `which` is the index in expr_parse.c's table. */
static bool eval_builtin(struct eval *x, const struct term *t, int which, struct value *out)
{
    static const int least[] = {1, 1, 1, 1, 1, 1, 1, 3, 2, 1, 1}, most[] = {2, 2, EXPR_MAX_ARGS, EXPR_MAX_ARGS, 1, 1, 1, 3, 2, 1, 1};
    if (t->count < least[which] || t->count > most[which])
        return expr_error(x->e, t->at, x->err, "%s takes %s argument%s, not %d", t->name,
                          most[which] == EXPR_MAX_ARGS ? "one or more"
                          : most[which] == 3           ? "three"
                          : least[which] == 2          ? "two"
                          : most[which] == 2           ? "one or two"
                                                       : "one",
                          text_s(most[which]), t->count);
    if (which == 7) { /* select: only the chosen side is evaluated */
        bool truth;
        return eval_truth(x, t->args[0], &truth) && eval(x, t->args[truth ? 1 : 2], out);
    }
    struct value v[EXPR_MAX_ARGS];
    if (!ALL_OF(i, t->count, eval(x, t->args[i], &v[i]) && wants_number(x, t->args[i], &v[i])))
        return false;
    switch (which) {
    case 0:
    case 1: return rounded(x, t, v, out);
    case 2:
    case 3: return least_or_most(t, v, out);
    case 5: return logarithm(x, t, v, out);
    case 6: return power_of_two(x, t, v, out);
    case 8: return halves(x, t, v, out);
    case 9:
    case 10: return pattern(t, v, out);
    }
    if (v[0].kind == VALUE_INT && v[0].i == INT64_MIN)
        return expr_error(x->e, t->at, x->err, "the result of abs is out of range");
    *out = v[0].kind == VALUE_INT ? value_int(v[0].i < 0 ? -v[0].i : v[0].i) : value_real(fabs(v[0].d));
    return true;
}

/* A call's error gets the call's place: the environment does not know columns. */
static __attribute__((noinline)) bool call_environment(struct eval *x, const struct term *t, const struct value *args, struct value *out)
{
    struct error own = {0};
    if (x->env && x->env->call && x->env->call(x->env->context, t->name, args, t->count, out, &own))
        return true;
    if (own.kind == ERROR_NONE)
        return expr_unknown(x->e, t, x->env ? x->env->names : NULL, x->err);
    expr_error(x->e, t->at, x->err, "%.900s", own.text);
    if (own.hint[0])
        error_hint(x->err, "%s", own.hint);
    return false;
}

static __attribute__((noinline)) bool eval_call(struct eval *x, const struct term *t, struct value *out)
{
    if (t->builtin >= 0)
        return eval_builtin(x, t, t->builtin, out);
    struct value v[EXPR_MAX_ARGS];
    return ALL_OF(i, t->count, eval(x, t->args[i], &v[i])) && call_environment(x, t, v, out);
}

static bool eval(struct eval *x, const struct term *t, struct value *out)
{
    switch (t->kind) {
    case TERM_VALUE: *out = t->value; return true;
    case TERM_NAME: return eval_name(x, t, out);
    case TERM_CALL: return eval_call(x, t, out);
    case TERM_UNARY: return eval_unary(x, t, out);
    case TERM_BINARY: return eval_binary(x, t, out);
    }
    return false;
}

bool expr_eval(const struct expr *e, const struct expr_env *env, struct value *out, struct error *err)
{
    struct eval x = {e, env, err};
    return eval(&x, e->root, out);
}

bool expr_eval_int(const struct expr *e, const struct expr_env *env, int64_t *out, struct error *err)
{
    struct value v;
    if (!expr_eval(e, env, &v, err))
        return false;
    if (v.kind != VALUE_INT) {
        char s[VALUE_TEXT_MAX];
        value_print(&v, s, sizeof s);
        return expr_error(e, 0, err, "an integer is expected here, not %s%s%s", v.kind == VALUE_TEXT ? "'" : "", s,
                          v.kind == VALUE_TEXT ? "'" : "");
    }
    *out = v.i;
    return true;
}

bool expr_term_value(const struct expr *e, const struct term *t, const struct expr_env *env, struct value *out)
{
    struct eval quiet = {e, env, NULL};
    return eval(&quiet, t, out);
}

/* Finds the first clause of a chain of `and` that is false. */
static bool failing_clause(struct eval *x, const struct term *t, const struct term **clause)
{
    if (t->kind == TERM_BINARY && t->op == OP_AND) {
        if (!failing_clause(x, t->args[0], clause))
            return false;
        return *clause || failing_clause(x, t->args[1], clause);
    }
    bool truth;
    if (!eval_truth(x, t, &truth))
        return false;
    *clause = truth ? NULL : t;
    return true;
}

char *expr_failing(const struct expr *e, const struct expr_env *env)
{
    struct eval x = {e, env, NULL};
    const struct term *clause = NULL;
    bool found = failing_clause(&x, e->root, &clause) && clause;
    return found ? expr_needed(e, clause, false) : xstrdup(e->text);
}

char *expr_failing_values(const struct expr *e, const struct expr_env *env)
{
    struct eval x = {e, env, NULL};
    const struct term *clause = NULL;
    return failing_clause(&x, e->root, &clause) && clause ? expr_values(e, clause, env) : xstrdup("");
}

bool expr_test(const struct expr *e, const struct expr_env *env, bool *truth, char *why, size_t why_bytes, struct error *err)
{
    struct eval x = {e, env, err};
    const struct term *clause = NULL;
    if (!failing_clause(&x, e->root, &clause))
        return false;
    *truth = !clause;
    if (why_bytes)
        why[0] = 0;
    if (!clause || !why_bytes)
        return true;
    SCOPED char *words = expr_needed(e, clause, false), *values = expr_values(e, clause, env);
    snprintf(why, why_bytes, *values ? "%s (%s)" : "%s", words, values);
    return true;
}
