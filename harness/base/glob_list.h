/* base/glob_list: a list of names that a person wrote, such as --only 'naive, tiled_*'. It is parsed once. Commas and blanks separate the
 * words, except for a comma inside brackets ("*[TH=8,TW=16]"). Each word is a glob (* and ?) and must match something: the owner asks
 * glob_list_check after the last glob_list_match. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct glob_word {
    char *text;
    bool hit; /* it matched a name */
};
/* {0} is the list that was not given: it matches every name. */
struct glob_list {
    struct glob_word *words;
    int count;
};
/* `text` NULL: the list was not given. An error if it has no word; `option` ("--only") is how the error names the list. */
bool glob_list_parse(const char *text, const char *option, struct glob_list *list, struct error *err);
/* The same for values, which may contain blanks: commas alone separate them, and blanks around them are not part of them. */
bool glob_list_parse_values(const char *text, const char *option, struct glob_list *list, struct error *err);
/* The words of an option that may be given several times, each with a list of values (NULL-terminated; may be NULL). */
bool glob_list_parse_all(const char *const *texts, const char *option, struct glob_list *list, struct error *err);
void glob_list_free(struct glob_list *list);
/* True if a word matches the name, or if the list was not given. Marks every word that matches. */
bool glob_list_match(const struct glob_list *list, const char *name);
/* The same for a name with a folder, of which the last part is enough: "naive" matches "conv2d/naive". */
bool glob_list_match_tail(const struct glob_list *list, const char *name);
/* The first word that matched nothing; NULL: there is none. */
const char *glob_list_unmatched(const struct glob_list *list);
/* An error (ERROR_USAGE) that names the first word that matched nothing: "OPTION WORD selects no WHAT"; its hint has the nearest of the
 * names, or lists them. */
bool glob_list_check(const struct glob_list *list, const char *option, const char *what, const char *const *names, size_t count,
                     struct error *err);
