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
        error_set(err, ERROR_USAGE, "there is no counter set '%.60s'; the sets are basic and full", set);
        return near ? error_hint(err, "%s", near) : false;
    }
    for (int i = 0; i < c->known.count; i++)
        if (full || c->known.items[i]->basic)
            choice_add(c, c->known.items[i]);
    return true;
}

static bool add_groups(struct counter_choice *c, const struct counter_wish *wish, struct error *err)
{
    SCOPED_BY(glob_list_free) struct glob_list words = {0};
    if (!glob_list_parse_all(wish->groups, "--group", &words, err))
        return false;
    for (int i = 0; i < words.count; i++) {
        const struct counter_group *group = counter_groups_find(&c->known, words.words[i].text, err);
        if (!group)
            return false;
        choice_add(c, group);
    }
    return true;
}

static bool add_metrics(struct counter_choice *c, const struct counter_wish *wish, struct error *err)
{
    if (!glob_list_parse_all(wish->metrics, "--metrics", &c->metric_words, err))
        return false;
    for (int i = 0; i < c->metric_words.count; i++) {
        const char *name = c->metric_words.words[i].text;
        bool known = ANY_OF(k, c->metric_count, !strcmp(c->metrics[k], name));
        if (!known)
            *APPEND(c->metrics, c->metric_count) = name;
    }
    return true;
}

bool counter_choose(const struct counter_wish *wish, const struct node *scenario, struct counter_choice *choice, struct error *err)
{
    struct counter_choice *c = choice;
    bool asked = wish->set || (wish->groups && wish->groups[0]) || (wish->metrics && wish->metrics[0]), ok = false;
    *c = (struct counter_choice){0};
    if (!counter_groups_load(NULL, NULL, &c->known, err))
        return false;
    if (!counter_groups_check(&c->known, scenario, err))
        goto done;
    if (wish->off) {
        ok = !asked && !wish->required && !wish->source;
        if (!ok)
            error_set(err, ERROR_USAGE, "--no-counters excludes the other options for counters");
        goto done;
    }
    if (wish->set && !add_set(c, wish->set, err))
        goto done;
    if (!add_groups(c, wish, err) || !add_metrics(c, wish, err))
        goto done;
    for (int i = 0; !asked && scenario && i < scenario->count; i++)
        choice_add(c, counter_groups_find(&c->known, scenario->items[i]->text, err));
    c->unasked = !asked && !scenario;
    ok = !c->unasked || add_set(c, "basic", err);
done:
    if (!ok)
        counter_choice_free(c);
    return ok;
}

void counter_choice_free(struct counter_choice *choice)
{
    counter_groups_free(&choice->known);
    free(choice->groups);
    free(choice->metrics);
    glob_list_free(&choice->metric_words);
    *choice = (struct counter_choice){0};
}

bool counter_row_is_slow(double time_ns, double fastest_ns)
{
    return time_ns > 10e6 || (time_ns > 2e6 && time_ns > 5 * fastest_ns);
}
