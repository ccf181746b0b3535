/* base/expr_words: a condition in English, as it follows "needs": "c or k to be a multiple of 8 (c = 3, k = 5)", "a residual". */
#include "base/expr_parse.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

/* "SUBJECT to be PREDICATE", or the subject alone where the predicate is NULL. */
struct part {
    char *subject, *predicate;
};
struct parts {
    struct part *items;
    int count;
};

static char *source_of(const struct expr *e, const struct term *t)
{
    size_t begin = t->begin + t->parens, end = t->end - t->parens;
    return xstrndup(e->text + begin, end - begin);
}

static bool is_zero(const struct term *t)
{
    return t->kind == TERM_VALUE && t->value.kind == VALUE_INT && !t->value.i;
}

/* `a % b == 0`, or != */
static bool is_multiple(const struct term *t)
{
    const struct term *left = term_is_comparison(t) && t->op <= OP_NE ? t->args[0] : NULL;
    return left && left->kind == TERM_BINARY && left->op == OP_MOD && is_zero(t->args[1]);
}

/* has(bias): does the layer have that? */
static bool is_possession(const struct term *t)
{
    return t->kind == TERM_CALL && !strcmp(t->name, "has") && t->count == 1;
}

static struct part comparison(const struct expr *e, const struct term *t, bool negated)
{
    static const char *const words[] = {"", "other than ", "less than ", "at most ", "more than ", "at least "};
    static const enum term_op opposite[] = {OP_NE, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT};
    enum term_op op = negated ? opposite[t->op - OP_EQ] : t->op;
    const struct term *left = t->args[0];
    if (is_multiple(t)) {
        SCOPED char *of = source_of(e, left->args[1]);
        return (struct part){source_of(e, left->args[0]), text_format("%s multiple of %s", op == OP_EQ ? "a" : "no", of)};
    }
    SCOPED char *right = source_of(e, t->args[1]);
    return (struct part){source_of(e, left), text_format("%s%s", words[op - OP_EQ], right)};
}

static bool is_group(const struct term *t)
{
    return t->kind == TERM_BINARY && (t->op == OP_AND || t->op == OP_OR);
}

static struct part part_of(const struct expr *e, const struct term *t, bool negated)
{
    if (t->kind == TERM_UNARY && t->op == OP_NOT)
        return part_of(e, t->args[0], !negated);
    if (term_is_comparison(t))
        return comparison(e, t, negated);
    if (is_group(t))
        return (struct part){expr_needed(e, t, negated), NULL};
    if (is_possession(t)) {
        SCOPED char *what = source_of(e, t->args[0]);
        const char *bare = what + (what[0] == '\'');
        int n = (int)strcspn(bare, "'");
        return (struct part){text_format("%s %.*s", negated ? "no" : strchr("aeiou", bare[0]) ? "an" : "a", n, bare), NULL};
    }
    return (struct part){source_of(e, t), xstrdup(negated ? "0" : "other than 0")};
}

static bool phrase_same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* Joins `more` to *t, which frees it. */
static void phrase_join(char **t, const char *joiner, const char *more)
{
    char *both = text_format("%s %s %s", *t, joiner, more);
    free(*t);
    *t = both;
}

/* Adds a part. Two with the same predicate, or with the same subject, become one: "c or k to be 3", "c to be 3 or 5". */
static void put(struct parts *all, struct part p, const char *joiner)
{
    struct part *last = all->count ? &all->items[all->count - 1] : NULL;
    bool of_all = last && phrase_same(last->predicate, p.predicate),
         of_one = last && !of_all && last->predicate && phrase_same(last->subject, p.subject);
    if (of_all)
        phrase_join(&last->subject, joiner, p.subject);
    else if (of_one)
        phrase_join(&last->predicate, joiner, p.predicate);
    else
        *APPEND(all->items, all->count) = p;
    if (of_all || of_one) {
        free(p.subject);
        free(p.predicate);
    }
}

/* The operands of a chain of one operator, as `a or b or c`. */
static void put_chain(const struct expr *e, const struct term *t, enum term_op op, bool negated, struct parts *all)
{
    if (is_group(t) && t->op == op) {
        put_chain(e, t->args[0], op, negated, all);
        put_chain(e, t->args[1], op, negated, all);
    } else {
        put(all, part_of(e, t, negated), (op == OP_OR) != negated ? "or" : "and");
    }
}

char *expr_needed(const struct expr *e, const struct term *t, bool negated)
{
    struct parts all = {0};
    SCOPED_TEXT out = {0};
    while (t->kind == TERM_UNARY && t->op == OP_NOT) {
        t = t->args[0];
        negated = !negated;
    }
    put_chain(e, t, t->op == OP_AND && is_group(t) ? OP_AND : OP_OR, negated, &all);
    const char *joiner = (is_group(t) && t->op == OP_OR) != negated ? ", or " : ", and ";
    for (int i = 0; i < all.count; i++) {
        text_addf(&out, "%s%s%s%s", i ? joiner : "", all.items[i].subject, all.items[i].predicate ? " to be " : "",
                  all.items[i].predicate ? all.items[i].predicate : "");
        free(all.items[i].subject);
        free(all.items[i].predicate);
    }
    free(all.items);
    return text_take(&out);
}

/* ---- the values ---- */

struct values {
    const struct expr *e;
    const struct expr_env *env;
    struct text out;
    char *said[8];
    int count;
};

/* "c = 3", once. */
static void put_value(struct values *v, const struct term *t)
{
    struct value value;
    char s[VALUE_TEXT_MAX];
    SCOPED char *name = source_of(v->e, t);
    for (int i = 0; i < v->count; i++)
        if (!strcmp(v->said[i], name))
            return;
    if (v->count == (int)(sizeof v->said / sizeof *v->said) || !expr_term_value(v->e, t, v->env, &value))
        return;
    value_print(&value, s, sizeof s);
    if (value.kind == VALUE_TEXT && !strcmp(s, name)) /* a word that means itself */
        return;
    text_addf(&v->out, "%s%s = %s", v->count ? ", " : "", name, s);
    v->said[v->count++] = xstrdup(name);
}

/* Of names and of calls that only the environment knows: what they are. */
static void put_values(struct values *v, const struct term *t)
{
    if (is_possession(t))
        return;
    if (t->kind == TERM_NAME || (t->kind == TERM_CALL && t->builtin < 0))
        put_value(v, t);
    else if (term_is_comparison(t) && !is_multiple(t) && t->args[0]->kind != TERM_VALUE)
        put_value(v, t->args[0]); /* `ceil(q, TW) * 2 <= 8`: the left side, then what it is made of */
    for (int i = 0; i < t->count; i++)
        put_values(v, t->args[i]);
}

char *expr_values(const struct expr *e, const struct term *t, const struct expr_env *env)
{
    struct values v = {.e = e, .env = env};
    put_values(&v, t);
    for (int i = 0; i < v.count; i++)
        free(v.said[i]);
    return text_take(&v.out);
}
