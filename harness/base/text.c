#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <stdint.h>
#include <unistd.h>

static void out_of_memory(void)
{
    fputs("bench: out of memory\n", stderr);
    _exit(STATUS_NO_MEMORY);
}

bool text_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool text_ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

void scoped_free(void *variable)
{
    free(*(void **)variable);
}

void pointers_free(void *pointers, int count)
{
    void **all = pointers;
    for (int i = 0; all && (count < 0 ? all[i] != NULL : i < count); i++)
        free(all[i]);
    free(all);
}

void free_all(const void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)pointers[i]);
}

void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xrealloc(void *p, size_t n)
{
    p = realloc(p, n ? n : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xgrow(void *p, size_t count, size_t size)
{
    size_t bytes = (count + 1) * size;
    return p && malloc_usable_size(p) >= bytes ? p : xrealloc(p, bytes + (count < 16 ? 0 : count / 2 * size));
}

char *xstrdup(const char *s)
{
    return s ? xstrndup(s, strlen(s)) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
    n = strnlen(s, n);
    char *p = xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *text_format(const char *format, ...)
{
    struct text t = {0};
    TEXT_ADD_ARGUMENTS(&t, format);
    return text_take(&t);
}

static void reserve(struct text *t, size_t more)
{
    if (t->len + more + 1 <= t->cap)
        return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < t->len + more + 1)
        cap *= 2;
    t->data = xrealloc(t->data, cap);
    t->cap = cap;
}

void text_add_bytes(struct text *t, const void *bytes, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->data + t->len, bytes, n);
    t->len += n;
    t->data[t->len] = 0;
}

void text_add(struct text *t, const char *s)
{
    text_add_bytes(t, s, strlen(s));
}

void text_vaddf(struct text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n > 0) {
        reserve(t, (size_t)n);
        vsnprintf(t->data + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    }
    va_end(again);
}

void text_addf(struct text *t, const char *format, ...)
{
    TEXT_ADD_ARGUMENTS(t, format);
}

const char *text_get(const struct text *t)
{
    return t->data ? t->data : "";
}

char *text_take(struct text *t)
{
    char *s = t->data ? t->data : xstrdup("");
    *t = (struct text){0};
    return s;
}

void text_free(struct text *t)
{
    free(t->data);
    *t = (struct text){0};
}

/* Optimal string alignment distance; words longer than the table are not near anything. */
#define NEAR_MAX 64
static int distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n >= NEAR_MAX || m >= NEAR_MAX)
        return NEAR_MAX;
    int d[NEAR_MAX + 1][NEAR_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = (int)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *text_nearest(const char *word, const char *const *words, size_t n)
{
    const char *best = NULL;
    int best_distance = NEAR_MAX;
    size_t length = strlen(word);
    for (size_t i = 0; i < n; i++) {
        int d = distance(word, words[i]);
        size_t prefix = strlen(words[i]);
        if (prefix >= 3 && length >= 3 && (!strncmp(word, words[i], length) || !strncmp(word, words[i], prefix)) && d > 2)
            d = 2; /* one is the beginning of the other */
        if (d < best_distance) {
            best_distance = d;
            best = words[i];
        }
    }
    int limit = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    return best_distance <= limit ? best : NULL;
}

const char *text_nearest_in(const char *word, const char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return text_nearest(word, words, count);
}

void text_add_list(struct text *t, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_addf(t, "%s%s", i ? ", " : "", words[i]);
}

bool text_glob(const char *pattern, const char *s)
{
    const char *star = NULL, *retry = NULL;
    while (*s) {
        if (*pattern == '*') {
            star = pattern++;
            retry = s;
        } else if (*pattern == '?' || *pattern == *s) {
            pattern++;
            s++;
        } else if (star) {
            pattern = star + 1;
            s = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

void text_add_html(struct text *t, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&': text_add(t, "&amp;"); break;
        case '<': text_add(t, "&lt;"); break;
        case '>': text_add(t, "&gt;"); break;
        case '"': text_add(t, "&quot;"); break;
        case '\'': text_add(t, "&#39;"); break;
        default: text_add_bytes(t, ((unsigned char)*s < 32 && *s != '\n') || *s == 127 ? " " : s, 1);
        }
    }
}

size_t text_control(const char *s)
{
    unsigned char c = (unsigned char)*s, next = c ? (unsigned char)s[1] : 0;
    if (c == 0xc2 && next >= 0x80 && next < 0xa0)
        return 2;
    return (c < 32 && c && c != '\n' && c != '\t' && !(c == '\r' && next == '\n')) || c == 127;
}

void text_neutralise(struct text *t, size_t from)
{
    size_t to = from;
    for (size_t at = from; at < t->len;) {
        size_t n = text_control(t->data + at);
        t->data[to++] = n ? '?' : t->data[at];
        at += n ? n : 1;
    }
    if (from < t->len)
        t->data[t->len = to] = 0;
}

void text_add_line(struct text *t, const char *s)
{
    for (size_t n; *s; s += n ? n : 1)
        text_add_bytes(t, (n = text_control(s)) || strchr("\r\n\t", *s) ? "?" : s, 1);
}

void text_add_csv(struct text *t, const char *s)
{
    const char *guard = *s && strchr("=+-@\t\r\n'", *s) ? "'" : "";
    if (!s[strcspn(s, ",\"\r\n")]) {
        text_addf(t, "%s%s", guard, s);
        return;
    }
    text_addf(t, "\"%s", guard);
    for (; *s; s++)
        text_add(t, *s == '"' ? "\"\"" : (char[]){*s, 0});
    text_add(t, "\"");
}

void text_one_line(char *s)
{
    char *to = s;
    for (const char *from = s; *from;) {
        size_t blank = strspn(from, " \t\r\n"), kept = blank ? blank : strcspn(from, " \t\r\n");
        if (blank && (memchr(from, '\n', blank) || memchr(from, '\r', blank))) {
            *to++ = ' ';
        } else {
            memmove(to, from, kept);
            to += kept;
        }
        from += kept;
    }
    *to = 0;
}

bool text_to_int(const char *s, long long *out)
{
    const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
    if (!*digits || digits[strspn(digits, "0123456789")])
        return false;
    errno = 0;
    long long v = strtoll(s, NULL, 10);
    if (errno)
        return false;
    *out = v;
    return true;
}

bool text_to_real(const char *s, double *out)
{
    const char *digits = *s == '-' || *s == '+' ? s + 1 : s;
    if (!*digits || digits[strspn(digits, "0123456789.eE+-")] || !digits[strcspn(digits, "0123456789")])
        return false;
    char *end;
    errno = 0;
    double v = strtod(s, &end);
    if (*end || (errno == ERANGE && (v > 1 || v < -1)))
        return false;
    *out = v;
    return true;
}

bool text_to_number(const char *s, double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{".inf", INFINITY}, {"+.inf", INFINITY}, {"-.inf", -INFINITY}, {".nan", NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(s, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    return text_to_real(s, out);
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

bool text_words_whole(const char *wanted, const char *s)
{
    char *copy = xstrdup(wanted), *rest = copy;
    const char *begin = s;
    bool ok = true;
    for (char *word; ok && (word = strsep(&rest, " "));) {
        size_t n = strlen(word);
        const char *at = n ? strstr(s, word) : s;
        while (n && at && ((at > begin && in_name(at[-1]) && in_name(*at)) || (in_name(at[n - 1]) && in_name(at[n]))))
            at = strstr(at + 1, word);
        ok = at != NULL;
        if (ok)
            s = at + n;
    }
    free(copy);
    return ok;
}

bool text_words_match(const char *wanted, const char *s)
{
    char *copy = xstrdup(wanted), *rest = copy;
    bool ok = true;
    for (char *word; ok && (word = strsep(&rest, " "));) {
        if (!*word)
            continue;
        const char *at = strstr(s, word);
        ok = at != NULL;
        if (ok)
            s = at + strlen(word);
    }
    free(copy);
    return ok;
}

void text_add_word(struct text *t, const char *word)
{
    bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-")];
    if (plain) {
        text_add(t, word);
        return;
    }
    text_add(t, "'");
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        text_add_bytes(t, word, (size_t)(quote - word));
        text_add(t, "'\\''");
    }
    text_addf(t, "%s'", word);
}
