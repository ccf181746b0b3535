#include "base/expr_parse.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool expr_error(const struct expr *e, size_t at, struct error *err, const char *format, ...)
{
    SCOPED_TEXT message = {0};
    TEXT_ADD_ARGUMENTS(&message, format);
    error_set(err, ERROR_USAGE, "%s:%d:%d: %s", e->file, e->line, e->column + (int)at, text_get(&message));
    return error_at(err, e->file, e->line);
}

static const char *const builtin_names[] = {"ceil", "floor", "min", "max", "abs", "log2", "pow2", "select", "pair", "bits", "bits64"};
enum { BUILTINS = sizeof builtin_names / sizeof *builtin_names };

static int builtin_of(const char *name)
{
    return FIRST_OF(i, BUILTINS, !strcmp(name, builtin_names[i]));
}

bool expr_unknown(const struct expr *e, const struct term *t, const char *const *names, struct error *err)
{
    const char *words[512];
    size_t n = 0;
    for (size_t i = 0; t->kind == TERM_CALL && i < BUILTINS; i++)
        words[n++] = builtin_names[i];
    for (size_t i = 0; names && names[i] && n < sizeof words / sizeof *words; i++)
        words[n++] = names[i];
    expr_error(e, t->at, err, "unknown %s '%.80s'", t->kind == TERM_CALL ? "function" : "name", t->name);
    const char *near = text_nearest(t->name, words, n);
    if (near)
        error_hint(err, "did you mean '%s'?", near);
    return false;
}

bool term_is_comparison(const struct term *t)
{
    return t->kind == TERM_BINARY && t->op >= OP_EQ && t->op <= OP_GE;
}

static void term_free(struct term *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->count; i++)
        term_free(t->args[i]);
    FREE_ALL(t->args, t->name, t);
}

struct parser {
    struct expr *e;
    const char *s;
    size_t at;
    int depth;
    struct error *err;
};

static struct term *parse_or(struct parser *p);

static void skip_space(struct parser *p)
{
    while (p->s[p->at] && isspace((unsigned char)p->s[p->at]))
        p->at++;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes `token` if it comes next. A word is taken only as a whole: `orange` does not begin with `or`. */
static bool expr_parse_take(struct parser *p, const char *token)
{
    skip_space(p);
    if (p->s[p->at] != token[0]) /* most of them: each level of precedence asks for its operators */
        return false;
    size_t n = strlen(token);
    if (strncmp(p->s + p->at, token, n) != 0 || (isalpha((unsigned char)token[0]) && word_char(p->s[p->at + n])))
        return false;
    p->at += n;
    return true;
}

static struct term *term_new(enum term_kind kind, size_t begin)
{
    struct term *t = xcalloc(1, sizeof *t);
    t->kind = kind;
    t->begin = t->at = begin;
    t->height = 1;
    return t;
}

/* Hands `arg` to `t`; frees both and returns NULL when the tree has grown too high. */
static struct term *adopt(struct parser *p, struct term *t, struct term *arg)
{
    *APPEND(t->args, t->count) = arg;
    if (arg->height >= t->height)
        t->height = arg->height + 1;
    if (t->height <= EXPR_MAX_HEIGHT)
        return t;
    expr_error(p->e, arg->at, p->err, "the expression is nested deeper than %d", EXPR_MAX_HEIGHT);
    term_free(t);
    return NULL;
}

static struct term *parse_number(struct parser *p)
{
    const char *s = p->s + p->at;
    char *end_int, *end_real;
    errno = 0;
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    long long i = strtoll(s, &end_int, hex ? 16 : 10);
    bool overflow = errno == ERANGE;
    double d = hex ? 0 : strtod(s, &end_real);
    bool real = !hex && end_real > end_int;
    const char *end = real ? end_real : end_int;
    if (word_char(*end) || *end == '.') {
        expr_error(p->e, p->at, p->err, "'%.*s' is not a number",
                   (int)strcspn(s, " ,()+-*/%<>=!") < 40 ? (int)strcspn(s, " ,()+-*/%<>=!") : 40, s);
        return NULL;
    }
    if (real ? !(d - d == 0) : overflow) {
        expr_error(p->e, p->at, p->err, "the number '%.*s' is too large", (int)(end - s) < 40 ? (int)(end - s) : 40, s);
        return NULL;
    }
    struct term *t = term_new(TERM_VALUE, p->at);
    t->value = real ? value_real(d) : value_int(i);
    p->at += (size_t)(end - s);
    t->end = p->at;
    return t;
}

static struct term *parse_quoted(struct parser *p)
{
    size_t begin = p->at;
    const char *s = p->s + p->at + 1, *end = strchr(s, p->s[p->at]);
    if (!end) {
        expr_error(p->e, p->at, p->err, "the quote has no end");
        return NULL;
    }
    if (end - s >= VALUE_TEXT_MAX) {
        expr_error(p->e, p->at, p->err, "the text has %d characters; at most %d are allowed", (int)(end - s), VALUE_TEXT_MAX - 1);
        return NULL;
    }
    struct term *t = term_new(TERM_VALUE, begin);
    char text[VALUE_TEXT_MAX];
    snprintf(text, sizeof text, "%.*s", (int)(end - s), s);
    t->value = value_text(text);
    p->at += (size_t)(end - s) + 2;
    t->end = p->at;
    return t;
}

static struct term *parse_call_args(struct parser *p, struct term *t)
{
    while (!expr_parse_take(p, ")")) {
        if (t->count && !expr_parse_take(p, ",")) {
            expr_error(p->e, p->at, p->err, p->s[p->at] ? "a comma or ')' is expected here" : "the ')' of %s( is missing", t->name);
            if (!p->s[p->at])
                error_hint(p->err, "inside {...} and [...] a comma ends a YAML value: quote the expression, \"%s(a, b)\"", t->name);
            goto failed;
        }
        if (t->count == EXPR_MAX_ARGS) {
            expr_error(p->e, p->at, p->err, "%s has more than %d arguments", t->name, EXPR_MAX_ARGS);
            goto failed;
        }
        struct term *arg = parse_or(p);
        if (!arg)
            goto failed;
        t = adopt(p, t, arg);
        if (!t)
            return NULL;
    }
    t->end = p->at;
    return t;
failed:
    term_free(t);
    return NULL;
}

static struct term *parse_name(struct parser *p)
{
    static const char *const reserved[] = {"and", "or", "not"};
    size_t begin = p->at;
    while (word_char(p->s[p->at]))
        p->at++;
    char *name = xstrndup(p->s + begin, p->at - begin);
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(name, reserved[i])) {
            expr_error(p->e, begin, p->err, "a value is expected here, not '%s'", name);
            free(name);
            return NULL;
        }
    struct term *t = term_new(TERM_NAME, begin);
    t->name = name;
    t->end = p->at;
    if (!expr_parse_take(p, "("))
        return t;
    t->kind = TERM_CALL;
    t->builtin = builtin_of(t->name);
    return parse_call_args(p, t);
}

