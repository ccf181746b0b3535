#include "counter/choice.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

static void choice_add(struct counter_choice *c, const struct counter_group *group)
{
    for (int i = 0; i < c->count; i++)
        if (c->groups[i] == group)
            return;
    *APPEND(c->groups, c->count) = group;
}

static bool add_set(struct counter_choice *c, const char *set, struct error *err)
{
    static const char *const sets[] = {"basic", "full", NULL};
    bool full = !strcmp(set, "full");
    if (!full && strcmp(set, "basic")) {
        const char *near = text_nearest_in(set, sets);
        error_set(err, ERROR_USAGE, "no counter set '%.60s'; there are basic and full", set);
        return near ? error_hint(err, "%s", near) : false;
    }
    for (int i = 0; i < c->known.count; i++)
        if (full || c->known.items[i]->basic)
            choice_add(c, c->known.items[i]);
    return true;
}

/* The words of "A,B" lists, one after the other. `each` returns false to stop. */
static bool each_word(const char *const *lists, const char *option, bool (*each)(struct counter_choice *c, char *word, struct error *err),
                      struct counter_choice *c, char *copy, struct error *err)
{
    int words = 0;
    for (int i = 0; lists && lists[i]; i++) {
        char *rest = strcpy(copy, lists[i]);
        copy += strlen(lists[i]) + 1;
        for (char *word; (word = strsep(&rest, ","));)
            if (*word) {
                words++;
                if (!each(c, word, err))
                    return false;
            }
    }
    return !lists || !lists[0] || words || error_set(err, ERROR_USAGE, "%s names nothing", option);
}

static size_t length_of(const char *const *lists)
{
    size_t bytes = 1;
    for (int i = 0; lists && lists[i]; i++)
        bytes += strlen(lists[i]) + 1;
    return bytes;
}

static bool one_group(struct counter_choice *c, char *word, struct error *err)
{
    const struct counter_group *group = counter_groups_find(&c->known, word, err);
    if (group)
        choice_add(c, group);
    return group != NULL;
}

static bool one_metric(struct counter_choice *c, char *word, struct error *err)
{
    (void)err;
    for (int i = 0; i < c->metric_count; i++)
        if (!strcmp(c->metrics[i], word))
            return true;
    *APPEND(c->metrics, c->metric_count) = word;
    return true;
}

bool counter_choose(const struct counter_wish *wish, const struct node *scenario, struct counter_choice *choice, struct error *err)
{
    struct counter_choice *c = choice;
    bool asked = wish->set || (wish->groups && wish->groups[0]) || (wish->metrics && wish->metrics[0]), ok = false;
    *c = (struct counter_choice){0};
    if (!counter_groups_load(NULL, NULL, &c->known, err))
        return false;
    char *words = xmalloc(length_of(wish->groups));
    c->strings = xmalloc(length_of(wish->metrics));
    if (!counter_groups_check(&c->known, scenario, err))
        goto done;
    if (wish->off) {
        ok = !asked && !wish->required && !wish->source;
        if (!ok)
            error_set(err, ERROR_USAGE, "--no-counters goes with no other option about counters");
        goto done;
    }
    if (wish->set && !add_set(c, wish->set, err))
        goto done;
    if (!each_word(wish->groups, "--group", one_group, c, words, err) ||
        !each_word(wish->metrics, "--metrics", one_metric, c, c->strings, err))
        goto done;
    for (int i = 0; !asked && scenario && i < scenario->count; i++)
        choice_add(c, counter_groups_find(&c->known, scenario->items[i]->text, err));
    c->unasked = !asked && !scenario;
    ok = !c->unasked || add_set(c, "basic", err);
done:
    free(words);
    if (!ok)
        counter_choice_free(c);
    return ok;
}

void counter_choice_free(struct counter_choice *choice)
{
    counter_groups_free(&choice->known);
    free(choice->groups);
    free(choice->metrics);
    free(choice->strings);
    *choice = (struct counter_choice){0};
}
