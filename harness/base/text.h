/* base/text: growing strings, and the small string questions that errors need (the nearest valid word). */
#ifndef BENCH_BASE_TEXT_H
#define BENCH_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing string. `{0}` is a valid empty one; data is always NUL-terminated once anything was added. Out of memory aborts. */
struct text {
    char *data;
    size_t len, cap;
};
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *bytes, size_t n);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vaddf(struct text *t, const char *format, va_list args);
/* The string, never NULL ("" when nothing was added). Owned by t. */
const char *text_get(const struct text *t);
/* Hands the string to the caller, who frees it; t becomes empty. Never NULL. */
char *text_take(struct text *t);
void text_free(struct text *t);

/* Line ends and what stands around them become one blank. */
void text_one_line(char *s);
/* The same words, or neither is there. */
bool text_same(const char *a, const char *b);
/* Has `s` that end, with something before it? */
bool text_ends(const char *s, const char *end);

/* What a function makes for itself goes where its scope ends, on every way out: `SCOPED char *path = file_join(a, b);` is freed then,
 * `SCOPED_TEXT words = {0};` and `SCOPED_BY(plan_free) struct plan plan = {0};` too. What is handed on is declared without. */
#define SCOPED_BY(function) __attribute__((cleanup(function)))
#define SCOPED SCOPED_BY(scoped_free)
#define SCOPED_TEXT SCOPED_BY(text_free) struct text
void scoped_free(void *variable);

/* malloc family that never returns NULL: without memory the process says so and ends with this status, the machine's fault. */
#define STATUS_NO_MEMORY 5
void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
/* The place of one more element at the end of a list, which is counted; its value is the caller's to set. Both names are read twice. */
#define APPEND(items, count) ((items) = xrealloc((items), ((size_t)(count) + 1) * sizeof *(items)), &(items)[(count)++])
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* What a word has behind it for that many: "1 row", "2 rows". */
static inline const char *text_s(long long count)
{
    return count == 1 ? "" : "s";
}
/* A freshly allocated formatted string. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The word of `words` (n of them) that is nearest to `word` by edit distance (transpositions count one), or NULL when
 * none is near enough to be a plausible misspelling. */
const char *text_nearest(const char *word, const char *const *words, size_t n);
/* The same over a NULL-terminated list. */
const char *text_nearest_in(const char *word, const char *const *words);
/* Appends the words as "a, b, c". */
void text_add_list(struct text *t, const char *const *words, size_t n);
/* Shell-like match with * and ?; the whole string must match. */
bool text_glob(const char *pattern, const char *s);
/* Is every blank-separated word of `wanted` somewhere in s, in order? */
bool text_words_match(const char *wanted, const char *s);
/* The same, each word as a whole name of s: "conv naive" has smoke/conv/conv2d/naive[..], not smoke/conv_f16/conv2d/naive_rows. */
bool text_words_whole(const char *wanted, const char *s);
/* What of s a terminal would obey: the bytes of the control character there, C1 of UTF-8 too; 0 for text, a newline, a tab and \r\n. */
size_t text_control(const char *s);
/* From byte `from` on: each of them becomes a '?'. What names and logs of others may hold reaches no output but through this,
 * text_add_line, text_add_html or text_add_csv. */
void text_neutralise(struct text *t, size_t from);
/* Appends s as part of one line: newlines and tabs become '?', too. */
void text_add_line(struct text *t, const char *s);
/* Appends `s` as HTML text or an attribute's value (control characters become spaces) / as a CSV field, which no spreadsheet takes for a
 * formula: before = + - @ and the like, and before an apostrophe, goes one apostrophe. */
void text_add_html(struct text *t, const char *s);
void text_add_csv(struct text *t, const char *s);
/* A word for a shell: in quotes unless it is plain. */
void text_add_word(struct text *t, const char *word);
/* Reads a whole non-negative or negative decimal integer; false when anything else is in the string or it overflows. */
bool text_to_int(const char *s, long long *out);
bool text_to_real(const char *s, double *out);

#endif
