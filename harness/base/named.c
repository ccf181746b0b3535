#include "base/named.h"
#include "base/text.h"
#include <string.h>

#define NEAR_SHOWN 5

static bool is_called(const char *name, const char *words)
{
    const char *last = strrchr(words, ' '), *slash = name ? strrchr(name, '/') : NULL;
    last = last ? last + 1 : words;
    return name && (!strcmp(name, last) || (slash && !strcmp(slash + 1, last)));
}

/* The name, without its folder, that is nearest to the last word; NULL. */
static const char *nearest_name(const struct named *items, int count, const char *words)
{
    SCOPED const char **names = xcalloc((size_t)count + 1, sizeof *names);
    const char *last = strrchr(words, ' ');
    size_t known = 0;
    for (int i = 0; i < count; i++) {
        const char *slash = items[i].name ? strrchr(items[i].name, '/') : NULL;
        if (items[i].name)
            names[known++] = slash ? slash + 1 : items[i].name;
    }
    return text_nearest(last ? last + 1 : words, names, known);
}

/* The only match, if there is exactly one. */
struct sole {
    int at, count;
};

static void note(struct sole *s, bool is, int at)
{
    if (is)
        *s = (struct sole){at, s->count + 1};
}

int named_find(const struct named *items, int count, const char *words, const char *listed, struct error *err)
{
    struct sole own = {0}, whole = {0}, both = {0};
    int found = -1, matches = 0;
    SCOPED_TEXT near = {0};
    for (int i = 0; i < count; i++) {
        const char *id = items[i].id;
        if (id && !strcmp(id, words))
            return i;
        if (!id || !text_words_match(words, id))
            continue;
        found = i;
        bool called = is_called(items[i].name, words), complete = text_words_whole(words, id);
        note(&own, called, i);
        note(&whole, complete, i);
        note(&both, called && complete, i);
        if (matches++ < NEAR_SHOWN)
            text_addf(&near, "%s%s", matches > 1 ? "  " : "", id);
    }
    /* "body mma_sync" means mma_sync, although mma_sync_d2s contains the words too; "up auto" means the rule on layer up, although x4_up
     * and KB=auto contain them */
    const struct sole *meant = own.count == 1 ? &own : whole.count == 1 ? &whole : &both;
    if (matches > 1 && meant->count == 1) {
        matches = 1;
        found = meant->at;
    }
    if (matches != 1) {
        text_add(&near, matches > NEAR_SHOWN ? "  ..." : "");
        error_set(err, ERROR_USAGE, matches ? "'%s' matches %d rows" : "no row '%s'", words, matches);
        const char *like = matches ? NULL : nearest_name(items, count, words);
        if (matches)
            error_hint(err, "use more words of the id: %s", text_get(&near));
        else
            error_hint(err, like ? "did you mean '%s'? %s lists the rows" : "%s%s lists the rows", like ? like : "", listed);
        found = -1;
    }
    return found;
}
