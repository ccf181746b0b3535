/* Names and lists of expressions, which every part of a head has. */
#include "kernel/head/head.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool head_is_identifier(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    size_t n = 1;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return !s[n] && n < PROGRAM_NAME;
}

bool head_is_kernel_name(const char *s)
{
    size_t n = 1;
    if (!isalpha((unsigned char)*s) && *s != '_' && *s != '$')
        return false;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$')
        n++;
    return !s[n] && n < KERNEL_NAME;
}

/* A name expression of C++, by its characters: ns::scale<T, 32>. The compiler checks it. */
bool head_is_instance(const char *s)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:<>,()*&+-/%.= ";
    size_t n = strlen(s);
    return (isalpha((unsigned char)*s) || *s == '_' || *s == ':') && n < KERNEL_NAME && strspn(s, allowed) == n &&
           (strchr(s, '<') ? s[n - 1] == '>' : strstr(s, "::") && s[n - 1] != ':');
}

char *head_upper(const char *name)
{
    char *s = xstrdup(name);
    for (char *p = s; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return s;
}

/* Length of the text up to the next comma outside parentheses and quotes. */
static size_t piece(const char *s)
{
    int depth = 0;
    char quote = 0;
    size_t i = 0;
    for (; s[i]; i++)
        if (quote)
            quote = s[i] == quote ? 0 : quote;
        else if (s[i] == '\'' || s[i] == '"')
            quote = s[i];
        else if (s[i] == '(')
            depth++;
        else if (s[i] == ')')
            depth--;
        else if (s[i] == ',' && depth <= 0)
            break;
    return i;
}

bool head_expr_add(struct expr_list *out, const struct node *n, const char *what, int max, struct error *err)
{
    if (out->count == max)
        return node_error(n, err, "%s has more than %d items", what, max);
    struct expr *e = expr_parse(n, err);
    if (!e)
        return false;
    *APPEND(out->items, out->count) = e;
    return true;
}

bool head_expr_list(const struct node *n, const char *what, int max, struct expr_list *out, struct error *err)
{
    out->node = n;
    if (n->kind == NODE_LIST) {
        for (int i = 0; i < n->count; i++)
            if (!head_expr_add(out, n->items[i], what, max, err)) {
                bool cut = n->items[i]->kind == NODE_SCALAR && strchr(n->items[i]->text, '(') && !strchr(n->items[i]->text, ')');
                return cut ? error_hint(err, "YAML splits a flow list at every comma; write it without brackets: `%s: a(b, c), d`", what)
                           : false;
            }
        return n->count > 0 || node_error(n, err, "%s is an empty list", what);
    }
    if (n->kind != NODE_SCALAR)
        return head_expr_add(out, n, what, max, err); /* says what should stand here */
    const char *s = n->text;
    for (;;) {
        size_t length = piece(s), skip = strspn(s, " \t");
        struct node part = *n;
        if (skip > length)
            skip = length;
        part.quoted = false;
        part.column += (int)(s - n->text) + (int)skip + n->quoted;
        part.text = xstrndup(s + skip, length - skip);
        bool done = head_expr_add(out, &part, what, max, err);
        free(part.text);
        if (!done || !s[length])
            return done;
        s += length + 1;
    }
}
