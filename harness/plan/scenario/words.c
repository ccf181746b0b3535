/* Words and names in a scenario. */
#include "base/text.h"
#include "plan/scenario/private.h"
#include <string.h>

bool scenario_words(const struct node *n, const char *what, const char *const *words, bool *flags, struct error *err)
{
    int count = n->kind == NODE_LIST ? n->count : 1;
    for (int i = 0; words[i]; i++)
        flags[i] = false;
    for (int i = 0; i < count; i++) {
        const struct node *one = n->kind == NODE_LIST ? n->items[i] : n;
        int word = node_word(one, what, words, err);
        if (word < 0)
            return false;
        if (flags[word])
            return node_error(one, err, "%s: %s is listed twice", what, words[word]);
        flags[word] = true;
    }
    return count > 0 || node_error(n, err, "%s: the list is empty", what);
}

bool scenario_name_ok(const struct node *key, const char *what, struct error *err)
{
    const char *text = key->text;
    if (*text && strlen(text) <= 80 && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")])
        return true;
    return node_error(key, err, "%s may have letters, digits, _ - . and at most 80 characters", what);
}
