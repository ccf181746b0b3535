#include "base/code_only.h"
#include "base/text.h"
#include <stdbool.h>
#include <string.h>

#define RAW_DELIMITER_MAX 17 /* 16 characters and the quote */

/* The text with comments and literals blanked, so that what is left is code. Same length. */
static char *blank_comments(const char *text)
{
    char *s = xstrdup(text);
    for (char *p = s; *p; p++) {
        if (p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
            bool line = p[1] == '/';
            char *end = line ? strchr(p, '\n') : strstr(p + 2, "*/");
            end = end ? end + (line ? 0 : 2) : p + strlen(p);
            for (; p < end; p++)
                *p = *p == '\n' ? '\n' : ' ';
            p--;
        } else if (*p == '"' || *p == '\'') {
            char quote = *p;
            for (p++; *p && *p != quote && *p != '\n'; p++) {
                if (*p == '\\' && p[1] && p[1] != '\n')
                    *p++ = ' ';
                *p = 'C'; /* extern "C" stays visible */
            }
            if (!*p)
                break;
        }
    }
    return s;
}

/* The condition of a line `#if ...` of code, blanks skipped: 0, 1 (1, true), -1 (another condition, which is not evaluated). */
static int condition_of(const char *p)
{
    p += strspn(p, " \t(");
    const size_t n = strspn(p, "0123456789abcdefghijklmnopqrstuvwxyz");
    const char *end = p + n + strspn(p + n, " \t)\r");
    if (*end && *end != '\n')
        return -1;
    if ((n == 1 && *p == '0') || (n == 5 && !strncmp(p, "false", n)))
        return 0;
    return (n == 1 && *p == '1') || (n == 4 && !strncmp(p, "true", n)) ? 1 : -1;
}

enum { CONDITIONALS_MAX = 64 };
/* The nested #if of a line: whether it is left out, and whether one of its branches is certainly compiled. */
struct conditionals {
    int depth;
    bool out[CONDITIONALS_MAX], done[CONDITIONALS_MAX];
};

/* Takes one directive; `word` follows the #. */
static void take_directive(struct conditionals *c, const char *word)
{
    const bool end = !strncmp(word, "endif", 5), other = !strncmp(word, "else", 4), other_if = !strncmp(word, "elif", 4);
    if (!strncmp(word, "if", 2)) {
        const int is = word[2] == ' ' || word[2] == '\t' || word[2] == '(' ? condition_of(word + 2) : -1;
        if (c->depth < CONDITIONALS_MAX) {
            c->out[c->depth] = is == 0;
            c->done[c->depth] = is == 1;
        }
        c->depth++;
    } else if (end && c->depth) {
        c->depth--;
    } else if ((other || other_if) && c->depth && c->depth <= CONDITIONALS_MAX) {
        const int i = c->depth - 1, is = other ? 1 : condition_of(word + 4);
        c->out[i] = c->done[i] || is == 0;
        c->done[i] |= is == 1;
    }
}

/* Blanks what no compiler sees: the branches of `#if 0` and `#if 1`. Comments are blank already. A branch under any other condition stays.
 */
static void blank_left_out(char *code)
{
    struct conditionals c = {0};
    for (char *line = code, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        const char *word = line + strspn(line, " \t");
        bool out = false;
        if (*word == '#')
            take_directive(&c, word + 1 + strspn(word + 1, " \t"));
        for (int i = 0; i < c.depth && i < CONDITIONALS_MAX; i++)
            out |= c.out[i];
        for (char *p = line; p < next && out; p++)
            *p = *p == '\n' ? '\n' : ' ';
    }
}

char *code_only(const char *text)
{
    char *code = blank_comments(text);
    blank_left_out(code);
    return code;
}

/* Behind the literal that begins at p, at the latest at the end of its line. A raw string (R"x(...)x") ends where its delimiter does. */
static const char *after_literal(const char *begin, const char *p)
{
    const char quote = *p, *open = p + 1 + strcspn(p + 1, "(\n");
    if (quote == '"' && p > begin && p[-1] == 'R' && *open == '(' && open - p <= RAW_DELIMITER_MAX) {
        SCOPED char *end = text_format(")%.*s\"", (int)(open - p - 1), p + 1);
        const char *found = strstr(open, end);
        return found ? found + strlen(end) : p + strlen(p);
    }
    for (p++; *p && *p != quote && *p != '\n'; p++)
        p += *p == '\\' && p[1];
    return p + (*p == quote);
}

/* Behind the comment that begins at p. */
static const char *after_comment(const char *p)
{
    const char *end = p[1] == '/' ? strchr(p, '\n') : strstr(p + 2, "*/");
    return !end ? p + strlen(p) : p[1] == '/' ? end : end + 2;
}

char *code_words(const char *text)
{
    char *out = xstrdup(text), *to = out;
    char gap = '\n'; /* what stands before the next word: '\n', ' ' or nothing */
    for (const char *p = text, *next; *p; p = next) {
        const bool comment = p[0] == '/' && (p[1] == '/' || p[1] == '*');
        next = comment ? after_comment(p) : *p == '"' || *p == '\'' ? after_literal(text, p) : p + 1;
        if (*p == '\n')
            gap = '\n';
        else if (comment || strchr(" \t\r\f\v", *p))
            gap = gap ? gap : ' ';
        else {
            if (gap && to > out)
                *to++ = gap;
            gap = 0;
            memcpy(to, p, (size_t)(next - p));
            to += next - p;
        }
    }
    *to = 0;
    return out;
}