static struct term *parse_primary(struct parser *p)
{
    skip_space(p);
    char c = p->s[p->at];
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)p->s[p->at + 1])))
        return parse_number(p);
    if (c == '\'' || c == '"')
        return parse_quoted(p);
    if (isalpha((unsigned char)c) || c == '_')
        return parse_name(p);
    if (expr_parse_take(p, "(")) {
        size_t open = p->at - 1;
        struct term *t = parse_or(p);
        if (t && !expr_parse_take(p, ")")) {
            expr_error(p->e, open, p->err, "this '(' has no ')'");
            term_free(t);
            return NULL;
        }
        if (t) {
            t->begin = open;
            t->end = p->at;
            t->parens = true;
        }
        return t;
    }
    if (!c)
        expr_error(p->e, p->at, p->err, "the expression ends where a value is expected");
    else if (isprint((unsigned char)c))
        expr_error(p->e, p->at, p->err, "a value is expected here, not '%c'", c);
    else
        expr_error(p->e, p->at, p->err, "a value is expected here, not byte 0x%02x", (unsigned char)c);
    return NULL;
}

/* `-x`. All recursion passes here or through parse_not, so these two count the depth. */
static struct term *parse_unary(struct parser *p)
{
    skip_space(p);
    size_t begin = p->at;
    bool negative = expr_parse_take(p, "-");
    if (++p->depth > EXPR_MAX_HEIGHT) {
        expr_error(p->e, begin, p->err, "the expression is nested deeper than %d", EXPR_MAX_HEIGHT);
        return NULL;
    }
    struct term *t = NULL, *arg;
    if (!negative) {
        t = parse_primary(p);
    } else if ((arg = parse_unary(p))) {
        t = term_new(TERM_UNARY, begin);
        t->op = OP_NEG;
        t->end = arg->end;
        t = adopt(p, t, arg);
    }
    p->depth--;
    return t;
}

struct level {
    const char *token;
    enum term_op op;
};
/* Left-associative binary operators of one precedence; `next` parses the operands. */
static struct term *parse_level(struct parser *p, const struct level *level, struct term *(*next)(struct parser *))
{
    struct term *left = next(p);
    while (left) {
        const struct level *l = level;
        skip_space(p);
        size_t at = p->at;
        while (l->token && !expr_parse_take(p, l->token))
            l++;
        if (!l->token)
            break;
        struct term *t = term_new(TERM_BINARY, left->begin);
        t->op = l->op;
        t->at = at;
        t = adopt(p, t, left);
        if (!t)
            return NULL;
        struct term *right = next(p);
        if (!right) {
            term_free(t);
            return NULL;
        }
        t->end = right->end;
        left = adopt(p, t, right);
    }
    return left;
}

static struct term *parse_product(struct parser *p)
{
    static const struct level level[] = {{"*", OP_MUL}, {"/", OP_DIV}, {"%", OP_MOD}, {NULL, 0}};
    return parse_level(p, level, parse_unary);
}

