/* Which variants of a scenario a run takes: the words of --only, and the wishes of cases that the run added. */
#include "base/text.h"
#include "plan/rows/private.h"
#include <string.h>

static struct glob_list *only_of(struct plan *plan)
{
    return &((struct kept *)plan->private_data)->only;
}

bool plan_only_parse(struct plan *plan, const struct plan_options *o, struct error *err)
{
    return glob_list_parse(o->filter.only, "--only", only_of(plan), err);
}

bool plan_only(struct plan *plan, const char *name)
{
    return glob_list_match_tail(only_of(plan), name);
}

bool plan_only_check(struct plan *plan, const struct plan_options *o, struct error *err)
{
    int count = plan->scenario->variant_count;
    SCOPED const char **names = xcalloc((size_t)count + 1, sizeof *names);
    for (int i = 0; i < plan->row_count; i++) /* the baseline's rows, which nobody asks about */
        plan_only(plan, plan_row_variant(&plan->rows[i]));
    const char *word = glob_list_unmatched(only_of(plan));
    for (int i = 0; i < count; i++) {
        const char *name = plan->scenario->variants[i].name;
        names[i] = word && variant_own_name(word) != word ? name : variant_own_name(name);
    }
    struct error why = {0};
    if (glob_list_check(only_of(plan), "--only", "variant of this scenario", names, (size_t)count, &why))
        return true;
    if (o->may_lack)
        *APPEND(plan->lacks.items, plan->lacks.count) = (struct plan_lack){xstrdup(word), why};
    else if (err)
        *err = why;
    return o->may_lack;
}

static bool has_config(const char *params, const struct variant_config *config)
{
    SCOPED_BY(glob_list_free) struct glob_list pairs = {0};
    bool has = glob_list_parse(params, "params", &pairs, NULL);
    for (int i = 0; has && i < config->count; i++) {
        char value[VALUE_TEXT_MAX];
        value_print(&config->values[i], value, sizeof value);
        SCOPED char *pair = text_format("%s=%s", config->names[i], value);
        has = glob_list_match(&pairs, pair);
    }
    return has;
}

bool plan_wants(const struct scenario_case *c, const struct variant *v, const struct variant_config *config)
{
    bool wanted = !c->only;
    for (int i = 0; !wanted && i < c->only_count; i++) {
        const struct scenario_only *only = &c->only[i];
        wanted = (!strcmp(only->variant, v->name) || !strcmp(only->variant, variant_own_name(v->name))) &&
                 (!config || !only->params || has_config(only->params, config));
    }
    return wanted;
}
