/* Finds the head's comment in a file that may hold anything. */
#include "kernel/head/head.h"
#include <stdio.h>
#include <string.h>

/* Skips one character of code; literals and line comments are skipped whole, but never past their line, so that a stray quote
 * cannot hide the rest of the file. */
static size_t skip_code(const char *s, size_t i, size_t n)
{
    char c = s[i];
    if (c == '/' && i + 1 < n && s[i + 1] == '/') {
        while (i < n && s[i] != '\n')
            i++;
        return i;
    }
    if (c == '\\' && i + 1 < n) /* outside too: else `\"\"\"...` would be scanned once for each quote */
        return i + 2;
    if (c != '"' && c != '\'')
        return i + 1;
    size_t j = i + 1;
    while (j < n && s[j] != c && s[j] != '\n')
        j += s[j] == '\\' && j + 1 < n && s[j + 1] != '\n' ? 2 : 1;
    return j < n && s[j] == c ? j + 1 : i + 1;
}

static size_t skip_blanks(const char *s, size_t i, size_t n)
{
    while (i < n && (s[i] == ' ' || s[i] == '\t'))
        i++;
    return i;
}

static int head_find_line_of(const char *s, size_t at)
{
    int line = 1;
    for (const char *p = s; (p = memchr(p, '\n', (size_t)(s + at - p))); p++)
        line++;
    return line;
}

static int column_of(const char *s, size_t at)
{
    size_t begin = at;
    while (begin > 0 && s[begin - 1] != '\n')
        begin--;
    return (int)(at - begin) + 1;
}

/* Matches `/`, `*`, `bench`, blanks at i. Returns the index behind the blanks, or 0. */
static size_t head_mark(const char *s, size_t i, size_t n)
{
    size_t j = skip_blanks(s, i + 2, n);
    if (n - j < 6 || memcmp(s + j, "bench", 5) != 0)
        return 0;
    size_t k = skip_blanks(s, j + 5, n);
    return k > j + 5 ? k : 0;
}

static bool broken(const char *file, const char *s, size_t at, struct error *err, const char *message)
{
    error_set(err, ERROR_USAGE, "%s:%d:%d: %s", file, head_find_line_of(s, at), column_of(s, at), message);
    return error_at(err, file, head_find_line_of(s, at));
}

enum head_found head_find(const char *file, const char *s, size_t n, struct head_place *out, struct error *err)
{
    size_t i = n >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3) ? 3 : 0;
    memset(out, 0, sizeof *out);
    while (i < n && !(s[i] == '/' && i + 1 < n && s[i + 1] == '*'))
        i = skip_code(s, i, n);
    size_t version = i < n ? head_mark(s, i, n) : 0;
    if (!version || s[version] < '0' || s[version] > '9') {
        for (const char *p = s + (i < n ? i + 1 : n); (p = memmem(p, (size_t)(s + n - p), "/*", 2)); p++) {
            size_t mark = head_mark(s, (size_t)(p - s), n);
            if (mark && s[mark] >= '0' && s[mark] <= '9') {
                out->later = head_find_line_of(s, (size_t)(p - s));
                break;
            }
        }
        return HEAD_ABSENT;
    }
    size_t j = version;
    while (j < n && s[j] >= '0' && s[j] <= '9')
        j++;
    if (j != version + 1 || s[version] != '1') {
        char message[160];
        snprintf(message, sizeof message, "the head has version %.*s; bench reads only version 1",
                 (int)(j - version) > 20 ? 20 : (int)(j - version), s + version);
        broken(file, s, version, err, message);
        return HEAD_BROKEN;
    }
    const char *end = memmem(s + j, n - j, "*/", 2);
    if (!end) {
        broken(file, s, i, err, "the comment of the head has no end");
        return HEAD_BROKEN;
    }
    size_t stop = (size_t)(end - s);
    j = skip_blanks(s, j, n);
    if (j < stop && s[j] == '\r')
        j++;
    if (j >= stop || s[j] != '\n') {
        broken(file, s, j, err,
               j >= stop ? "the head is empty: put the YAML on the lines below `bench 1`"
                         : "the line of `bench 1` must contain nothing else; the YAML begins on the next line");
        return HEAD_BROKEN;
    }
    out->begin = j + 1;
    out->end = stop;
    out->line = head_find_line_of(s, out->begin);
    return HEAD_PRESENT;
}
