/* base/text: growing strings and lists, and the small string questions that errors need (the nearest valid word). */
#pragma once

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
/* In a function whose last parameters are `format, ...`: adds what they say. */
#define TEXT_ADD_ARGUMENTS(t, format) \
    do { \
        va_list arguments; \
        va_start(arguments, format); \
        text_vaddf(t, format, arguments); \
        va_end(arguments); \
    } while (0)
/* The string, never NULL ("" when nothing was added). Owned by t. */
const char *text_get(const struct text *t);
/* Hands the string to the caller, who frees it; t becomes empty. Never NULL. */
char *text_take(struct text *t);
void text_free(struct text *t);

/* Line ends and the white space around them become one blank. */
void text_one_line(char *s);
/* Equal strings, or both NULL. */
bool text_same(const char *a, const char *b);
/* Has `s` that end, with something before it? */
bool text_ends(const char *s, const char *end);

/* Frees a variable at the end of its scope, on every way out: `SCOPED char *path = file_join(a, b);`, `SCOPED_TEXT words = {0};`,
 * `SCOPED_BY(plan_free) struct plan plan = {0};`. Do not use it for what the function returns or stores elsewhere. */
#define SCOPED_BY(function) __attribute__((cleanup(function)))
#define SCOPED SCOPED_BY(scoped_free)
#define SCOPED_TEXT SCOPED_BY(text_free) struct text
void scoped_free(void *variable);
/* Frees each of `count` pointers, or (-1) of those up to a NULL, and then the array. */
void pointers_free(void *pointers, int count);
/* Frees each of the pointers that are named. */
#define FREE_ALL(...) free_all((const void *const[]){__VA_ARGS__}, sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))
void free_all(const void *const *pointers, size_t count);

/* The malloc family, which never returns NULL: out of memory ends the process with this status. */
#define STATUS_NO_MEMORY 5
void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
/* The list `p` with room for an element behind `count` of them; long lists grow by halves, so that n additions copy some 3 n elements. */
void *xgrow(void *p, size_t count, size_t size);
/* The place of one more element at the end of a list, which is counted; its value is the caller's to set. Both names are read twice. */
#define APPEND(items, count) ((items) = xgrow((items), (size_t)(count), sizeof *(items)), &(items)[(count)++])
/* Does the condition hold for one, or for all, of the indexes 0 to count - 1? `i` is the index in it. Evaluated in order, up to the first
 * index that decides. */
#define ANY_OF(i, count, condition) \
    ({ \
        bool any_of = false; \
        for (__typeof__((count) + 0) i = 0; !any_of && i < (count); i++) \
            any_of = (condition); \
        any_of; \
    })
#define ALL_OF(i, count, condition) (!ANY_OF(i, count, !(condition)))
/* The first index for which it holds, or -1; the place of that item in a list, or NULL. */
#define FIRST_OF(i, count, condition) \
    ({ \
        int first_of = -1; \
        for (int i = 0; first_of < 0 && i < (int)(count); i++) \
            if (condition) \
                first_of = i; \
        first_of; \
    })
#define FIRST_IN(list, i, count, condition) \
    ({ \
        const int first_in = FIRST_OF(i, count, condition); \
        first_in < 0 ? NULL : &(list)[first_in]; \
    })
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* The plural "s": "1 row", "2 rows". */
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
/* Does s contain every blank-separated word of `wanted`, in order? */
bool text_words_match(const char *wanted, const char *s);
/* The same, each word as a whole name of s: "conv naive" has smoke/conv/conv2d/naive[..], not smoke/conv_f16/conv2d/naive_rows. */
bool text_words_whole(const char *wanted, const char *s);
/* Length of the control character at s that a terminal would obey, C1 in UTF-8 too; 0 for text, newline, tab and \r\n. */
size_t text_control(const char *s);
/* Replaces control characters from byte `from` on by '?'. Names and logs from outside reach an output only through this, text_add_line,
 * text_add_html or text_add_csv. */
void text_neutralise(struct text *t, size_t from);
/* Appends s as part of one line: newlines and tabs become '?', too. */
void text_add_line(struct text *t, const char *s);
/* Appends `s` as HTML text or attribute value (control characters become spaces), or as a CSV field that no spreadsheet takes for a
 * formula: an apostrophe precedes = + - @ and the like, and a leading apostrophe. */
void text_add_html(struct text *t, const char *s);
void text_add_csv(struct text *t, const char *s);
/* A word for a shell: in quotes unless it is plain. */
void text_add_word(struct text *t, const char *word);
/* Reads a whole non-negative or negative decimal integer; false when anything else is in the string or it overflows. */
bool text_to_int(const char *s, long long *out);
bool text_to_real(const char *s, double *out);
/* The same, and YAML's words for what is not finite: .inf, -.inf, .nan. */
bool text_to_number(const char *s, double *out);
