/* Questions to a node: keys, typed scalars, and errors at its place. */
#include "base/node.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool node_error(const struct node *n, struct error *err, const char *format, ...)
{
    SCOPED_TEXT t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    if (!n)
        return error_set(err, ERROR_USAGE, "%s", text_get(&t));
    error_set(err, ERROR_USAGE, "%s:%d:%d: %s", n->file, n->line, n->column, text_get(&t));
    return error_at(err, n->file, n->line);
}

static int index_of(const struct node *m, const char *key)
{
    return m && m->kind == NODE_MAP ? FIRST_OF(i, m->count, !strcmp(m->keys[i]->text, key)) : -1;
}

const struct node *node_get(const struct node *m, const char *key)
{
    int i = index_of(m, key);
    return i < 0 ? NULL : m->items[i];
}

const struct node *node_key(const struct node *m, const char *key)
{
    int i = index_of(m, key);
    return i < 0 ? NULL : m->keys[i];
}

/* At most 60 bytes of a text, whole characters, in one line. */
static char *shorten(const char *text)
{
    size_t length = strlen(text), keep = length > 60 ? 60 : length;
    while (keep && keep < length && (text[keep] & 0xc0) == 0x80)
        keep--;
    char *s = text_format("%.*s%s", (int)keep, text, keep < length ? "..." : "");
    for (char *c = s; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    return s;
}

char *node_describe(const struct node *n)
{
    if (!n || n->kind == NODE_NULL)
        return xstrdup("nothing");
    if (n->kind == NODE_LIST)
        return text_format("a list of %d", n->count);
    if (n->kind == NODE_MAP)
        return text_format("a map of %d key%s", n->count, text_s(n->count));
    double ignored;
    char *text = shorten(n->text);
    bool number = text_to_real(n->text, &ignored);
    if (!n->quoted && number)
        return text;
    char *quoted = text_format("%s'%s'", number ? "the quoted text " : "", text);
    free(text);
    return quoted;
}

static void write_quoted(const char *text, struct text *t)
{
    text_add(t, "\"");
    for (const char *c = text; *c; c++)
        if (*c == '"' || *c == '\\')
            text_addf(t, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            text_addf(t, "\\x%02x", (unsigned)*c);
        else
            text_addf(t, "%c", *c);
    text_add(t, "\"");
}

void node_write(const struct node *n, struct text *t)
{
    bool map = n->kind == NODE_MAP;
    if (map || n->kind == NODE_LIST) {
        text_add(t, map ? "{" : "[");
        for (int i = 0; i < n->count; i++) {
            text_add(t, i ? ", " : "");
            if (map) {
                node_write(n->keys[i], t);
                text_add(t, ": ");
            }
            node_write(n->items[i], t);
        }
        text_add(t, map ? "}" : "]");
    } else if (n->kind == NODE_NULL || !n->text) {
        text_add(t, "null");
    } else if (n->quoted || strpbrk(n->text, ",[]{}\n")) {
        write_quoted(n->text, t);
    } else {
        text_add(t, n->text);
    }
}

static bool found_instead(const struct node *n, struct error *err, const char *what, const char *expected)
{
    SCOPED char *found = node_describe(n);
    node_error(n, err, "%s: %s, not %s", what, expected, found);
    return false;
}

static size_t length_of(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

static void suggest(struct error *err, const char *word, const char *const *words)
{
    const char *near = text_nearest(word, words, length_of(words));
    SCOPED_TEXT all = {0};
    text_add_list(&all, words, length_of(words));
    if (near)
        error_hint(err, "did you mean '%s'? Known: %.900s", near, text_get(&all));
    else
        error_hint(err, "known: %.900s", text_get(&all));
}

bool node_check_keys(const struct node *m, const char *what, const char *const *known, struct error *err)
{
    if (!m || m->kind != NODE_MAP)
        return found_instead(m, err, what, "a map is expected");
    for (int i = 0; i < m->count; i++) {
        bool ok = false;
        for (size_t k = 0; known[k] && !ok; k++)
            ok = !strcmp(m->keys[i]->text, known[k]);
        if (ok)
            continue;
        SCOPED char *word = shorten(m->keys[i]->text);
        node_error(m->keys[i], err, "%s: unknown key '%s'", what, word);
        suggest(err, m->keys[i]->text, known);
        return false;
    }
    return true;
}

const char *node_text(const struct node *n, const char *what, struct error *err)
{
    if (n && n->kind == NODE_SCALAR)
        return n->text;
    found_instead(n, err, what, "a word is expected");
    return NULL;
}

bool node_int(const struct node *n, const char *what, int64_t min, int64_t max, int64_t *out, struct error *err)
{
    long long v;
    if (!n || n->kind != NODE_SCALAR || n->quoted || !text_to_int(n->text, &v))
        return found_instead(n, err, what, "an integer is expected");
    if (v < min || v > max)
        return node_error(n, err, "%s: %lld is not between %lld and %lld", what, v, (long long)min, (long long)max);
    *out = v;
    return true;
}

bool node_real(const struct node *n, const char *what, double min, double max, double *out, struct error *err)
{
    double v;
    if (!n || n->kind != NODE_SCALAR || n->quoted || !text_to_real(n->text, &v))
        return found_instead(n, err, what, "a number is expected");
    if (!(v >= min && v <= max))
        return node_error(n, err, "%s: %g is not between %g and %g", what, v, min, max);
    *out = v;
    return true;
}

bool node_bool(const struct node *n, const char *what, bool *out, struct error *err)
{
    static const char *const words[] = {"yes", "true", "on", "no", "false", "off"};
    for (int i = 0; n && n->kind == NODE_SCALAR && i < 6; i++)
        if (!strcmp(n->text, words[i])) {
            *out = i < 3;
            return true;
        }
    return found_instead(n, err, what, "yes or no is expected");
}

int node_word(const struct node *n, const char *what, const char *const *words, struct error *err)
{
    const char *text = node_text(n, what, err);
    if (!text)
        return -1;
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    SCOPED char *word = shorten(text);
    node_error(n, err, "%s: '%s' is not known", what, word);
    suggest(err, text, words);
    return -1;
}

bool node_quantity(const struct node *n, const char *what, const char *unit, double *out, struct error *err)
{
    static const struct {
        const char *suffix, *unit;
        double factor;
    } suffixes[] = {{"%", "%", 0.01},     {"ns", "s", 1e-9},    {"us", "s", 1e-6},    {"ms", "s", 1e-3},
                    {"s", "s", 1},        {"min", "s", 60},     {"h", "s", 3600},     {"B", "B", 1},
                    {"KB", "B", 1e3},     {"MB", "B", 1e6},     {"GB", "B", 1e9},     {"TB", "B", 1e12},
                    {"KiB", "B", 0x1p10}, {"MiB", "B", 0x1p20}, {"GiB", "B", 0x1p30}, {"x", "", 1}};
    if (!n || n->kind != NODE_SCALAR)
        return found_instead(n, err, what, *unit ? "a number with a unit is expected" : "a number is expected");
    size_t digits = strspn(n->text, "+-0123456789.eE");
    char *number = xstrndup(n->text, digits);
    const char *suffix = n->text + digits + strspn(n->text + digits, " ");
    bool ok = text_to_real(number, out) && isfinite(*out);
    free(number);
    if (ok && !*suffix && (strcmp(unit, "%") || *out == 0)) /* 0.5 could be 0.5 % or 50 % */
        return true;
    for (size_t i = 0; ok && i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(suffix, suffixes[i].suffix) && !strcmp(unit, suffixes[i].unit)) {
            *out *= suffixes[i].factor;
            return true;
        }
    return found_instead(n, err, what,
                         !strcmp(unit, "%")   ? "a share like `0.5 %` is expected"
                         : !strcmp(unit, "s") ? "a time like `20 s` is expected"
                         : !strcmp(unit, "B") ? "a size like `64 MiB` is expected"
                                              : "a number is expected");
}
