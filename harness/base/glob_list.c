#include "base/glob_list.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"
#define SHOWN_MAX_BYTES 700 /* of the names that a hint lists */

/* Length of the word at `s`, which ends at one of `ends`. A comma belongs to the word if it is between '[' and a ']' of the same word. */
static size_t word_length(const char *s, const char *ends)
{
    size_t blank = strcspn(s, BLANKS), n = 0;
    while (s[n] && !strchr(ends, s[n])) {
        const char *close = s[n] == '[' && n < blank ? memchr(s + n, ']', blank - n) : NULL;
        n = close ? (size_t)(close - s) : n + 1;
    }
    return n;
}

static void add_words(const char *text, const char *ends, struct glob_list *list)
{
    for (const char *s = text; s && *s;) {
        s += strspn(s, BLANKS);
        size_t n = word_length(s, ends), trimmed = n;
        while (trimmed && strchr(BLANKS, s[trimmed - 1]))
            trimmed--;
        if (trimmed)
            *APPEND(list->words, list->count) = (struct glob_word){.text = xstrndup(s, trimmed)};
        s += n + (s[n] != 0);
    }
}

static bool parse(const char *text, const char *ends, const char *option, struct glob_list *list, struct error *err)
{
    *list = (struct glob_list){0};
    add_words(text, ends, list);
    return !text || list->count || error_set(err, ERROR_USAGE, "%s '%s' names nothing", option, text);
}

bool glob_list_parse(const char *text, const char *option, struct glob_list *list, struct error *err)
{
    return parse(text, "," BLANKS, option, list, err);
}

bool glob_list_parse_values(const char *text, const char *option, struct glob_list *list, struct error *err)
{
    return parse(text, ",", option, list, err);
}

bool glob_list_parse_all(const char *const *texts, const char *option, struct glob_list *list, struct error *err)
{
    *list = (struct glob_list){0};
    for (int i = 0; texts && texts[i]; i++)
        add_words(texts[i], ",", list);
    return !texts || !texts[0] || list->count || error_set(err, ERROR_USAGE, "%s names nothing", option);
}

void glob_list_free(struct glob_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->words[i].text);
    free(list->words);
    *list = (struct glob_list){0};
}

bool glob_list_match(const struct glob_list *list, const char *name)
{
    bool any = !list->count;
    for (int i = 0; i < list->count; i++)
        if (text_glob(list->words[i].text, name))
            any = list->words[i].hit = true;
    return any;
}

bool glob_list_match_tail(const struct glob_list *list, const char *name)
{
    const char *slash = strrchr(name, '/');
    bool whole = glob_list_match(list, name), tail = slash && glob_list_match(list, slash + 1);
    return whole || tail;
}

const char *glob_list_unmatched(const struct glob_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (!list->words[i].hit)
            return list->words[i].text;
    return NULL;
}

bool glob_list_check(const struct glob_list *list, const char *option, const char *what, const char *const *names, size_t count,
                     struct error *err)
{
    const char *word = glob_list_unmatched(list);
    if (!word)
        return true;
    const char *near = text_nearest(word, names, count);
    SCOPED_TEXT all = {0};
    for (size_t i = 0; i < count && all.len < SHOWN_MAX_BYTES; i++)
        text_addf(&all, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_USAGE, "%s %s selects no %s", option, word, what);
    if (near)
        return error_hint(err, "did you mean %s? There are: %s", near, text_get(&all));
    return all.len ? error_hint(err, "there are: %s", text_get(&all)) : false;
}