static struct term *parse_sum(struct parser *p)
{
    static const struct level level[] = {{"+", OP_ADD}, {"-", OP_SUB}, {NULL, 0}};
    return parse_level(p, level, parse_product);
}

static struct term *parse_comparison(struct parser *p)
{
    static const struct level level[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE}, {">=", OP_GE}, {"<", OP_LT}, {">", OP_GT}, {NULL, 0}};
    struct term *t = parse_level(p, level, parse_sum);
    if (t && term_is_comparison(t) && term_is_comparison(t->args[0]) && !t->args[0]->parens) {
        expr_error(p->e, t->at, p->err, "comparisons cannot be chained: write `a < b and b < c`");
        term_free(t);
        return NULL;
    }
    return t;
}

static struct term *parse_not(struct parser *p)
{
    skip_space(p);
    size_t begin = p->at;
    if (!expr_parse_take(p, "not"))
        return parse_comparison(p);
    struct term *t = NULL, *arg = NULL;
    if (++p->depth > EXPR_MAX_HEIGHT)
        expr_error(p->e, begin, p->err, "the expression is nested deeper than %d", EXPR_MAX_HEIGHT);
    else
        arg = parse_not(p);
    p->depth--;
    if (arg) {
        t = term_new(TERM_UNARY, begin);
        t->op = OP_NOT;
        t->end = arg->end;
        t = adopt(p, t, arg);
    }
    return t;
}

static struct term *parse_and(struct parser *p)
{
    static const struct level level[] = {{"and", OP_AND}, {NULL, 0}};
    return parse_level(p, level, parse_not);
}

static struct term *parse_or(struct parser *p)
{
    static const struct level level[] = {{"or", OP_OR}, {NULL, 0}};
    return parse_level(p, level, parse_and);
}

static struct expr *expr_parse_of(struct expr *e, struct error *err)
{
    struct parser p = {.e = e, .s = e->text, .err = err};
    size_t n = strlen(e->text);
    if (n > EXPR_MAX_TEXT) {
        expr_error(e, 0, err, "the expression has %zu characters; at most %d are allowed", n, EXPR_MAX_TEXT);
    } else if ((e->root = parse_or(&p))) {
        skip_space(&p);
        if (!p.s[p.at])
            return e;
        unsigned char c = (unsigned char)p.s[p.at];
        if (c == '=')
            expr_error(e, p.at, err, "'=' is not an operator; equality is '=='");
        else if (c == '&' || c == '|' || c == '!')
            expr_error(e, p.at, err, "'%c' is not an operator; the words are `and`, `or`, `not`", c);
        else if (isprint(c))
            expr_error(e, p.at, err, "an operator is expected here, not '%c'", c);
        else
            expr_error(e, p.at, err, "an operator is expected here, not byte 0x%02x", c);
    }
    expr_free(e);
    return NULL;
}

struct expr *expr_parse(const struct node *n, struct error *err)
{
    struct expr *e = xcalloc(1, sizeof *e);
    e->file = xstrdup(n->file ? n->file : "");
    e->line = n->line;
    e->column = n->column + n->quoted; /* the text begins after its quote */
    if (n->kind == NODE_SCALAR) {
        e->text = xstrdup(n->text);
        return expr_parse_of(e, err);
    }
    expr_error(e, 0, err, "an expression is expected here, not %s",
               n->kind == NODE_LIST  ? "a list"
               : n->kind == NODE_MAP ? "a map"
                                     : "nothing");
    expr_free(e);
    return NULL;
}

void expr_free(struct expr *e)
{
    if (!e)
        return;
    term_free(e->root);
    FREE_ALL(e->text, e->file, e);
}

const char *expr_text(const struct expr *e)
{
    return e->text;
}

static void visit_names(const struct term *t, void (*visit)(void *context, const char *name), void *context)
{
    if (t->kind == TERM_NAME)
        visit(context, t->name);
    for (int i = 0; i < t->count; i++)
        visit_names(t->args[i], visit, context);
}

void expr_names(const struct expr *e, void (*visit)(void *context, const char *name), void *context)
{
    visit_names(e->root, visit, context);
}

void expr_place(const struct expr *e, int *line, int *column)
{
    *line = e->file ? e->line : 0;
    *column = e->file ? e->column : 0;
}

const char *expr_name(const struct expr *e)
{
    return e->root->kind == TERM_NAME ? e->root->name : NULL;
}

static const struct term *find_unknown(const struct term *t, bool (*known)(void *context, const char *name, bool call), void *context)
{
    bool call = t->kind == TERM_CALL;
    if ((t->kind == TERM_NAME || (call && t->builtin < 0)) && !known(context, t->name, call))
        return t;
    const struct term *found = NULL;
    for (int i = 0; i < t->count && !found; i++)
        found = find_unknown(t->args[i], known, context);
    return found;
}

bool expr_check(const struct expr *e, bool (*known)(void *context, const char *name, bool call), void *context, const char *const *names,
                struct error *err)
{
    const struct term *t = find_unknown(e->root, known, context);
    return !t || expr_unknown(e, t, names, err);
}
