#include "counter/judge.h"
#include "base/file.h"
#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judging {
    const struct counter_group *group;
    const struct counter_known *known;
    double *values; /* of a group without metrics: computed here; else NULL, and asked for */
    int value_count;
    bool absent;
};

static double number(const struct judging *j, const char *name)
{
    int i = counter_group_value(j->group, name);
    return i >= 0 && j->values ? i < j->value_count ? j->values[i] : NAN : j->known->fact(j->known->context, name);
}

static bool name_value(void *context, const char *name, struct value *out, struct error *err)
{
    (void)err;
    *out = value_real(number(context, name));
    return true;
}

static void check_absent(void *context, const char *name)
{
    struct judging *j = context;
    j->absent = j->absent || !isfinite(number(j, name));
}

static bool compute(struct judging *j, const struct expr *e, double *out)
{
    struct expr_env env = {.context = j, .name = name_value};
    struct value value;
    j->absent = false;
    expr_names(e, check_absent, j);
    if (j->absent || !expr_eval(e, &env, &value, NULL) || value.kind == VALUE_TEXT)
        return false;
    *out = value.kind == VALUE_INT ? (double)value.i : value.d;
    return isfinite(*out);
}

static const char *unit_of(const struct counter_group *g, const char *name)
{
    int i = counter_group_value(g, name);
    if (i >= 0)
        return g->values[i].unit;
    for (const struct counter_fact *f = counter_facts; f->name; f++)
        if (!strcmp(f->name, name))
            return f->unit;
    return "";
}

/* Puts numbers for the {names}; false when one is absent. */
static bool fill(const struct judging *j, const char *sentence, struct text *out)
{
    const char *c = sentence;
    for (const char *open; (open = strchr(c, '{')); c = strchr(open, '}') + 1) {
        char *name = xstrndup(open + 1, (size_t)(strchr(open, '}') - open) - 1);
        const char *unit = unit_of(j->group, name);
        double d = number(j, name);
        bool glued = !strcmp(unit, "x"), long_time = !strcmp(unit, "ns") && d >= 1000;
        if (long_time) {
            d /= 1000;
            unit = "us";
        }
        text_add_bytes(out, c, (size_t)(open - c));
        text_addf(out, fabs(d) >= 1000 ? "%.0f%s%s" : "%.3g%s%s", d, *unit && !glued ? " " : "", unit);
        free(name);
        if (!isfinite(d))
            return false;
    }
    text_add(out, c);
    return true;
}

void counter_group_judge(const struct counter_group *group, const struct counter_known *known,
                         void (*visit)(void *context, const struct counter_rule *rule, const char *says, const char *advice), void *context)
{
    struct judging j = {.group = group, .known = known};
    if (!group->metric_count) {
        j.values = xcalloc((size_t)group->value_count + 1, sizeof *j.values);
        for (int i = 0; i < group->value_count; i++) {
            j.value_count = i;
            if (!compute(&j, group->values[i].expr, &j.values[i]))
                j.values[i] = NAN;
        }
        j.value_count = group->value_count;
    }
    for (int i = 0; i < group->rule_count; i++) {
        const struct counter_rule *r = &group->rules[i];
        struct text says = {0}, advice = {0};
        double holds;
        if (compute(&j, r->when, &holds) && holds != 0 && fill(&j, r->says, &says) && fill(&j, r->remedy, &advice))
            visit(context, r, text_get(&says), text_get(&advice));
        text_free(&says);
        text_free(&advice);
    }
    free(j.values);
}

bool counter_rules_load(struct counter_groups *groups, struct error *err)
{
    char *dir = file_share("harness/counter/rules");
    bool ok = counter_groups_load(dir, groups, err);
    free(dir);
    return ok;
}
